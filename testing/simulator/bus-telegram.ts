/**
 * Every call that arrives at the simulated Telegram, with what was true in the store when it did.
 *
 * Owns: standing before Telegram, and noting. Does not own: judging it (`machines/invariants/threads.ts`), Telegram itself.
 * Invariant: watching changes nothing.
 */
import { keyOfThread } from "../../adapters/store/memory/database.ts";
import type { MemoryDatabase } from "../../adapters/store/memory/index.ts";
import { chatId, threadId, type InstanceId, type ThreadTarget } from "../../machines/ids.ts";
import type { ApiCallView, CreationView, DeletionView } from "../../machines/invariants.ts";
import { simulatedChatId, type Payload, type TelegramWorld } from "./telegram.ts";

export interface TelegramFacts {
  readonly database: MemoryDatabase;
  readonly isAlive: (id: InstanceId) => boolean;
  /** The instance that a caller of this name is at this moment. */
  readonly instanceAt: (place: string) => InstanceId;
  /** Whether the holder was gone when the deletion of this thread was begun; null = nobody asked. */
  readonly wasHolderGone: (target: ThreadTarget) => boolean | null;
}

export interface TelegramWatch {
  readonly watch: (inner: TelegramWorld) => TelegramWorld;
  /** Calls since the last look; polls are no calls. */
  readonly take: () => readonly ApiCallView[];
}

function creationBy({ provisions }: MemoryDatabase, payload: Payload): CreationView {
  const undecided = [...provisions.values()].filter((each) => each.status !== "unwanted");
  const begun = undecided.filter((each) => each.threadName === payload["name"]);
  const seats = new Set(begun.map((each) => each.seat));
  return { begun: begun.length, doubled: undecided.filter((each) => seats.has(each.seat)).length - begun.length };
}

function deletionOf({ database, isAlive, wasHolderGone }: TelegramFacts, target: ThreadTarget): DeletionView {
  const { cleanups, registrations, createdThreads, provisions } = database;
  const instruction = cleanups.get(keyOfThread(target));
  const isTarget = (other: ThreadTarget | null) => other !== null && keyOfThread(other) === keyOfThread(target);
  return {
    instruction:
      instruction === undefined
        ? null
        : { reason: instruction.reason, phase: instruction.phase, seat: instruction.seat },
    isHeldByLiving: [...registrations.values()].some(
      ({ ended, thread, instanceId }) => ended === null && isTarget(thread?.target ?? null) && isAlive(instanceId),
    ),
    wasHolderGone: wasHolderGone(target),
    isOfPendingCreation: [...createdThreads].some(
      ([id, made]) => isTarget(made) && provisions.get(id)?.status === "inFlight",
    ),
  };
}

export function createTelegramWatch(facts: TelegramFacts): TelegramWatch {
  let calls: ApiCallView[] = [];
  const note = (inner: TelegramWorld, method: string, payload: Payload, by: InstanceId): void => {
    const thread = payload["message_thread_id"];
    const isThere = typeof thread === "number" && !inner.isGone(thread);
    const target = typeof thread === "number" ? { chatId: chatId(simulatedChatId), threadId: threadId(thread) } : null;
    calls.push({
      by,
      method,
      fields: Object.keys(payload),
      threadId: target?.threadId ?? null,
      creation: method === "createForumTopic" ? creationBy(facts.database, payload) : null,
      deletion: method === "deleteForumTopic" && isThere && target !== null ? deletionOf(facts, target) : null,
    });
  };
  return {
    watch: (inner) => ({
      ...inner,
      perform(call, answer) {
        if (call.method !== "getUpdates") note(inner, call.method, call.payload, facts.instanceAt(call.caller.name));
        inner.perform(call, answer);
      },
    }),
    take() {
      const taken = calls;
      calls = [];
      return taken;
    },
  };
}
