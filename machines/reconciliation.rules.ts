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
import { cleanupPauseMaxMs } from "./cleanup.rules.ts";
import { judgeCreations } from "./creations.rules.ts";
import type { CreationAction } from "./creations.rules.ts";
import { seatKey } from "./ids.ts";
import type { ChatId, Generation, InstanceId, Liveness, SeatKey, ThreadTarget } from "./ids.ts";
import type {
  ClaimRecord,
  Cleanup,
  CleanupReason,
  Observation,
  OperatorRequest,
  OperatorWish,
  ReconciliationView,
  SeatRecord,
} from "./reconciliation.types.ts";
import { ThreadMap } from "./thread-map.ts";
import type { HeldBinding, LeftoverThread, PendingProvision, ThreadStanding } from "./threads.rules.ts";

export interface ReconciliationInput {
  readonly nowMs: number;
  /** When this leadership began. */
  readonly leadingSinceMs: number;
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
  | CreationAction
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
/** Deletions of one plan: each waits for its turn, and what is asked meanwhile is heard in between. */
export const deletionsMax = 5;

/** The phase by what a plan holds (threads §5.3): the first that applies. */
export function phaseOf(counts: ReconciliationPlan["counts"]): ReconciliationPhase {
  if (counts.cleanup > 0) return "cleanupRequired";
  if (counts.provisions > 0) return "provisioning";
  return counts.sync > 0 ? "syncRequired" : "stable";
}

/** Everything that is looked up by its key, made once. */
interface Tables {
  readonly bound: ThreadMap<HeldBinding>;
  readonly seats: ReadonlyMap<SeatKey, SeatRecord>;
  /** By thread: the seat whose current registration has it. */
  readonly holders: ThreadMap<SeatRecord>;
  readonly claims: ReadonlyMap<SeatKey, ClaimRecord>;
  readonly cleanups: ThreadMap<Cleanup>;
}

function bySeat<Value extends { readonly seat: SeatKey }>(records: readonly Value[]): ReadonlyMap<SeatKey, Value> {
  const map = new Map<SeatKey, Value>();
  for (const record of records) map.set(record.seat, record);
  return map;
}

const targetOf = ({ target }: { readonly target: ThreadTarget }): ThreadTarget => target;
const threadOf = ({ thread }: HeldBinding): ThreadTarget => thread.target;

function tablesOf({ view }: ReconciliationInput): Tables {
  return {
    bound: ThreadMap.of(view.bindings, threadOf),
    seats: bySeat(view.seats),
    holders: ThreadMap.of(view.seats, ({ ended, target }) => (ended === null ? target : null)),
    claims: bySeat(view.claims),
    cleanups: ThreadMap.of(view.cleanups, targetOf),
  };
}

/** A call that began is over after so long: its time ends before the lease does. */
const callMaxMs = 8_000;

/**
 * Whether the clock was set back since: what had no deadline to wait for would be due later than now, what was postponed
 * later than any pause.
 */
const isOfAnotherClock = ({ dueAtMs, lastReason }: Cleanup, nowMs: number): boolean =>
  dueAtMs > nowMs + (lastReason === null ? 0 : cleanupPauseMaxMs);

/** When an instruction may be carried out. One under way may be somebody else's to end. */
function dueOf(cleanup: Cleanup, { graceFromMs, leadingSinceMs, nowMs }: ReconciliationInput): number {
  const { reason, phase, dueAtMs, attempts } = cleanup;
  // The grace of who ended runs by the clock, however it was set: nothing is deleted too early.
  if (phase === "waiting" && reason === "ended") return Math.max(dueAtMs, graceFromMs);
  const dueMs = isOfAnotherClock(cleanup, nowMs) ? leadingSinceMs : dueAtMs;
  // Whoever asked for it carries it out itself; here it is gone on with.
  if (reason === "rerouted" && phase === "waiting" && attempts === 0) return dueMs + callMaxMs;
  // However long it was due: whoever led before may have begun it with the last of its lease.
  return phase === "deleting" ? Math.max(dueMs, leadingSinceMs) + callMaxMs : dueMs;
}

/** Holders of seats whose deadline has come: their processes are to be looked at before the plan is made. */
export function holdersToLookAt(view: ReconciliationView, nowMs: number): ReadonlySet<SeatKey> {
  const due = view.cleanups.filter((each) => each.reason === "ended" && each.dueAtMs <= nowMs).map((each) => each.seat);
  const cleanedUp = ThreadMap.of(view.cleanups, targetOf);
  const idle = view.bindings.filter((each) => !cleanedUp.has(each.thread.target)).map((each) => each.seat);
  return new Set([...due, ...idle]);
}

function judgeCleanup(cleanup: Cleanup, input: ReconciliationInput, tables: Tables): ReconciliationAction | null {
  const { seat, target, reason } = cleanup;
  const bound = tables.bound.get(target);
  const holder = tables.holders.get(target)?.seat;
  const isOthers = bound !== undefined && bound.seat !== seat;
  const isTakenAgain = holder !== undefined && (holder !== seat || reason !== "left");
  if ((isOthers || isTakenAgain) && cleanup.phase === "waiting") return { kind: "cancelCleanup", target };
  // Whoever sits there, or is about to, decides about it.
  if (input.heldSeats.has(seat) && bound !== undefined && cleanup.phase === "waiting") return null;
  if (dueOf(cleanup, input) > input.nowMs) return null;
  const claim = tables.claims.get(seat)?.instanceId ?? null;
  // One that was begun was proven then, and nobody has had the thread since: it must come to its end.
  const isUnproven = cleanup.phase === "waiting" && claim !== null && input.looks.get(claim) !== "dead";
  if (reason === "ended" && bound !== undefined && isUnproven) return null;
  return { kind: "deleteThread", seat, target, reason, seenDead: claim };
}

/** A bound thread whose seat nobody holds gets a deadline: it may have been bound for one who never came. */
function judgeBinding(binding: HeldBinding, input: ReconciliationInput, tables: Tables): ReconciliationAction | null {
  const { seat, thread } = binding;
  const record = tables.seats.get(seat);
  if (thread.target.chatId !== input.chatId) return null;
  if (tables.cleanups.has(thread.target) || input.heldSeats.has(seat)) return null;
  if (record !== undefined && record.ended === null) return null;
  const claim = tables.claims.get(seat)?.instanceId;
  if (claim !== undefined && input.looks.get(claim) !== "dead") return null;
  const graceMs = record === undefined ? input.threadGraceMs : record.threadGraceMs;
  if (graceMs === null) return null;
  const sinceMs = record?.endedAtMs ?? input.nowMs;
  return { kind: "startGrace", seat, target: thread.target, dueAtMs: Math.max(sinceMs + graceMs, input.graceFromMs) };
}

/** Closed and reopened, as service messages tell (threads OP-23: the binding stays). */
function judgeStanding(
  { target, status }: Observation,
  { chatId }: ReconciliationInput,
  tables: Tables,
): ReconciliationAction | null {
  const bound = tables.bound.get(target);
  if (bound === undefined || target.chatId !== chatId || status === "deleted") return null;
  if (status === "closed" && bound.standing === "open")
    return { kind: "markThread", target, standing: "closed", reason: "the user closed it" };
  if (status === "open" && bound.standing === "closed")
    return { kind: "markThread", target, standing: "open", reason: "the user reopened it" };
  return null;
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

/** What wishes are judged by besides. */
interface WishTables extends Tables {
  /** By seat: its binding in our chat. */
  readonly own: ReadonlyMap<SeatKey, HeldBinding>;
  readonly begun: ReadonlyMap<SeatKey, PendingProvision>;
  /** By thread: the creation that made it, and whose call or binding is still to come. */
  readonly makers: ThreadMap<PendingProvision>;
  readonly observations: ThreadMap<Observation>;
  readonly leftovers: ThreadMap<LeftoverThread>;
}

const wishTablesOf = ({ view, chatId }: ReconciliationInput, tables: Tables): WishTables => ({
  ...tables,
  own: bySeat(view.bindings.filter(({ thread }) => thread.target.chatId === chatId)),
  // Of several the earliest.
  begun: bySeat(view.provisions.toReversed()),
  makers: ThreadMap.of(view.provisions, ({ chatId: made, threadId }) =>
    threadId === null ? null : { chatId: made, threadId },
  ),
  observations: ThreadMap.of(view.observations, targetOf),
  leftovers: ThreadMap.of(view.leftovers, targetOf),
});

/** One a plan, the oldest: what it changes is seen by the plan that judges the next. */
function judgeOldestRequest(input: ReconciliationInput, tables: Tables): ReconciliationAction[] {
  const [oldest] = input.view.requests;
  return oldest === undefined ? [] : [judgeRequest(oldest, input, wishTablesOf(input, tables))];
}

/** Why a seat does not get the thread that the operator gives it; null = it does. */
function whyNotAdopted({ seat, target }: Extract<OperatorWish, { kind: "adopt" }>, tables: WishTables): string | null {
  const bound = tables.bound.get(target);
  const maker = tables.makers.get(target);
  const whose = bound?.seat ?? maker?.seat ?? seat;
  if (whose !== seat) return `that thread belongs to ${whose}`;
  if (tables.observations.get(target)?.status === "deleted") return "that thread is deleted";
  if (tables.cleanups.get(target)?.phase === "deleting") return "that thread is being deleted";
  const own = tables.own.get(seat);
  return own === undefined || own === bound
    ? null
    : `${seat} has thread ${String(own.thread.target.threadId)}: give that up first (release or forget)`;
}

function judgeRequest(request: OperatorRequest, input: ReconciliationInput, tables: WishTables): ReconciliationAction {
  const { wish } = request;
  const refuse = (text: string): ReconciliationAction => ({ kind: "refuse", request, text });
  const order = (what: OperatorOrder): ReconciliationAction => ({ kind: "carryOut", request, order: what });
  const isLive = (seat: SeatKey): boolean => {
    const claim = tables.claims.get(seat)?.instanceId;
    return input.heldSeats.has(seat) || (claim !== undefined && input.looks.get(claim) === "alive");
  };
  switch (wish.kind) {
    case "adopt": {
      const why = whyNotAdopted(wish, tables);
      const begun = tables.begun.get(wish.seat);
      return why === null
        ? order({ kind: "bind", seat: wish.seat, target: wish.target, provisionId: begun?.id ?? null })
        : refuse(why);
    }
    case "release": {
      const seat = tables.bound.get(wish.target)?.seat ?? null;
      if (seat !== null && isLive(seat)) return refuse(`${seat} is held by a running instance: stop it first`);
      const leftover = tables.leftovers.get(wish.target);
      const known = seat ?? leftover?.seat ?? tables.cleanups.get(wish.target)?.seat;
      return known === undefined && leftover === undefined
        ? refuse("nothing is known of that thread: adopt it, or delete it in Telegram")
        : order({ kind: "delete", seat: known ?? seatKey(""), target: wish.target });
    }
    case "forgetThread": {
      const seat = tables.bound.get(wish.target)?.seat;
      return seat !== undefined && isLive(seat)
        ? refuse(`${seat} is held by a running instance: stop it first`)
        : order({ kind: "unbind", target: wish.target });
    }
    case "forgetCreation": {
      const begun = tables.begun.get(wish.seat);
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
      const own = tables.own.get(wish.seat);
      if (own === undefined) return refuse(`${wish.seat} has no thread`);
      return isLive(wish.seat)
        ? refuse(`${wish.seat} is held by a running instance: stop it first, or have it leave itself`)
        : order({ kind: "delete", seat: wish.seat, target: own.thread.target });
    }
  }
}

const isCleanup = ({ kind }: ReconciliationAction): boolean => kind === "deleteThread" || kind === "cancelCleanup";
const isSync = ({ kind }: ReconciliationAction): boolean => kind === "markThread";

/** What each of the records comes to, of those that come to something. */
function judgeEach<Item>(
  items: readonly Item[],
  judge: (item: Item) => ReconciliationAction | null,
): ReconciliationAction[] {
  const actions: ReconciliationAction[] = [];
  for (const item of items) {
    const action = judge(item);
    if (action !== null) actions.push(action);
  }
  return actions;
}

/** The earliest deadline ahead; `Infinity` = none runs. */
function nextDeadlineMs(input: ReconciliationInput): number {
  const { view, nowMs, unprovableAfterMs } = input;
  let next = Infinity;
  const consider = (atMs: number): void => {
    if (atMs > nowMs && atMs < next) next = atMs;
  };
  for (const cleanup of view.cleanups) consider(dueOf(cleanup, input));
  if (unprovableAfterMs === null) return next;
  for (const { unprovable } of view.seats) if (unprovable !== null) consider(unprovable.sinceMs + unprovableAfterMs);
  return next;
}

function bounded(judged: readonly ReconciliationAction[]): readonly ReconciliationAction[] {
  let deletions = 0;
  const kept = judged.filter(({ kind }) => kind !== "deleteThread" || (deletions += 1) <= deletionsMax);
  return kept.slice(0, actionsMax);
}

/** What is to be done now, the operator's wishes first, deletions last. */
export function planReconciliation(input: ReconciliationInput): ReconciliationPlan {
  const { view, nowMs } = input;
  const tables = tablesOf(input);
  const judged = [
    ...judgeOldestRequest(input, tables),
    ...judgeCreations(input),
    ...judgeEach(view.observations, (each) => judgeStanding(each, input, tables)),
    ...judgeEach(view.seats, (each) => judgeDoubt(each, input)),
    ...judgeEach(view.bindings, (each) => judgeBinding(each, input, tables)),
    ...judgeEach(view.cleanups, (each) => judgeCleanup(each, input, tables)),
  ];
  const counts = {
    provisions: view.provisions.filter((each) => each.status !== "unwanted").length,
    sync: judged.filter(isSync).length,
    cleanup: judged.filter(isCleanup).length,
  };
  const next = nextDeadlineMs(input);
  const actions = bounded(judged);
  const isMoreDue = actions.length < judged.length || view.requests.length > 1;
  return {
    phase: phaseOf(counts),
    counts,
    actions,
    nextInMs: isMoreDue ? 0 : next === Infinity ? null : next - nowMs,
  };
}
