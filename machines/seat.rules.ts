/**
 * Which seat an instance takes. A seat is chosen, not derived: `manual:<owner>:<discriminator>`.
 *
 * Named: the owner is the profile's own id and the discriminator the name, so seat and thread survive any restart, and a
 * second live instance of that name is refused. Unnamed: the owner is the parent's incarnation and the discriminator the
 * lowest number that no live instance holds under that parent.
 *
 * Does not own: the claim itself (one compare-and-set in the store), looking at processes.
 */
import { seatKey } from "./ids.ts";
import type { InstanceId, Liveness, SeatKey } from "./ids.ts";

export interface SeatRequest {
  /** Who asks. A claim of its own stands for nobody: the answer to it was lost. */
  readonly me: InstanceId;
  /** Profile id when named, the parent's incarnation as text when not. */
  readonly owner: string;
  readonly name: string | null;
}

/** A claim on a seat with what a look at its process said. */
export interface SeenClaim {
  readonly seat: SeatKey;
  readonly instanceId: InstanceId;
  readonly liveness: Liveness;
}

export type SeatChoice =
  | { readonly kind: "take"; readonly seat: SeatKey; readonly expected: InstanceId | null }
  | { readonly kind: "refuse"; readonly reason: string };

/** Unnamed instances under one parent. A bound against a run-away parent, far above any use. */
export const unnamedSeatsMax = 10_000;

const seatOf = (owner: string, discriminator: string): SeatKey => seatKey(`manual:${owner}:${discriminator}`);

/** Whether the seat can be had from this holder. */
const isFree = ({ me }: SeatRequest, held: SeenClaim): boolean => held.liveness === "dead" || held.instanceId === me;

function chooseNamed(request: SeatRequest, name: string, claims: readonly SeenClaim[]): SeatChoice {
  const seat = seatOf(request.owner, name);
  const held = claims.find((claim) => claim.seat === seat);
  if (held === undefined) return { kind: "take", seat, expected: null };
  if (isFree(request, held)) return { kind: "take", seat, expected: held.instanceId };
  const who = `instance ${held.instanceId}`;
  return held.liveness === "alive"
    ? {
        kind: "refuse",
        reason: `the name "${name}" is taken by ${who}, which is running: stop it or choose another name`,
      }
    : {
        kind: "refuse",
        reason: `the name "${name}" is held by ${who}, which can be proven neither alive nor dead from here: choose another name`,
      };
}

/** The seat to claim, given everything claimed under the same owner. */
export function chooseSeat(request: SeatRequest, claims: readonly SeenClaim[]): SeatChoice {
  if (request.name !== null) return chooseNamed(request, request.name, claims);
  const mine = claims.find((claim) => claim.instanceId === request.me);
  if (mine !== undefined) return { kind: "take", seat: mine.seat, expected: mine.instanceId };
  const bySeat = new Map(claims.map((claim) => [claim.seat, claim]));
  for (let number = 0; number < unnamedSeatsMax; number += 1) {
    const seat = seatOf(request.owner, String(number));
    const held = bySeat.get(seat);
    if (held === undefined) return { kind: "take", seat, expected: null };
    if (isFree(request, held)) return { kind: "take", seat, expected: held.instanceId };
  }
  return {
    kind: "refuse",
    reason: `one parent process may start ${String(unnamedSeatsMax)} unnamed instances: use names`,
  };
}

/** Whether a name can be a seat's discriminator, in words; null when it can. */
export function faultOfName(name: string): string | null {
  if (name.length === 0) return "a name must not be empty";
  if (name.length > 64) return "a name has at most 64 characters";
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name))
    return `the name "${name}" must start with a letter or digit and have only letters, digits, ".", "_" and "-"`;
  return null;
}
