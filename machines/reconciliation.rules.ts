/**
 * Threads against what is known of them: what is to be deleted, taken back, begun, marked or answered now, and when to look
 * again.
 *
 * Owns: the plan. Does not own: carrying it out (`reconciliation.machine.ts`), the proof inside the store that goes before
 * every deletion. Pure; linear in the number of records.
 *
 * Never a proof: silence, age, a missing record, a service message that a thread was created, a process that cannot be
 * looked at.
 */
import { seatKey } from "./ids.ts";
import type { ChatId, Generation, InstanceId, Liveness, SeatKey, ThreadTarget } from "./ids.ts";
import type {
  Cleanup,
  CleanupReason,
  OperatorRequest,
  ReconciliationView,
  SeatRecord,
} from "./reconciliation.types.ts";
import type { HeldBinding, ThreadStanding } from "./threads.rules.ts";

export interface ReconciliationInput {
  readonly nowMs: number;
  /** Threads of other chats are left alone. */
  readonly chatId: ChatId;
  readonly view: ReconciliationView;
  /** Seats on which somebody sits, or is about to, at this leader: theirs is not touched. */
  readonly heldSeats: ReadonlySet<SeatKey>;
  /** What a look at the processes of due clean-ups said. Who is missing was not looked at. */
  readonly looks: ReadonlyMap<InstanceId, Liveness>;
  /** Deadlines are not carried out before: whoever comes back after everything was down gets a moment for it. */
  readonly graceFromMs: number;
  /** For a bound thread that nobody ever registered with. */
  readonly threadGraceMs: number | null;
  /** After so long without proof either way a holder counts as gone; null = never. */
  readonly unprovableAfterMs: number | null;
}

export type ReconciliationAction =
  /** Threads RC-2: an instruction that is due. */
  | {
      readonly kind: "deleteThread";
      readonly seat: SeatKey;
      readonly target: ThreadTarget;
      readonly reason: CleanupReason;
      readonly seenDead: InstanceId | null;
    }
  /** Threads RC-1: somebody has the thread again. */
  | { readonly kind: "cancelCleanup"; readonly target: ThreadTarget }
  /** Nobody holds the thread's seat, and no deadline runs. */
  | { readonly kind: "startGrace"; readonly seat: SeatKey; readonly target: ThreadTarget; readonly dueAtMs: number }
  /** Threads RC-4, RC-5. */
  | {
      readonly kind: "markThread";
      readonly target: ThreadTarget;
      readonly standing: ThreadStanding;
      readonly reason: string;
    }
  | { readonly kind: "forgetSeat"; readonly seat: SeatKey; readonly generation: Generation; readonly reason: string }
  | { readonly kind: "carryOut"; readonly request: OperatorRequest; readonly order: OperatorOrder }
  | { readonly kind: "refuse"; readonly request: OperatorRequest; readonly text: string };

/** What an operator's wish comes to. */
export type OperatorOrder =
  | {
      readonly kind: "bind";
      readonly seat: SeatKey;
      readonly target: ThreadTarget;
      readonly provisionId: string | null;
    }
  | { readonly kind: "delete"; readonly seat: SeatKey; readonly target: ThreadTarget }
  | { readonly kind: "unbind"; readonly target: ThreadTarget }
  | { readonly kind: "abandon"; readonly provisionId: string }
  | { readonly kind: "endSeat"; readonly seat: SeatKey; readonly generation: Generation };

export type ReconciliationPhase = "stable" | "provisioning" | "syncRequired" | "cleanupRequired";

export interface ReconciliationPlan {
  readonly phase: ReconciliationPhase;
  readonly actions: readonly ReconciliationAction[];
  readonly counts: { readonly provisions: number; readonly sync: number; readonly cleanup: number };
  /** Until the next deadline; null = none is running. */
  readonly nextInMs: number | null;
}

/** Actions of one plan; what is beyond waits for the next, which follows at once. */
export const actionsMax = 200;

const keyOf = ({ chatId, threadId }: ThreadTarget): string => `${String(chatId)}:${String(threadId)}`;

/** The phase by what a plan holds (threads §5.3): the first that applies. */
export function phaseOf(counts: ReconciliationPlan["counts"]): ReconciliationPhase {
  if (counts.cleanup > 0) return "cleanupRequired";
  if (counts.provisions > 0) return "provisioning";
  return counts.sync > 0 ? "syncRequired" : "stable";
}

/** Everything that is looked up by its key, made once. */
interface Tables {
  readonly bound: ReadonlyMap<string, HeldBinding>;
  readonly seats: ReadonlyMap<SeatKey, SeatRecord>;
  /** By thread: the seat whose current registration has it. */
  readonly holders: ReadonlyMap<string, SeatKey>;
  readonly claims: ReadonlyMap<SeatKey, InstanceId>;
  readonly cleanups: ReadonlyMap<string, Cleanup>;
}

