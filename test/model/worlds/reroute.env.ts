/**
 * The environment of world `reroute`: a thread that nobody has, what is written there, two agents, the store's side of it.
 *
 * Owns: the data, what store, Telegram and the agents answer (faithful to `JournalStore`, `CleanupStore` and
 * services/restoring.ts). Does not own: when anything happens (`reroute.world.ts`), what the charts decide.
 */
import type { Epoch, ThreadTarget } from "../../../machines/ids.ts";
import { chatId, epoch, journalSeq, messageId, seatKey, threadId } from "../../../machines/ids.ts";
import type { PostponeOrder, ThreadOrder } from "../../../machines/cleanup.machine.ts";
import type { GiveOrder, MoveOrder } from "../../../machines/reroute.machine.ts";
import type { Outcome, Request, RequestFault } from "../../../testing/explorer/index.ts";

export type Name = "A" | "B";
export const names = ["A", "B"] as const;

export interface RerouteBudgets {
  /** Messages written in the thread, besides the first. */
  readonly writes: number;
  readonly presses: number;
  /** Requests that fail their asker. */
  readonly losses: number;
  /** Times that an agent goes, or comes back. */
  readonly absences: number;
  /** Entries that end and that nobody has taken. */
  readonly ends: number;
  /** Leaders after the first. */
  readonly takeovers: number;
  /** Deletions that reconciliation goes on with. */
  readonly retries: number;
  /** Questions after the first. */
  readonly questions: number;
}
export interface RerouteBounds extends RerouteBudgets {
  /** What is written there comes in parts of one album. */
  readonly isAlbum: boolean;
}

export interface Entry {
  readonly at: "source" | Name;
  readonly is: "waiting" | "taken" | "ended";
  /** Ghost: how often a choice has moved it, and which question did. */
  readonly moves: number;
  readonly movedBy: string | null;
  /** Ghost: it was there before a deletion began. */
  readonly isOwed: boolean;
}

export interface RerouteEnv {
  readonly isAlbum: boolean;
  readonly epoch: number;
  readonly entries: readonly Entry[];
  readonly isLive: Readonly<Record<Name, boolean>>;
  readonly owner: Name | null;
  readonly isGone: boolean;
  /** The instruction to delete the thread, and the question that asked for it. */
  readonly cleanup: { readonly phase: "waiting" | "deleting"; readonly by: string } | null;
  /** Somebody is at work on the deletion: reconciliation waits until that must be over. */
  readonly isBeingDeleted: boolean;
  readonly isShown: boolean;
  /** Questions that leaders have begun; which of them each leader's chart is. */
  readonly questions: number;
  /** Ghosts: deletions without an instruction under way, of a thread that an agent has, of one whose content was not taken. */
  readonly unproven: number;
  readonly heldDeleted: number;
  readonly untakenDeleted: number;
  readonly left: RerouteBudgets;
}

const at = (id: number): ThreadTarget => ({ chatId: chatId(7), threadId: threadId(id) });
export const source = at(9);
export const threads: Readonly<Record<Name, ThreadTarget>> = { A: at(1), B: at(2) };
export const seatOf = (name: Name) => seatKey(name);
export const question = messageId(70);

export const beginning = ({ isAlbum, ...budgets }: RerouteBounds): RerouteEnv => ({
  isAlbum,
  epoch: 1,
  entries: [{ at: "source", is: "waiting", moves: 0, movedBy: null, isOwed: true }],
  isLive: { A: true, B: true },
  owner: null,
  isGone: false,
  cleanup: null,
  isBeingDeleted: false,
  isShown: false,
  questions: 1,
  unproven: 0,
  heldDeleted: 0,
  untakenDeleted: 0,
  left: budgets,
});

export const spend = (env: RerouteEnv, what: keyof RerouteBudgets): RerouteEnv => ({
  ...env,
  left: { ...env.left, [what]: env.left[what] - 1 },
});
export const withEntry = (env: RerouteEnv, index: number, over: Partial<Entry>): RerouteEnv => ({
  ...env,
  entries: env.entries.map((each, n) => (n === index ? { ...each, ...over } : each)),
});

/** What waits in the thread and belongs to nobody. */
export const isWaiting = ({ owner, entries }: RerouteEnv): boolean =>
  owner === null && entries.some((each) => each.at === "source" && each.is === "waiting");

