/**
 * Every safety property as a named pure predicate over one view of the world.
 *
 * Owns: what must never be false. Does not own: how a view comes about (simulator, explorer, property tests and the
 * inspector each build it from their own world), nor liveness, which is a bound in simulation.
 *
 * A view is a moment. What can only be judged over time is in its *ghost* part: facts that no process stores, kept by
 * whoever watches, because the property speaks of them (what was ever granted, delivered, confirmed).
 */
import type { Epoch, Generation, InstanceId, SeatKey, UpdateId } from "./ids.ts";
import type { TakeoverEvidence } from "./lease.rules.ts";

/** One grant of the lease, with what was true in the world, not in anybody's belief, when it was given. */
export interface GrantView {
  readonly epoch: Epoch;
  readonly to: InstanceId;
  readonly evidence: TakeoverEvidence;
  /** State of the lease row just before. */
  readonly over: "vacant" | "own" | "expired" | "deadHolder" | "liveHolder";
}

export interface InstanceView {
  readonly id: InstanceId;
  readonly alive: boolean;
  /** The grant its lease chart believes to hold; null outside `holding`. */
  readonly holds: Epoch | null;
  /** The grant under which its leader side runs (endpoint, poller, deliveries); null when none runs. */
  readonly leadsUnder: Epoch | null;
  readonly polls: boolean;
  /** The registration it believes in as a follower. */
  readonly registered: { readonly seat: SeatKey; readonly generation: Generation } | null;
}

/** A write under an epoch: what the writer presented, what was current, whether the store took it. */
export interface LeaderWriteView {
  readonly by: InstanceId;
  readonly presented: Epoch;
  readonly current: Epoch;
  readonly accepted: boolean;
}

export interface SeatView {
  readonly seat: SeatKey;
  readonly instanceId: InstanceId;
  readonly generation: Generation;
  /** Requests of this seat that took effect although their generation was not the current one. */
  readonly staleEffects: number;
}

export interface UpdateView {
  readonly updateId: UpdateId;
  /** Telegram will not give it again: a poll has asked beyond it. */
  readonly confirmed: boolean;
  readonly inJournal: boolean;
  readonly settled: number;
  /** Handlers that were given it, not counting redelivery after the proven death of an unsettled holder. */
  readonly handedOut: number;
  /** Position of its predecessor in the same thread was handed out later than it. */
  readonly overtook: boolean;
}

/** A take of the v1 owner record by an instance of ours, with what was true of its owner at that moment. */
export interface OwnerTakeView {
  readonly by: InstanceId;
  readonly over: "vacant" | "goneOwner" | "staleOwner" | "liveOwner";
}

/** The v1 owner record, and who acts on it. */
export interface OwnerView {
  /** Whose record stands in the file, whether or not it can be read just now. */
  readonly recordOf: InstanceId | null;
  /** Instances whose live record a v1 peer took by force, and which have not noticed: they do at their next look. */
  readonly overthrown: readonly InstanceId[];
  /** Instances whose owner chart keeps a record. */
  readonly keepers: readonly InstanceId[];
  /** Instances that may act as leader at this moment: told to, and within the time of record and lease. */
  readonly actors: readonly InstanceId[];
  readonly takes: readonly OwnerTakeView[];
}

export interface WorldView {
  readonly lease: { readonly epoch: Epoch; readonly holder: InstanceId | null };
  readonly instances: readonly InstanceView[];
  readonly seats: readonly SeatView[];
  readonly updates: readonly UpdateView[];
  /** Null in a world without v1 peers. */
  readonly owner: OwnerView | null;
  readonly ghost: {
    readonly grants: readonly GrantView[];
    readonly writes: readonly LeaderWriteView[];
    /** Polls answered 409 because two instances of ours polled. */
    readonly ownConflicts: number;
  };
}

export interface Invariant {
  /** `chart/name`, cited in the header of the chart it binds. */
  readonly name: string;
  /** Ids of the spec that it states. */
  readonly ids: readonly string[];
  readonly sentence: string;
  readonly holds: (view: WorldView) => boolean;
}

const increasing = (numbers: readonly number[]): boolean =>
  numbers.every((value, index) => index === 0 || value > (numbers[index - 1] ?? Infinity));

