/**
 * What a seat's chart remembers, and what it says from it.
 *
 * Owns: the context of `registration.machine.ts` and its readers. Does not own: any decision.
 */
import type { BoundThread } from "./ids.ts";
import type { ThreadOrigin } from "./provisioning.contract.ts";
import type {
  Candidate,
  RegistrationFact,
  RegistrationInput,
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

export const gone = (
  context: RegistrationContext,
  why: Extract<RegistrationFact, { type: "seat.gone" }>["why"],
): RegistrationFact => ({ type: "seat.gone", instanceId: must(context.sitter).instanceId, why });