/** What store and services do, replaceable one by one to seed faults. */
export interface RerouteRules {
  readonly mayWrite: (env: RerouteEnv, under: Epoch) => boolean;
  readonly mayMove: (env: RerouteEnv, entry: Entry) => boolean;
  readonly mayBegin: (env: RerouteEnv) => boolean;
  readonly mayGive: (env: RerouteEnv) => boolean;
}

export const faithfulReroute: RerouteRules = {
  mayWrite: (env, under) => under === epoch(env.epoch),
  mayMove: (_env, entry) => entry.at === "source" && entry.is === "waiting",
  // A call may be deleting it already: then what is written there comes too late.
  mayBegin: (env) => env.owner === null && (env.cleanup?.phase === "deleting" || !isWaiting(env)),
  mayGive: (env) => env.cleanup?.phase !== "deleting" && !env.isGone,
};

const answered = (env: RerouteEnv, output: unknown): Outcome<RerouteEnv> => ({ env, answer: { output } });
const nameOf = (target: ThreadTarget): Name => (target.threadId === threads.A.threadId ? "A" : "B");
const fenceable = ["moveContent", "giveThread", "intendCleanup", "beginCleanup", "confirmCleanup", "postponeCleanup"];

export function commitOf(env: RerouteEnv, request: Request, rules: RerouteRules): readonly Outcome<RerouteEnv>[] {
  const { src, input, by } = request;
  // Inputs are what the charts pass to the slots of these names.
  if (fenceable.includes(src) && !rules.mayWrite(env, (input as ThreadOrder).epoch))
    return [answered(src.endsWith("Cleanup") ? { ...env, isBeingDeleted: false } : env, { kind: "fenced" })];
  switch (src) {
    case "showChooser":
      return shows(env);
    case "moveContent":
      return [moves(env, input as MoveOrder, by, rules)];
    case "offerThread":
      return offers(env, input as MoveOrder);
    case "giveThread":
      return [gives(env, input as GiveOrder, rules)];
    case "seatAgent":
      return [answered(env, true), answered(env, false)];
    case "dismissChooser":
      return [answered({ ...env, isShown: false }, true), answered(env, false)];
    case "intendCleanup":
      return [answered(intends(env, by), { kind: "intended" })];
    case "beginCleanup":
      return [begins(env, rules)];
    case "deleteThread":
      return deletes(isUnheard(env, request) ? { ...env, isBeingDeleted: false } : env);
    case "confirmCleanup":
      return [
        answered(
          { ...env, cleanup: null, isBeingDeleted: false },
          { kind: env.cleanup === null ? "superseded" : "removed" },
        ),
      ];
    case "postponeCleanup":
      return [postpones(env, input as PostponeOrder)];
    default:
      throw new Error(`the reroute world answers no ${src}`);
  }
}

/** Whatever comes of the call, whoever made it writes nothing more. */
const isUnheard = (env: RerouteEnv, { input, orphan }: Request): boolean =>
  orphan || (input as ThreadOrder).epoch !== epoch(env.epoch);

function intends(env: RerouteEnv, by: string): RerouteEnv {
  if (env.isGone) return env;
  return { ...env, cleanup: { phase: "waiting", ...env.cleanup, by }, isBeingDeleted: true };
}

function shows(env: RerouteEnv): readonly Outcome<RerouteEnv>[] {
  if (env.owner !== null) return [answered(env, { kind: "owned" })];
  if (!names.some((name) => env.isLive[name])) return [answered(env, { kind: "guided" })];
  const shown = { ...env, isShown: true };
  const known = answered(shown, { kind: "shown", message: question });
  if (env.left.losses === 0) return [known];
  const less = spend(env, "losses");
  // Telegram's answer was lost: perhaps it stands there.
  const perhaps = { kind: "shown", message: null };
  return [
    known,
    answered({ ...less, isShown: true }, perhaps),
    answered(less, perhaps),
    answered(less, { kind: "failed" }),
  ];
}

function moves(env: RerouteEnv, { to }: MoveOrder, by: string, rules: RerouteRules): Outcome<RerouteEnv> {
  const name = nameOf(to);
  if (!env.isLive[name]) return answered(env, { kind: "absent" });
  const moved = env.entries.flatMap((each, index) => (env.owner === null && rules.mayMove(env, each) ? [index] : []));
  if (moved.length === 0) return answered(env, { kind: "nothing" });
  const entries = env.entries.map((each, index) =>
    moved.includes(index) ? { ...each, at: name, moves: each.moves + 1, movedBy: by } : each,
  );
  return answered({ ...env, entries }, { kind: "moved", seqs: moved.map(journalSeq), mayDelete: true });
}

