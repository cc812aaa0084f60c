/**
 * Room for heartbeats on the one connection to the leader.
 *
 * Owns: how many calls are under way on it at once, and the order of those that wait for their turn.
 * Does not own: the connection, what an outcome means.
 *
 * A leader does not read from a connection with too many requests in flight (`requestsInFlightMax`). Heartbeats behind that
 * many calls, at a Telegram that does not answer, would be late: the registration would be lost, and the outcome of every
 * one of these calls with it. So calls leave some places free.
 */
import { requestsInFlightMax } from "../machines/wire/constants.ts";
import type { RequestEnvelope } from "../machines/wire/envelopes.ts";
import type { Clock, Link, RequestOutcome } from "./ports.ts";

/** Calls under way on one connection; more wait, in order, for up to the time-out of each. */
export const callsUnderWayMax = requestsInFlightMax - 64;

const isHeldBack = ({ kind }: RequestEnvelope): boolean => kind === "follower.callApi";

/** The same link. A call whose turn does not come within its time-out is `notSent`; sent, it has its whole time-out. */
export function leavingRoom(link: Link, clock: Clock): Link {
  const waiting = new Set<() => void>();
  let underWay = 0;

  const make = async (envelope: RequestEnvelope, timeoutMs: number): Promise<RequestOutcome> => {
    underWay += 1;
    try {
      return await link.request(envelope, timeoutMs);
    } finally {
      underWay -= 1;
      const [next] = waiting;
      next?.();
    }
  };

  return {
    closed: link.closed,
    close: () => {
      link.close();
    },
    request(envelope, timeoutMs) {
      if (!isHeldBack(envelope)) return link.request(envelope, timeoutMs);
      if (underWay < callsUnderWayMax) return make(envelope, timeoutMs);
      return new Promise((resolve) => {
        const begin = (): void => {
          waiting.delete(begin);
          clock.clearTimeout(timer);
          resolve(make(envelope, timeoutMs));
        };
        const timer = clock.setTimeout(() => {
          waiting.delete(begin);
          resolve({ kind: "notSent", reason: "too many calls are under way" });
        }, timeoutMs);
        waiting.add(begin);
      });
    },
  };
}
