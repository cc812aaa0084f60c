/**
 * What a seat's chart remembers, and what it says from it.
 *
 * Owns: the context of `registration.machine.ts` and its readers. Does not own: any decision.
 */
import type { BoundThread, ThreadTarget } from "./ids.ts";
import type { ProvisioningInput, ThreadDoubt, ThreadOrigin } from "./provisioning.contract.ts";
import type {
  Candidate,
  Follower,
  RegistrationFact,
  RegistrationInput,
  SeatLoss,
  SeatReply,
  SeatRequest,
  SeatWrite,
  Sitter,
} from "./registration.contract.ts";

export interface RegistrationContext extends RegistrationInput {
  /** Whoever was committed last and has neither left nor been proven dead. */
  readonly sitter: Sitter | null;
  readonly candidate: Candidate | null;
  readonly candidateThread: (BoundThread & { readonly origin: ThreadOrigin }) | null;
  readonly leaving: string;
  readonly deferred: readonly SeatRequest[];
  readonly looks: number;
  /** Threads that this registration got and that were gone when it was committed. */
  readonly lostThreads: number;
  /** What was last said against the sitter's thread. */
  readonly doubt: ThreadDoubt | null;
}

export function must<Value>(value: Value | null): Value {
  if (value === null) throw new Error("the registration chart acts on a follower it does not have");
  return value;
}
export const newThread = ({ candidateThread }: RegistrationContext): BoundThread => {
  const { origin: _origin, ...thread } = must(candidateThread);
  return thread;
};
export const newSitter = (context: RegistrationContext): Sitter => ({
  ...must(context.candidate).follower,
  thread: newThread(context),
});

/** The one who asks is the instance that sits here, under another generation. */
export const isOfSitter = ({ candidate, sitter }: RegistrationContext): boolean =>
  candidate?.follower.instanceId === sitter?.instanceId;

export const seatWrite = ({ context }: { readonly context: RegistrationContext }): SeatWrite => ({
  epoch: context.epoch,
  seat: context.seat,
  sitter: must(context.sitter),
});
export const answer = (requestId: string, reply: SeatReply): RegistrationFact => ({
  type: "seat.answered",
  requestId,
  reply,
});

export const gone = (context: RegistrationContext, why: SeatLoss): RegistrationFact => ({
  type: "seat.gone",
  instanceId: must(context.sitter).instanceId,
  why,
});

/** The sitter with another thread, and nothing else changed: its generation stands. */
export const movedSitter = (context: RegistrationContext): Sitter => ({
  ...must(context.sitter),
  thread: newThread(context),
});

/** What is asked for a seat's thread on behalf of this follower. */
export const provisioningOf = (
  { epoch, seat, chatId }: RegistrationContext,
  { instanceId, threadName, carried, previous }: Follower,
  doubt: ThreadDoubt | null,
): ProvisioningInput => ({
  epoch,
  wish: { seat, instanceId, chatId, threadName, role: "follower", carried: doubt === null ? carried : null, previous },
  doubt,
});

/** The thread that was reported. */
export const doubted = ({ doubt }: RegistrationContext): ThreadTarget => must(doubt).target;

/** Why the store did not take a registration; `output` is what the commit came to. */
export const whyRefused = (output: unknown): string =>
  typeof output === "object" && output !== null && "kind" in output && output.kind === "superseded"
    ? "another process holds this seat by now"
    : "the seat's former thread is being deleted, and Telegram has not confirmed it yet";

/** Why a seat keeps the thread that was reported; `output` is what provisioning, or the commit, came to. */
export function whyNotMoved(output: unknown): string {
  if (typeof output !== "object" || output === null || !("kind" in output)) return "";
  if (output.kind === "bound") return "the thread exists";
  return "reason" in output ? String(output.reason) : String(output.kind);
}