function offers(env: RerouteEnv, { to }: MoveOrder): readonly Outcome<RerouteEnv>[] {
  if (env.owner !== null) return [answered(env, { kind: "owned" })];
  const name = nameOf(to);
  if (!env.isLive[name]) return [answered(env, { kind: "absent" })];
  return [answered(env, { kind: "accepted", seat: seatOf(name) }), answered(env, { kind: "refused" })];
}

function gives(env: RerouteEnv, { seat }: GiveOrder, rules: RerouteRules): Outcome<RerouteEnv> {
  const name: Name = seat === seatOf("A") ? "A" : "B";
  if (env.owner !== null) return answered(env, { kind: env.owner === name ? "given" : "owned" });
  if (!env.isLive[name]) return answered(env, { kind: "absent" });
  if (!rules.mayGive(env)) return answered(env, { kind: "gone" });
  const entries = env.entries.map((each) => (each.at === "source" ? { ...each, at: name } : each));
  const cleanup = env.cleanup?.phase === "waiting" ? null : env.cleanup;
  return answered({ ...env, owner: name, cleanup, entries }, { kind: "given" });
}

function begins(env: RerouteEnv, rules: RerouteRules): Outcome<RerouteEnv> {
  const { cleanup } = env;
  const superseded = { kind: "superseded" };
  const over = { ...env, isBeingDeleted: false };
  if (cleanup === null) return answered(over, superseded);
  if (!rules.mayBegin(env))
    return answered({ ...over, cleanup: cleanup.phase === "waiting" ? null : cleanup }, superseded);
  const begun: RerouteEnv = { ...env, cleanup: { ...cleanup, phase: "deleting" }, isBeingDeleted: true };
  return answered(begun, { kind: "begun", attempts: 1 });
}

function deletes(env: RerouteEnv): readonly Outcome<RerouteEnv>[] {
  const { cleanup, entries } = env;
  // A second call, of whoever could not know of the first, finds nothing to delete.
  if (env.isGone) return [answered(env, { kind: "gone" })];
  const isUntaken = entries.some(
    ({ at: where, is, isOwed, movedBy }) =>
      (where === "source" && is === "waiting" && isOwed) || (movedBy === cleanup?.by && is !== "taken"),
  );
  const gone: RerouteEnv = {
    ...env,
    isGone: true,
    isShown: false,
    unproven: env.unproven + Number(cleanup?.phase !== "deleting"),
    heldDeleted: env.heldDeleted + Number(env.owner !== null),
    untakenDeleted: env.untakenDeleted + Number(isUntaken),
  };
  const confirmed = answered(gone, { kind: "gone" });
  if (env.left.losses === 0) return [confirmed];
  const kept = (isCertain: boolean) => ({ kind: "kept", reason: "no", isCertain, retryAfterMs: 0 });
  const lost = { left: spend(env, "losses").left };
  return [
    confirmed,
    answered({ ...gone, ...lost }, kept(false)),
    answered({ ...env, ...lost }, kept(false)),
    answered({ ...env, ...lost }, kept(true)),
  ];
}

function postpones(env: RerouteEnv, { isCertain }: PostponeOrder): Outcome<RerouteEnv> {
  const { cleanup } = env;
  if (cleanup === null) return answered(env, { kind: "noted" });
  const phase = isCertain ? "waiting" : "deleting";
  return answered({ ...env, cleanup: { ...cleanup, phase }, isBeingDeleted: false }, { kind: "noted" });
}

/** Telegram's troubles are among its answers; here a request of the store's breaks, before its effect or after it. */
export function faultsOf(env: RerouteEnv, src: string, phase: "issued" | "committed"): RequestFault<RerouteEnv>[] {
  if (env.left.losses === 0 || src === "deleteThread") return [];
  if (src === "showChooser" && phase === "committed") return [];
  const less = spend(env, "losses");
  // With these its asker gives the deletion up for now; a confirmation is asked for again.
  const isGivenUp = ["intendCleanup", "beginCleanup", "postponeCleanup"].includes(src);
  const next = isGivenUp ? { ...less, isBeingDeleted: false } : less;
  return [{ kind: phase === "committed" ? "answerLost" : "notCommitted", env: next }];
}
