/**
 * Creations in doubt against what was seen: which thread a creation has made after all, and which threads the bot has made
 * for nobody.
 *
 * Owns: matching service messages with begun creations. Does not own: carrying it out, when a seat may create anew
 * (`threads.rules.ts`). Nothing is deleted for it, but for one who has left for good.
 *
 * A service message tells chat, thread and name, and that the bot made it. It belongs to the oldest creation of that name that
 * was begun before it; one whose call may still be answered is left alone, and so is the message. Once a person has given the
 * thread another name, nothing tells whose it is: it is only offered.
 */
import type { ChatId, SeatKey, ThreadTarget } from "./ids.ts";
import type { Observation, ReconciliationView } from "./reconciliation.types.ts";
import { doubtMs } from "./threads.rules.ts";
import type { PendingProvision } from "./threads.rules.ts";

export type CreationAction =
  /** This creation has made this thread: it is its seat's. */
  | { readonly kind: "adoptCreated"; readonly provision: PendingProvision; readonly target: ThreadTarget }
  /** Nobody waits for the thread any more, and it never showed up. */
  | { readonly kind: "dropCreation"; readonly provisionId: string }
  /** The bot made it, and nobody knows for whom: the operator decides. */
  | { readonly kind: "offerThread"; readonly target: ThreadTarget; readonly threadName: string };

export interface CreationInput {
  readonly nowMs: number;
  readonly chatId: ChatId;
  readonly view: ReconciliationView;
  readonly heldSeats: ReadonlySet<SeatKey>;
}

/** A thread just made may be told before its creation is answered, or by another process of the bot. */
export const freshThreadMs = 30_000;
/** Until so long after it was seen it is offered: whoever leads has looked many times by then. */
const offeredUntilMs = 120_000;

const keyOf = ({ chatId, threadId }: ThreadTarget): string => `${String(chatId)}:${String(threadId)}`;

export function judgeCreations({ nowMs, chatId, view, heldSeats }: CreationInput): readonly CreationAction[] {
  const provisions = view.provisions.filter((each) => each.chatId === chatId);
  /** Its call may still be answered, and then it is bound by whoever asked. One of an earlier leader's time is not. */
  const isUnderWay = ({ status, seat, startedAtMs }: PendingProvision): boolean =>
    status !== "ambiguous" && heldSeats.has(seat) && nowMs - startedAtMs < freshThreadMs;
  const known = new Set([
    ...view.bindings.map(({ thread }) => keyOf(thread.target)),
    ...view.cleanups.map(({ target }) => keyOf(target)),
    ...view.leftovers.map(({ target }) => keyOf(target)),
    ...provisions.flatMap(({ threadId }) => (threadId === null ? [] : [keyOf({ chatId, threadId })])),
  ]);
  const actions: CreationAction[] = [];
  const open = new Map<string, PendingProvision[]>();
  for (const provision of provisions) {
    const { threadId, threadName } = provision;
    if (threadId === null) open.set(threadName, [...(open.get(threadName) ?? []), provision]);
    else if (!isUnderWay(provision)) actions.push({ kind: "adoptCreated", provision, target: { chatId, threadId } });
  }
  const strays = view.observations
    .filter((each) => each.createdByBot && each.status !== "deleted" && each.target.chatId === chatId)
    .filter(({ target }) => !known.has(keyOf(target)))
    .sort((a, b) => a.target.threadId - b.target.threadId);
  for (const stray of strays) {
    // A person's name for it tells nothing of who asked for it.
    const makers = stray.isNamedByPerson ? [] : (open.get(stray.name ?? "") ?? []);
    const maker = makers.find(({ startedAtMs }) => startedAtMs <= stray.atMs);
    if (maker === undefined) actions.push(...offer(stray, nowMs));
    else if (!makers.some(isUnderWay)) {
      makers.splice(makers.indexOf(maker), 1);
      actions.push({ kind: "adoptCreated", provision: maker, target: stray.target });
    }
  }
  const left = [...open.values()].flat();
  for (const provision of left)
    if (
      provision.status === "unwanted" &&
      !isUnderWay(provision) &&
      nowMs - provision.startedAtMs >= doubtMs(provision)
    )
      actions.push({ kind: "dropCreation", provisionId: provision.id });
  return actions;
}

function offer({ target, name, atMs }: Observation, nowMs: number): readonly CreationAction[] {
  const ageMs = nowMs - atMs;
  if (ageMs < freshThreadMs || ageMs > offeredUntilMs) return [];
  return [{ kind: "offerThread", target, threadName: name ?? "" }];
}