function tablesOf({ bindings, seats, claims, cleanups }: ReconciliationView): Tables {
  const holders = new Map<string, SeatKey>();
  for (const { seat, target, ended } of seats) if (ended === null && target !== null) holders.set(keyOf(target), seat);
  return {
    bound: new Map(bindings.map((each) => [keyOf(each.thread.target), each])),
    seats: new Map(seats.map((each) => [each.seat, each])),
    holders,
    claims: new Map(claims.map((each) => [each.seat, each.instanceId])),
    cleanups: new Map(cleanups.map((each) => [keyOf(each.target), each])),
  };
}

/** A call that began is over after so long: its time ends before the lease does. */
const callMaxMs = 8_000;

/** When an instruction may be carried out. One under way may be somebody else's to end. */
function dueOf({ reason, phase, dueAtMs }: Cleanup, { graceFromMs }: ReconciliationInput): number {
  if (phase === "deleting") return dueAtMs + callMaxMs;
  return reason === "ended" ? Math.max(dueAtMs, graceFromMs) : dueAtMs;
}

/** Holders of seats whose deadline has come: their processes are to be looked at before the plan is made. */
export function holdersToLookAt(view: ReconciliationView, nowMs: number): ReadonlySet<SeatKey> {
  const due = view.cleanups.filter((each) => each.reason === "ended" && each.dueAtMs <= nowMs).map((each) => each.seat);
  const cleanedUp = new Set(view.cleanups.map((each) => keyOf(each.target)));
  const idle = view.bindings.filter((each) => !cleanedUp.has(keyOf(each.thread.target))).map((each) => each.seat);
  return new Set([...due, ...idle]);
}

function judgeCleanup(cleanup: Cleanup, input: ReconciliationInput, tables: Tables): ReconciliationAction | null {
  const { seat, target, reason } = cleanup;
  const key = keyOf(target);
  const bound = tables.bound.get(key);
  const holder = tables.holders.get(key);
  const isOthers = bound !== undefined && bound.seat !== seat;
  const isTakenAgain = holder !== undefined && (holder !== seat || reason !== "left");
  if ((isOthers || isTakenAgain) && cleanup.phase === "waiting") return { kind: "cancelCleanup", target };
  // Whoever sits there, or is about to, decides about it.
  if (input.heldSeats.has(seat) && bound !== undefined && cleanup.phase === "waiting") return null;
  if (dueOf(cleanup, input) > input.nowMs) return null;
  const claim = tables.claims.get(seat) ?? null;
  const isUnproven = claim !== null && input.looks.get(claim) !== "dead";
  if (reason === "ended" && bound !== undefined && isUnproven) return null;
  return { kind: "deleteThread", seat, target, reason, seenDead: claim };
}

/** A bound thread whose seat nobody holds gets a deadline: it may have been bound for one who never came. */
function judgeBinding(binding: HeldBinding, input: ReconciliationInput, tables: Tables): ReconciliationAction | null {
  const { seat, thread } = binding;
  const record = tables.seats.get(seat);
  if (tables.cleanups.has(keyOf(thread.target)) || input.heldSeats.has(seat)) return null;
  if (record !== undefined && record.ended === null) return null;
  const claim = tables.claims.get(seat);
  if (claim !== undefined && input.looks.get(claim) !== "dead") return null;
  const graceMs = record === undefined ? input.threadGraceMs : record.threadGraceMs;
  if (graceMs === null) return null;
  const sinceMs = record?.endedAtMs ?? input.nowMs;
  return { kind: "startGrace", seat, target: thread.target, dueAtMs: Math.max(sinceMs + graceMs, input.graceFromMs) };
}

/** Closed and reopened, as service messages tell (threads OP-23: the binding stays). */
function judgeStandings({ view, chatId }: ReconciliationInput, tables: Tables): ReconciliationAction[] {
  return view.observations.flatMap(({ target, status }): ReconciliationAction[] => {
    const bound = tables.bound.get(keyOf(target));
    if (bound === undefined || target.chatId !== chatId || status === "deleted") return [];
    if (status === "closed" && bound.standing === "open")
      return [{ kind: "markThread", target, standing: "closed", reason: "the user closed it" }];
    if (status === "open" && bound.standing === "closed")
      return [{ kind: "markThread", target, standing: "open", reason: "" }];
    return [];
  });
}

function judgeDoubt(
  record: SeatRecord,
  { nowMs, unprovableAfterMs }: ReconciliationInput,
): ReconciliationAction | null {
  if (unprovableAfterMs === null || record.unprovable === null || record.ended !== null) return null;
  if (nowMs - record.unprovable.sinceMs < unprovableAfterMs) return null;
  const { seat, generation } = record;
  return { kind: "forgetSeat", seat, generation, reason: record.unprovable.reason };
}

