/**
 * Rules of the spec that no predicate over a world view states: what must come about in time, what speaks of bytes and files,
 * what was decided otherwise. The last also for scenarios and open points; docs/coverage.md then counts them as told of.
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
    ids: ["updates/Q-70", "updates/Q-71"],
    sentence:
      "What the user has chosen for is moved in one write and never again, and its thread is deleted only when all of it was taken elsewhere.",
    checks: [
      "test/unit/machines/reroute.machine.test.ts",
      "test/unit/store/contract-reroute.ts",
      "test/unit/wire/choosers.test.ts",
    ],
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

export const superseded: readonly Superseded[] = [
  {
    ids: ["protocol/SR-1", "protocol/SR-2", "protocol/SR-3", "protocol/SR-4", "protocol/SR-5", "protocol/SR-7"],
    instead:
      "There are no sessions within a process, and no notes: an instance is its own session, each registers anew, and what one leaves to the next is its seat’s in the store.",
  },
  {
    ids: ["threads/T-37", "threads/T-38"],
    instead:
      "There are no state files. A binding is keyed by its seat in the store, and has one of three standings: open, closed, suspect.",
  },
  {
    ids: ["threads/S-28"],
    instead:
      "There is no file beside the store: what a creation has made is written into its own record, by the record’s own id.",
  },
  {
    ids: ["threads/S-36", "threads/FP-3"],
    instead: "A thread that another one replaces is never closed in the background: it is left over, for the operator.",
  },
  {
    ids: ["threads/S-37", "threads/OP-14"],
    instead:
      "A typing action proves nothing: a thread is looked at with an edit that changes nothing, past every gate.",
  },
  {
    ids: ["threads/S-44", "threads/S-45", "threads/S-55", "threads/OP-19", "threads/OB-4"],
    instead:
      "A leader’s start deletes nothing and waits for no deletion: the thread of a former leader is its seat’s, with a deadline like any other’s.",
  },
  {
    ids: ["threads/OP-9", "threads/OP-32", "threads/OB-2"],
    instead:
      "There are no reservations: a letter is free when neither a binding nor a creation has it, and a known leftover holds none.",
  },
  {
    ids: ["threads/S-48", "threads/OP-46", "threads/TP-6", "threads/ST-13"],
    instead: "There are no pending threads to claim: a thread is bound to a seat, begun for one, or left over.",
  },
  {
    ids: ["threads/S-50", "threads/OB-3", "threads/ST-12"],
    instead:
      "There are no session hand-overs in memory: a seat’s binding is in the store, does not age, and outlives its instance.",
  },
  {
    ids: ["threads/S-51", "threads/S-52", "threads/EB-6"],
    instead: "There is no command that forces a fresh thread: the operator gives a thread up, or binds another.",
  },
  {
    ids: ["threads/S-69", "threads/CL-1"],
    instead: "Nobody follows without a thread: a registration that gets none is refused, so whoever leaves has one.",
  },
  {
    ids: ["threads/ST-14"],
    instead: "A seat’s key is taken as it comes: no thread is found by what a key seems to say.",
  },
  {
    ids: ["threads/OB-7"],
    instead:
      "There is no mode to keep: whether there are threads is asked at each start, and judged while somebody leads.",
  },
  {
    ids: ["threads/S-77"],
    instead:
      "Whoever leaves goes, whatever the leader answers: its thread is then deleted after its deadline, and that is said.",
  },
  {
    ids: ["threads/S-82"],
    instead:
      "A message in a thread that nobody has deletes nothing: the user is asked whose it shall be, and the thread goes once everything in it was taken elsewhere.",
  },
  {
    ids: ["threads/S-89", "threads/OP-30"],
    instead: "No thread is only closed: one that is replaced is left over, for the operator.",
  },
  {
    ids: [
      "threads/S-86",
      "threads/S-98",
      "threads/S-99",
      "threads/S-100",
      "threads/S-101",
      "threads/S-102",
      "threads/S-103",
      "threads/OP-11",
      "threads/OP-12",
      "threads/OP-33",
      "threads/OP-36",
      "threads/ST-1",
      "threads/ST-2",
      "threads/ST-3",
      "threads/ST-4",
      "threads/ST-5",
      "threads/ST-6",
      "threads/ST-7",
      "threads/ST-15",
      "threads/ST-16",
      "threads/ST-17",
    ],
    instead:
      "There are no state files and no copies in memory to lose: each change is one transaction of the store, which refuses an epoch that is over.",
  },
  {
    ids: ["threads/S-104", "threads/S-105"],
    instead: "A damaged store is refused by a start, and neither moved nor replaced by it, whoever lives.",
  },
  {
    ids: ["threads/OP-5", "threads/OP-10"],
    instead:
      "There is no cursor of letters and there are no hints: a lost thread is remembered with its letter and name.",
  },
  {
    ids: ["threads/OP-22", "threads/SY-1", "threads/SY-2", "threads/SY-3", "threads/LP-10", "threads/FP-16"],
    instead: "There are no slices: nothing is called fresh or suspect but a thread, whose standing is in its binding.",
  },
  { ids: ["threads/T-52"], instead: "26 letters are names, not a limit: after Z come AA, AB and so on." },
  {
    ids: ["updates/Q-4", "updates/Q-5"],
    instead:
      "An id far below the cursor is a restart of ids and is admitted; a batch that is merely unordered is refused whole.",
  },
  {
    ids: ["updates/Q-8"],
    instead: "With no cursor polling asks from the oldest, and what the journal knows is not added again.",
  },
  {
    ids: ["updates/Q-25"],
    instead: "An update whose handler keeps failing is set aside for the operator after twelve attempts.",
  },
  {
    ids: ["updates/Q-61"],
    instead: "Nobody is paired by writing: the user is configured, or approved by the operator with a code.",
  },
  {
    ids: ["updates/Q-85", "updates/Q-88"],
    instead:
      "There are no sessions inside a process: an instance that ends gives back what it has in hand, and its timers end with its charts.",
  },
  {
    ids: ["updates/T-12"],
    instead: "Polling is a state of a leadership: its chart begins it once, and nobody else can start it.",
  },
  {
    ids: ["updates/T-17", "updates/OP-26"],
    instead:
      "There are no segments, snapshots or journal files of earlier forms: the journal is a table, and each of its rows is free, held or offered.",
  },
  {
    ids: ["updates/T-25"],
    instead:
      "A handler that ignores its end is not waited for: its update comes, marked as redelivered, to the seat’s next process.",
  },
  {
    ids: ["updates/T-27"],
    instead:
      "What a handler has in hand is ended under its acquisition, also when the lease is lost meanwhile: only what a leader writes is refused then.",
  },
  {
    ids: ["updates/T-29"],
    instead:
      "Nothing is reported late: each part of a group is claimed like any other update, and given back with them.",
  },
  {
    ids: ["updates/T-32"],
    instead:
      "Nobody intercepts updates before they are routed: a handler ends one by its word, and only under its acquisition.",
  },
  {
    ids: ["updates/T-46", "updates/T-48", "updates/T-49", "updates/T-53"],
    instead:
      "A choice moves words to an agent’s thread, never an agent to another thread, and nothing is probed for it: a leader has its own thread or gets one by itself, and whose a thread is the operator says.",
  },
  {
    ids: ["updates/T-55"],
    instead:
      "A command outside every thread is no other than words there: nobody hears it, and the user is told where to write.",
  },
  {
    ids: ["updates/T-61", "updates/T-62"],
    instead:
      "A reaction changes what waits in the step in which it arrives, once it is claimed, by a rule that cannot fail and is not tried again: none is ever ours and not carried out, so no prompt is held for one.",
  },
  {
    ids: ["updates/T-66", "updates/T-74"],
    instead:
      "There are no sessions and no other bots within a process: an instance belongs to one bot from its start to its end.",
  },
  {
    ids: ["updates/OP-6"],
    instead: "There are no stamps: work moves only within one store, which is one bot’s and one profile’s.",
  },
  {
    ids: ["updates/OP-13"],
    instead:
      "A donor believes no acknowledgement: the store says who has the work, and lets only the named recipient have it.",
  },
  {
    ids: ["updates/OP-23"],
    instead: "No error is read for what its text says: a handler that throws has failed.",
  },
  {
    ids: ["updates/OP-38"],
    instead:
      "As protocol/O-44 and A-9 have it: whoever has a profile’s secret is its user’s own process, and what a request may do is decided by generations and by the store’s claims, not by its sender.",
  },
  {
    ids: ["updates/OP-52"],
    instead: "Receipts do not name a journal: an entry is known by its row in the one that all instances share.",
  },
];
