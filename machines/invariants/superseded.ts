/**
 * What was decided otherwise than a rule of the spec says: invariants, scenarios and open points.
 *
 * Owns: what holds instead, in one sentence each; docs/coverage.md then counts the rule as told of. Does not own: rules that
 * hold beyond any world view (`beyond.ts`).
 */

/** What holds instead. */
export interface Superseded {
  readonly ids: readonly string[];
  readonly instead: string;
}

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
    ids: ["threads/CP-6"],
    instead: "Threads turn off by two looks that agree, whatever is bound, and whatever stands of it.",
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
    ids: ["updates/T-46", "updates/T-48", "updates/T-49"],
    instead:
      "No agent takes a thread by itself, nor is anything probed for it: a leader has its own thread or gets one by itself, and whose a thread is the user says, or the operator.",
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
