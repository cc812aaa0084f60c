/**
 * Looks at the charts of one instance from outside, by what the inspection of its stage shows.
 *
 * Owns: the last snapshot of the newest actor of an id, and of every seat. Does not own: judging them.
 * Invariant: looking changes nothing.
 */
import type { InspectionEvent, SnapshotFrom } from "xstate";
import type { Generation, InstanceId, SeatKey } from "../../machines/ids.ts";
import type { registrationMachine, Sitter } from "../../machines/registration.machine.ts";

const idOf = (ref: object): string => ("id" in ref && typeof ref.id === "string" ? ref.id : "");

/** The last snapshot of the newest actor with one id. */
export function createPeephole(id: string) {
  let ref: unknown = null;
  let snapshot: unknown = null;
  return {
    look(event: InspectionEvent) {
      if (event.type === "@xstate.snapshot" && event.actorRef === ref) snapshot = event.snapshot;
      else if (event.type === "@xstate.actor" && idOf(event.actorRef) === id) {
        ref = event.actorRef;
        snapshot = null;
      }
    },
    snapshot: () => snapshot,
  };
}

export interface SeenSeat {
  readonly seat: SeatKey;
  readonly sitter: Sitter | null;
  readonly isLive: boolean;
}

export interface SeatsPeephole {
  readonly look: (event: InspectionEvent) => void;
  /** Seats of the present leadership, whoever sits. */
  readonly seats: () => readonly SeenSeat[];
  /** Whoever sits as this instance, live or suspect. */
  readonly sitterOf: (instance: InstanceId) => Sitter | null;
  readonly wasLive: (instance: InstanceId, generation: Generation) => boolean;
}

/** The registry of a leader: the charts of its seats. */
export function createSeatsPeephole(id: InstanceId): SeatsPeephole {
  const prefix = `${id}/seat/`;
  /** Of one id the newest is the leader's; an older one that still runs was forgotten by it. */
  const byRef = new Map<object, SeenSeat>();
  const everLive = new Set<string>();
  const note = (ref: object, event: Extract<InspectionEvent, { type: "@xstate.snapshot" }>): void => {
    // The snapshot comes from an actor whose id is that of a seat's chart.
    const snapshot = event.snapshot as SnapshotFrom<typeof registrationMachine>;
    if (snapshot.status !== "active") {
      byRef.delete(ref);
      return;
    }
    const isLive = snapshot.matches("live");
    const { sitter, seat } = snapshot.context;
    byRef.set(ref, { seat, sitter, isLive });
    if (isLive && sitter !== null) everLive.add(`${sitter.instanceId} ${sitter.generation}`);
  };
  return {
    look(event) {
      if (event.type !== "@xstate.snapshot" || !idOf(event.actorRef).startsWith(prefix)) return;
      note(event.actorRef, event);
    },
    seats: () => [...byRef.values()],
    sitterOf(instance) {
      let newest: Sitter | null = null;
      for (const { sitter } of byRef.values()) if (sitter?.instanceId === instance) newest = sitter;
      return newest;
    },
    wasLive: (instance, generation) => everLive.has(`${instance} ${generation}`),
  };
}