export const invariants: readonly Invariant[] = [
  {
    name: "lease/oneHolderPerEpoch",
    ids: ["protocol/P-1"],
    sentence: "No two instances hold a grant of the same epoch, and only the holder in the row holds the current one.",
    holds: ({ instances, lease }) => {
      const held = instances.flatMap((each) => (each.alive && each.holds !== null ? [each] : []));
      return (
        new Set(held.map((each) => each.holds)).size === held.length &&
        held.every((each) => each.holds !== lease.epoch || each.id === lease.holder)
      );
    },
  },
  {
    name: "lease/epochIncreases",
    ids: ["protocol/P-2"],
    sentence: "Each grant has an epoch above every earlier one.",
    holds: ({ ghost }) => increasing(ghost.grants.map((grant) => grant.epoch)),
  },
  {
    name: "lease/takenOnlyWithEvidence",
    ids: ["protocol/P-3", "protocol/P-8"],
    sentence: "A lease is taken only when vacant, past its end, our own, or when its holder is dead.",
    holds: ({ ghost }) => ghost.grants.every((grant) => grant.over !== "liveHolder"),
  },
  {
    name: "lease/heldImpliesGranted",
    ids: ["protocol/P-4"],
    sentence: "An instance believes only in a grant that it was given.",
    holds: ({ instances, ghost }) =>
      instances.every(
        (each) =>
          each.holds === null || ghost.grants.some((grant) => grant.epoch === each.holds && grant.to === each.id),
      ),
  },
  {
    name: "lease/noWriteUnderOldEpoch",
    ids: ["protocol/P-5", "threads/T-23"],
    sentence: "The store takes a leader’s write only under the current epoch.",
    holds: ({ ghost }) => ghost.writes.every((write) => !write.accepted || write.presented === write.current),
  },
  {
    name: "owner/leadsOnlyWithBoth",
    ids: ["protocol/P-1", "protocol/P-4"],
    sentence:
      "With v1 peers an instance acts as leader only with the lease and the owner record; only a take by force can leave it the lease alone, until its next look.",
    holds: ({ owner, instances }) =>
      owner === null ||
      (instances.every(
        (each) => each.leadsUnder === null || (each.leadsUnder === each.holds && owner.keepers.includes(each.id)),
      ) &&
        owner.actors.every((each) => each === owner.recordOf || owner.overthrown.includes(each))),
  },
  {
    name: "owner/oneOwner",
    ids: ["protocol/P-1", "protocol/P-3"],
    sentence: "No instance takes the record of a live owner, and no two act as leader at once.",
    holds: ({ owner }) =>
      owner === null || (owner.takes.every((take) => take.over !== "liveOwner") && owner.actors.length <= 1),
  },
  {
    name: "instance/leadsOnlyWhatItHolds",
    ids: ["protocol/P-12"],
    sentence: "The leader side of an instance runs only under the grant its lease chart holds.",
    holds: ({ instances }) => instances.every((each) => each.leadsUnder === null || each.leadsUnder === each.holds),
  },
  {
    name: "instance/pollsOnlyAsLeader",
    ids: ["protocol/P-12", "updates/Q-1"],
    sentence: "Only an instance that leads polls.",
    holds: ({ instances }) => instances.every((each) => !each.polls || each.leadsUnder !== null),
  },
  {
    name: "polling/neverTwo",
    ids: ["protocol/P-13", "updates/Q-1"],
    sentence: "Two instances of ours never meet at Telegram.",
    holds: ({ ghost }) => ghost.ownConflicts === 0,
  },
  {
    name: "polling/confirmedIsDurable",
    ids: ["updates/Q-2", "updates/Q-13"],
    sentence: "An update that Telegram will not give again is in the journal or settled.",
    holds: ({ updates }) => updates.every((each) => !each.confirmed || each.inJournal || each.settled > 0),
  },
  {
    name: "registration/oneSeatOneHolder",
    ids: ["protocol/P-25"],
    sentence: "A seat has one current registration, and an instance sits on one seat.",
    holds: ({ seats }) =>
      new Set(seats.map((each) => each.seat)).size === seats.length &&
      new Set(seats.map((each) => each.instanceId)).size === seats.length,
  },
  {
    name: "registration/staleGenerationNeverActs",
    ids: ["protocol/P-29", "updates/Q-66"],
    sentence: "A request whose generation is not the current one has no effect, not even on liveness.",
    holds: ({ seats }) => seats.every((each) => each.staleEffects === 0),
  },
  {
    name: "delivery/settledOnce",
    ids: ["updates/Q-37", "updates/Q-62"],
    sentence: "An update is settled at most once.",
    holds: ({ updates }) => updates.every((each) => each.settled <= 1),
  },
  {
    name: "delivery/handedOutOnce",
    ids: ["protocol/P-41", "updates/Q-36"],
    sentence: "An update is handed to a handler once, unless its earlier holder died before settling it.",
    holds: ({ updates }) => updates.every((each) => each.handedOut <= 1),
  },
  {
    name: "delivery/threadOrder",
    ids: ["updates/Q-26", "updates/Q-84"],
    sentence: "Within a thread nothing overtakes.",
    holds: ({ updates }) => updates.every((each) => !each.overtook),
  },
];

/** Names of the properties that are false in this view. */
export const brokenIn = (view: WorldView): readonly string[] =>
  invariants.filter((each) => !each.holds(view)).map((each) => each.name);
