/**
 * Effects of a seat's chart: the store's registrations, proof of death, deletion of a thread that is given up.
 */
import { fromCallback, fromPromise } from "xstate";
import type { Liveness } from "../machines/ids.ts";
import { registrationMachine } from "../machines/registration.machine.ts";
import type {
  CommitAnswer,
  CommitRequest,
  EndRegistrationAnswer,
  ProofRequest,
  SeatWrite,
} from "../machines/registration.machine.ts";
import { capability } from "../machines/wire/constants.ts";
import { provideCleanup } from "./cleanup.ts";
import type { FollowerLinks } from "./follower-links.ts";
import { provideProvisioning } from "./provisioning.ts";
import type { Runtime } from "./runtime.ts";

export function provideRegistration(runtime: Runtime, links: FollowerLinks) {
  const { store, processes, stage } = runtime.ports;

  /** Our own peers keep a claim on their seat in the store; a v1 peer has only what it sent. */
  const proveDeath = async ({ seat, sitter }: ProofRequest): Promise<Liveness> => {
    if (!sitter.capabilities.includes(capability.sharedStore))
      return sitter.incarnation === null ? "unverifiable" : processes.liveness(sitter.incarnation);
    const claim = await store.seats.holderOf(seat);
    // It gave the seat up, or another process has it: for this registration that is the end.
    if (claim?.instanceId !== sitter.instanceId) return "dead";
    return processes.liveness(claim.incarnation);
  };

  return registrationMachine.provide({
    actors: {
      provisioning: provideProvisioning(runtime),
      watchFollower: fromCallback<{ readonly type: "never" }, ProofRequest>(({ input: { seat, sitter }, sendBack }) =>
        links.watch(seat, sitter, () => {
          sendBack({ type: "link.closed", generation: sitter.generation });
        }),
      ),
      commitRegistration: fromPromise<CommitAnswer, CommitRequest>(({ input: { epoch, seat, sitter } }) =>
        store.registrations.commit({
          epoch,
          registration: {
            seat,
            instanceId: sitter.instanceId,
            generation: sitter.generation,
            incarnation: sitter.incarnation,
            thread: sitter.thread,
            atMs: stage.clock.nowMs(),
            threadGraceMs: runtime.settings.threadGraceMs,
          },
        }),
      ),
      proveDeath: fromPromise<Liveness, ProofRequest>(({ input }) => proveDeath(input)),
      endRegistration: fromPromise<EndRegistrationAnswer, SeatWrite>(({ input: { epoch, seat, sitter } }) =>
        store.registrations.end({
          epoch,
          seat,
          generation: sitter.generation,
          reason: "died",
          atMs: stage.clock.nowMs(),
        }),
      ),
      cleanup: provideCleanup(runtime),
    },
  });
}
