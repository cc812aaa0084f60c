/**
 * Rules of the spec that no predicate over a world view states: what must come about in time, what speaks of bytes and files,
 * what was decided otherwise.
 *
 * Owns: the lists, so that no rule is forgotten in silence. Does not own: the checks themselves.
 */

/** Liveness: what must come about, once faults have stopped and clocks go on. */
export interface Bound {
  readonly ids: readonly string[];
  readonly sentence: string;
  /** In words, with the time. */
  readonly within: string;
  /** Files of the tests or worlds that hold it to its bound. */
  readonly checks: readonly string[];
}

/** A property of one function, of bytes, or of files: checked where that is. */
export interface Elsewhere {
  readonly ids: readonly string[];
  readonly sentence: string;
  readonly checks: readonly string[];
}

/** What holds instead. */
export interface Superseded {
  readonly ids: readonly string[];
  readonly instead: string;
}

const busWorld = "testing/simulator/bus-world.ts";
const leaseWorld = "testing/simulator/lease-world.ts";

export const bounds: readonly Bound[] = [
  {
    ids: ["protocol/P-10"],
    sentence: "Whoever is in the lease row leads, or is gone from it: a start that failed lets the lease go.",
    within: "10 s in the world of leases, 60 s with whole instances",
    checks: [leaseWorld, busWorld],
  },
  {
    ids: ["protocol/P-54", "protocol/P-57"],
    sentence: "When the leader disappears some instance leads, and every other one joins it or stands again.",
    within: "10 s for the lease, 60 s until everybody has joined",
    checks: [leaseWorld, busWorld, "test/model/worlds/lease.world.ts"],
  },
  {
    ids: ["protocol/P-55"],
    sentence: "A lower slot that is named and does not stand holds a higher one back for one grace time at most.",
    within: "one grace time of the owner chart",
    checks: ["test/unit/machines/owner.machine.test.ts", "test/model/worlds/owner.world.ts"],
  },
  {
    ids: ["protocol/P-56", "protocol/P-59", "protocol/P-60"],
    sentence:
      "A follower of a live, reachable leader is registered again, whatever failed before: no seat stays closed, no old attempt holds up a new one.",
    within: "60 s",
    checks: [busWorld],
  },
  {
    ids: ["protocol/P-58"],
    sentence: "Nothing is delivered to a follower that is silent any more, and one that is dead is ended.",
    within: "5 s of silence; dead ones within 60 s",
    checks: ["test/unit/machines/registration.machine.test.ts", busWorld],
  },
];

export const elsewhere: readonly Elsewhere[] = [
  {
    ids: ["protocol/P-6"],
    sentence:
      "A change of one slot of the v1 owner file leaves the others as they are; our own profiles have a file each.",
    checks: ["test/unit/store/v1-owner.test.ts"],
  },
  {
    ids: ["protocol/P-7"],
    sentence:
      "An owner file that cannot be read, or a guard that cannot be verified, is never changed by taking or letting go.",
    checks: ["test/unit/store/v1-owner.test.ts", "test/unit/store/sqlite-open.test.ts"],
  },
  {
    ids: ["protocol/P-16"],
    sentence: "The leader’s stable path changes only by a rename inside the commit of the holder.",
    checks: ["test/unit/transport/unix-publication.test.ts"],
  },
  {
    ids: ["protocol/P-17", "protocol/P-18"],
    sentence:
      "Stopping or recovering an endpoint touches nobody else’s, and only one that nobody stopped is bound again.",
    checks: ["test/unit/transport/unix-publication.test.ts", "test/unit/transport/memory-network.test.ts"],
  },
  {
    ids: ["protocol/P-20", "protocol/P-21", "protocol/P-22"],
    sentence:
      "The request ledger gives an equal request its first answer, lets no other content under the same id in, and forgets nothing that is under way.",
    checks: ["test/unit/transport/ledger.test.ts"],
  },
  {
    ids: ["protocol/P-35"],
    sentence: "The outcome of a heartbeat that comes after its registration is over does nothing.",
    checks: ["test/unit/machines/membership.machine.test.ts"],
  },
  {
    ids: ["protocol/P-45", "protocol/P-46"],
    sentence:
      "An offer on the wire reaches a recipient only between capable peers under their exact generations, and only the donor’s exact receipt ends it.",
    checks: ["test/unit/wire/leader-handoff.test.ts", "test/unit/store/contract-offers.ts"],
  },
  {
    ids: ["protocol/P-49"],
    sentence: "A follower edits and deletes only messages that are written down as its own seat’s.",
    checks: ["test/unit/machines/calls.rules.test.ts", "test/unit/wire/follower-calls.test.ts"],
  },
];

export const superseded: readonly Superseded[] = [];
