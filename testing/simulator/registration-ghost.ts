/**
 * Effects of requests whose registration is not the current one: what no process knows it did wrong.
 *
 * Owns: watching claims and ended registrations inside the store, and what a leader's endpoint acknowledged to whom.
 * Does not own: judging it (`machines/invariants.ts`, `registration/staleGenerationNeverActs`).
 * What counts: a claim taken, or a registration ended, under a generation that the store does not hold as current; a
 * heartbeat, call or disconnect that a leader granted although the last registration that the same leader acknowledged
 * on that seat, before the request was served, is another one. A registration that is durable and not yet acknowledged
 * is no measure: its leader may not know of it.
 */
import type { MemoryDatabase } from "../../adapters/store/memory/index.ts";
import type { Generation, InstanceId, SeatKey } from "../../machines/ids.ts";
import type { Envelope, RequestEnvelope } from "../../machines/wire/envelopes.ts";
import type { RequestHandler, Store } from "../../services/ports.ts";

export interface RegistrationGhost {
  readonly watch: (inner: Store) => Store;
  /** Watches the endpoint of one process. */
  readonly serve: (inner: RequestHandler) => RequestHandler;
  readonly staleEffects: (seat: SeatKey) => number;
}

type FencedRequest = Extract<
  RequestEnvelope,
  { readonly kind: "follower.heartbeat" | "follower.callApi" | "follower.disconnect" }
>;

const isFenced = (request: Envelope): request is FencedRequest =>
  request.kind === "follower.heartbeat" ||
  request.kind === "follower.callApi" ||
  request.kind === "follower.disconnect";

export function createRegistrationGhost(database: MemoryDatabase): RegistrationGhost {
  const stale = new Map<SeatKey, number>();
  const count = (seat: SeatKey) => void stale.set(seat, (stale.get(seat) ?? 0) + 1);

  const watch = (inner: Store): Store => ({
    ...inner,
    work: {
      ...inner.work,
      async claim(request) {
        const { seat, instanceId, generation } = request.claimant;
        const current = database.registrations.get(seat);
        const answer = await inner.work.claim(request);
        const isCurrent = current?.generation === generation && current.instanceId === instanceId;
        if (answer.kind === "claimed" && !isCurrent) count(seat);
        return answer;
      },
    },
    registrations: {
      ...inner.registrations,
      async end(request) {
        const current = database.registrations.get(request.seat);
        const answer = await inner.registrations.end(request);
        if (answer.kind === "ended" && current?.generation !== request.generation) count(request.seat);
        return answer;
      },
    },
  });

  const serve = (inner: RequestHandler): RequestHandler => {
    const seatOf = new Map<InstanceId, SeatKey>();
    const acknowledged = new Map<SeatKey, { readonly instanceId: InstanceId; readonly generation: Generation }>();
    return async (request, from) => {
      const seat = "instanceId" in request ? seatOf.get(request.instanceId) : undefined;
      const before = seat === undefined ? undefined : acknowledged.get(seat);
      const ack = await inner(request, from);
      if (!ack.ok) return ack;
      if (request.kind === "follower.register") {
        const { instanceId, profileKey, registrationGeneration: generation } = request.registration;
        if (profileKey === undefined || generation === undefined) return ack;
        seatOf.set(instanceId, profileKey);
        acknowledged.set(profileKey, { instanceId, generation });
      } else if (isFenced(request) && before !== undefined && seat !== undefined) {
        const { instanceId, registrationGeneration } = request;
        if (before.instanceId !== instanceId || before.generation !== registrationGeneration) count(seat);
      }
      return ack;
    };
  };

  return { watch, serve, staleEffects: (seat) => stale.get(seat) ?? 0 };
}
