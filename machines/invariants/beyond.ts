/**
 * Rules of the spec that no predicate over a world view states: what must come about in time, what speaks of bytes and files.
 *
 * Owns: the lists, so that no rule is forgotten in silence. Does not own: the checks themselves, what was decided otherwise
 * (`superseded.ts`).
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
  {
    ids: ["threads/T-45", "threads/T-46"],
    sentence:
      "A seat whose thread is proven gone has a fresh one in the same registration, and one refused for doubt can ask again until the doubt is over.",
    within: "60 s, unless a creation is in doubt: then 15 min, doubled with each",
    checks: ["test/unit/machines/provisioning.machine.test.ts", "test/unit/simulator/thread-crashes.test.ts", busWorld],
  },
  {
    ids: ["threads/T-47", "threads/T-48"],
    sentence: "Every instruction to delete is tried again by every later leader, and none keeps a leader from serving.",
    within: "17 min after the last crash, in every story",
    checks: ["test/unit/machines/reconciliation.machine.test.ts", "test/unit/simulator/thread-crashes.test.ts"],
  },
  {
    ids: ["threads/T-49"],
    sentence:
      "An instance that is told to stop stops polling and gives up seat and lease, whatever became of its thread.",
    within: "the limits of the instance chart",
    checks: ["test/unit/machines/instance.machine.test.ts", "test/e2e/stop.test.ts"],
  },
  {
    ids: ["threads/T-50", "threads/T-51", "threads/T-53"],
    sentence: "No seat stays locked after a registration that failed, and no failed write holds up the next.",
    within: "60 s",
    checks: [busWorld],
  },
  {
    ids: ["threads/T-54"],
    sentence: "What a leadership that is over still hears changes nothing.",
    within: "at once",
    checks: ["test/unit/machines/activation.machine.test.ts", "test/unit/wire/leader-serving.test.ts"],
  },
  {
    ids: ["threads/T-55"],
    sentence: "A greeting that cannot be sent fails neither a registration nor a leader’s start.",
    within: "60 s",
    checks: [busWorld],
  },
  {
    ids: ["updates/Q-10", "updates/Q-12"],
    sentence: "Polling goes on after every error, and ends at once when it is told to.",
    within: "30 s of back-off with jitter, or the delay that Telegram asks for",
    checks: ["test/unit/machines/polling.machine.test.ts", "test/model/worlds/polling.world.ts"],
  },
  {
    ids: ["updates/Q-26", "updates/Q-27", "updates/Q-35", "updates/Q-44", "updates/Q-74", "updates/Q-89"],
    sentence:
      "Everything written is settled: whatever was refused, returned or waited for a registration is handed out by a living holder of its seat, and nothing holds up another thread.",
    within: "120 s after faults end",
    checks: [busWorld, "test/model/worlds/delivery.world.ts"],
  },
  {
    ids: ["updates/Q-57", "updates/Q-58", "updates/Q-59"],
    sentence:
      "Every offer ends: taken, taken back, or void with the death of either end, and what was accepted is handed out or given back.",
    within: "the limits of the handoff charts",
    checks: [
      "test/unit/machines/handoffDonor.machine.test.ts",
      "test/unit/machines/handoffRecipient.machine.test.ts",
      "test/e2e/handoff-crashes.test.ts",
    ],
  },
];

export const elsewhere: readonly Elsewhere[] = [
  {
    ids: ["threads/T-12"],
    sentence: "A thread that Telegram has told of is on disk before anything else is done with it.",
    checks: ["test/unit/store/contract-threads-kept.ts", "test/unit/simulator/thread-crashes.test.ts"],
  },
  {
    ids: ["threads/T-24"],
    sentence: "A probe without a certain answer neither creates a thread nor lets its seat be registered.",
    checks: ["test/unit/machines/provisioning.machine.test.ts", "test/e2e/threads.test.ts"],
  },
  {
    ids: ["threads/T-33"],
    sentence: "A leader that has its thread already makes no call on it and says nothing in it.",
    checks: ["test/unit/machines/provisioning.machine.test.ts", "test/e2e/threads.test.ts"],
  },
  {
    ids: ["threads/T-34", "threads/T-35"],
    sentence: "A leader’s start deletes no thread of others, and no named one: only an instruction does.",
    checks: ["test/unit/machines/reconciliation.rules.test.ts"],
  },
  {
    ids: ["threads/T-40"],
    sentence: "The token is in no log line, no recorded event and no status.",
    checks: ["test/unit/host/log-and-redact.test.ts", "test/unit/inspector/redact.test.ts"],
  },
  {
    ids: ["threads/T-44", "updates/Q-19"],
    sentence: "Each bot and profile has a folder and a store of its own.",
    checks: ["test/unit/host/home.test.ts", "test/unit/store/sqlite-open.test.ts"],
  },
  {
    ids: ["updates/Q-6", "updates/Q-7", "updates/Q-9"],
    sentence:
      "The poller starts after its seat is written, waits for no handler, and drops an answer that comes when it no longer asks.",
    checks: ["test/unit/machines/activation.machine.test.ts", "test/unit/machines/polling.machine.test.ts"],
  },
  {
    ids: ["updates/Q-17", "updates/Q-18"],
    sentence:
      "Writes of one store are one after the other, whatever process makes them, and both stores agree on each.",
    checks: [
      "test/unit/store/equivalence.test.ts",
      "test/unit/store/sqlite.test.ts",
      "test/unit/store/sqlite-durability.test.ts",
    ],
  },
  {
    ids: ["updates/Q-24"],
    sentence: "What is to be tried again is not tried before its time.",
    checks: ["test/unit/machines/delivery.machine.test.ts", "test/unit/store/contract-work.ts"],
  },
  {
    ids: ["updates/Q-30", "updates/Q-31", "updates/Q-34"],
    sentence:
      "What an instance ends it names by its own acquisitions, and it hands out only after the store has said that they are its own.",
    checks: ["test/unit/store/contract-work.ts", "test/unit/machines/queue.machine.test.ts"],
  },
  {
    ids: ["updates/Q-49", "updates/Q-51", "updates/Q-52", "updates/Q-54"],
    sentence:
      "A donor lets go of an item only when the store says where it is, and what travels on the wire is bounded, checked before any effect, and only between capable peers.",
    checks: [
      "test/unit/machines/handoffDonor.machine.test.ts",
      "test/unit/machines/handoff.rules.test.ts",
      "test/unit/transport/handoff-payload.test.ts",
      "test/unit/wire/leader-handoff.test.ts",
    ],
  },
  {
    ids: ["updates/Q-68", "updates/Q-69"],
    sentence: "Answering a button settles nothing, and a message belongs to a seat, whoever holds it.",
    checks: ["test/unit/store/contract-work.ts", "test/unit/wire/forwarding.test.ts"],
  },
  {
    ids: ["updates/Q-81", "updates/Q-83", "updates/Q-86"],
    sentence:
      "A reaction touches only its own category and its own item, and what leaves the queue without a turn is settled.",
    checks: ["test/unit/machines/queue.rules.test.ts", "test/unit/machines/queue.machine.test.ts"],
  },
  {
    ids: ["updates/Q-90", "updates/Q-91"],
    sentence:
      "A message of an agent goes to one live target other than its sender, and shows the thread that it comes from.",
    checks: ["test/unit/wire/leader-agents.test.ts", "test/unit/machines/turn.rules.test.ts"],
  },
];