function judgeRequest(request: OperatorRequest, input: ReconciliationInput, tables: Tables): ReconciliationAction {
  const { wish } = request;
  const refuse = (text: string): ReconciliationAction => ({ kind: "refuse", request, text });
  const order = (what: OperatorOrder): ReconciliationAction => ({ kind: "carryOut", request, order: what });
  const threadOfSeat = (seat: SeatKey): HeldBinding | undefined =>
    input.view.bindings.find((each) => each.seat === seat && each.thread.target.chatId === input.chatId);
  const isLive = (seat: SeatKey): boolean => {
    const claim = tables.claims.get(seat);
    return input.heldSeats.has(seat) || (claim !== undefined && input.looks.get(claim) === "alive");
  };
  switch (wish.kind) {
    case "adopt": {
      const bound = tables.bound.get(keyOf(wish.target));
      if (bound !== undefined && bound.seat !== wish.seat) return refuse(`that thread belongs to ${bound.seat}`);
      const own = threadOfSeat(wish.seat);
      if (own !== undefined && own !== bound)
        return refuse(
          `${wish.seat} has thread ${String(own.thread.target.threadId)}: give that up first (release or forget)`,
        );
      const begun = input.view.provisions.find((each) => each.seat === wish.seat);
      return order({ kind: "bind", seat: wish.seat, target: wish.target, provisionId: begun?.id ?? null });
    }
    case "release": {
      const seat = tables.bound.get(keyOf(wish.target))?.seat ?? null;
      if (seat !== null && isLive(seat)) return refuse(`${seat} is held by a running instance: stop it first`);
      const leftover = input.view.leftovers.find((each) => keyOf(each.target) === keyOf(wish.target));
      const known = seat ?? leftover?.seat ?? tables.cleanups.get(keyOf(wish.target))?.seat;
      return known === undefined && leftover === undefined
        ? refuse("nothing is known of that thread: adopt it, or delete it in Telegram")
        : order({ kind: "delete", seat: known ?? seatKey(""), target: wish.target });
    }
    case "forgetThread": {
      const seat = tables.bound.get(keyOf(wish.target))?.seat;
      return seat !== undefined && isLive(seat)
        ? refuse(`${seat} is held by a running instance: stop it first`)
        : order({ kind: "unbind", target: wish.target });
    }
    case "forgetCreation": {
      const begun = input.view.provisions.find((each) => each.seat === wish.seat);
      return begun === undefined
        ? refuse(`no creation of ${wish.seat} is in doubt`)
        : order({ kind: "abandon", provisionId: begun.id });
    }
    case "forgetSeat": {
      const record = tables.seats.get(wish.seat);
      if (record === undefined) return refuse(`there is no seat ${wish.seat}`);
      if (record.ended !== null) return refuse(`nobody sits on ${wish.seat}: its holder ${record.ended}`);
      return isLive(wish.seat)
        ? refuse(`${wish.seat} is held by a running instance: stop it first`)
        : order({ kind: "endSeat", seat: wish.seat, generation: record.generation });
    }
    case "leave": {
      const own = threadOfSeat(wish.seat);
      if (own === undefined) return refuse(`${wish.seat} has no thread`);
      return isLive(wish.seat)
        ? refuse(`${wish.seat} is held by a running instance: stop it first, or have it leave itself`)
        : order({ kind: "delete", seat: wish.seat, target: own.thread.target });
    }
  }
}

const isCleanup = ({ kind }: ReconciliationAction): boolean => kind === "deleteThread" || kind === "cancelCleanup";
const isSync = ({ kind }: ReconciliationAction): boolean => kind === "markThread";

const present = (action: ReconciliationAction | null): readonly ReconciliationAction[] =>
  action === null ? [] : [action];

/** What is to be done now, the operator's wishes first, deletions last. */
export function planReconciliation(input: ReconciliationInput): ReconciliationPlan {
  const { view, chatId, nowMs } = input;
  const tables = tablesOf(view);
  const actions = [
    ...view.requests.map((each) => judgeRequest(each, input, tables)),
    ...judgeStandings(input, tables),
    ...view.seats.flatMap((each) => present(judgeDoubt(each, input))),
    ...view.bindings
      .filter((each) => each.thread.target.chatId === chatId)
      .flatMap((each) => present(judgeBinding(each, input, tables))),
    ...view.cleanups.flatMap((each) => present(judgeCleanup(each, input, tables))),
  ];
  const counts = {
    provisions: view.provisions.filter((each) => each.status !== "unwanted").length,
    sync: actions.filter(isSync).length,
    cleanup: actions.filter(isCleanup).length,
  };
  const ahead = [
    ...view.cleanups.map((each) => dueOf(each, input)),
    ...(input.unprovableAfterMs === null
      ? []
      : view.seats.flatMap(({ unprovable }) =>
          unprovable === null ? [] : [unprovable.sinceMs + (input.unprovableAfterMs ?? 0)],
        )),
  ].filter((atMs) => atMs > nowMs);
  let next = Infinity;
  for (const atMs of ahead) next = Math.min(next, atMs);
  return {
    phase: phaseOf(counts),
    counts,
    actions: actions.slice(0, actionsMax),
    nextInMs: actions.length > actionsMax ? 0 : next === Infinity ? null : next - nowMs,
  };
}
