/**
 * Seeded faults: small edits to the sources, each of which must be caught.
 *
 * Owns: what is changed in the charts of lease, poller, seat, delivery, thread and handoff and in the store in memory, and
 * where a catch is looked for first. Does not own: faults of an instance's own sides (`sides.ts`), of the store on disk
 * (`disk.ts`), of rules and services (`rules.ts`), applying and trying them (`faults.ts`).
 *
 * `find` stands exactly once in the file; an entry that has gone stale fails the run. A fault that survives is a hole in
 * the checks, or in the worlds, not in the catalogue.
 */
import { diskFaults } from "./disk.ts";
import { explored, leases, unit, walked } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { rerouteFaults } from "./reroute.ts";
import { ruleFaults } from "./rules.ts";
import { sideFaults } from "./sides.ts";

const lease = "machines/lease.machine.ts";
const memoryLease = "adapters/store/memory/lease.ts";
const memoryJournal = "adapters/store/memory/journal.ts";
const memoryRegistrations = "adapters/store/memory/registrations.ts";
const memoryWork = "adapters/store/memory/work.ts";
const polling = "machines/polling.machine.ts";
const updates = "machines/updates.rules.ts";
const registration = "machines/registration.machine.ts";
const delivery = "machines/delivery.machine.ts";
const provisioning = "machines/provisioning.machine.ts";

const leaseFaults: readonly Fault[] = [
  {
    name: "the store takes a lease without comparing what was expected",
    file: memoryLease,
    find: "if (!unchanged || !bearsOut(",
    replace: "if (!bearsOut(",
    tries: [unit("store/memory", "race for one record|renewed since")],
  },
  {
    name: "the store believes whatever evidence is brought",
    file: memoryLease,
    find: "if (!unchanged || !bearsOut(record, evidence, me.instanceId))",
    replace: "if (!unchanged || bearsOut === null || evidence === null || me === null)",
    tries: [unit("store/memory", "evidence")],
  },
  {
    name: "a grant keeps the epoch of the one before",
    file: memoryLease,
    find: "epoch: epochOf(record.epoch + 1), renewals: 0",
    replace: "epoch: epochOf(Math.max(1, record.epoch)), renewals: 0",
    tries: [leases(1)],
  },
  {
    name: "a renewal does not look at the epoch",
    file: memoryLease,
    find: 'if (!db.isCurrent(epoch)) return { kind: "fenced", record } as const;\n        if (record',
    replace: "if (epoch === 0 || record",
    tries: [unit("store/memory", "renewal extends")],
  },
  {
    name: "a release does not look at the epoch",
    file: memoryLease,
    find: "if (db.lease.epoch !== epoch || epoch === 0)",
    replace: "if (epoch === 0)",
    tries: [unit("store/memory", "release|old epoch")],
  },
  {
    name: "a renewal of a lapsed lease revives it",
    file: memoryLease,
    find: "if (record.remainingMs <= 0)",
    replace: "if (record.remainingMs <= -60_000)",
    tries: [unit("store/memory", "renewal extends")],
  },
  {
    name: "an expired lease is taken without a second look",
    file: lease,
    find: '{ guard: "isExpired", target: "confirming" }',
    replace: '{ guard: "isExpired", target: "acquiring", actions: assign({ evidence: "expired" }) }',
    tries: [unit("machines/lease.machine")],
  },
  {
    name: "the second look does not ask whether the record is unchanged",
    file: lease,
    find: '=== "expired" && isUnchanged(event.output, known(context)),',
    replace: '=== "expired" && isUnchanged(event.output, event.output),',
    tries: [unit("machines/lease.machine")],
  },
  {
    name: "a holder that is seen alive counts as gone",
    file: lease,
    find: 'guard: ({ event }) => event.output === "dead",\n                target: "#lease.acquiring"',
    replace: 'guard: ({ event }) => event.output !== "unverifiable",\n                target: "#lease.acquiring"',
    tries: [...explored("lease/losses", "lease/restart")],
  },
  {
    name: "a look that failed counts as proof of death",
    file: lease,
    find: 'onError: "#lease.observing",',
    replace: 'onError: { target: "#lease.acquiring", actions: assign({ evidence: "holderGone" }) },',
    tries: [...explored("lease/losses")],
  },
  {
    name: "a fenced renewal is taken for a renewal",
    file: lease,
    find: 'guard: ({ event }) => event.output.kind === "renewed",',
    replace: 'guard: ({ event }) => event.output.kind !== "lapsed",',
    tries: [unit("machines/lease.machine")],
  },
  {
    name: "a refused attempt is taken for a grant",
    file: lease,
    find: 'guard: ({ event }) => event.output.kind === "granted",\n            target: "holding"',
    replace: 'guard: ({ event }) => event.output.kind !== "nothing",\n            target: "holding"',
    tries: [...explored("lease/losses"), walked("lease/wide2")],
  },
  {
    name: "the watchdog of the lease does not run",
    file: lease,
    find: 'after: { leaseRemaining: "lost" },\n',
    replace: "",
    tries: [unit("machines/lease.machine")],
  },
  {
    name: "a hint begins the wait for an ended lease anew",
    file: lease,
    find: "      // Hints are ignored here: each would begin the wait anew, and hints can come for ever.",
    replace: '      on: { "lease.check": { target: "confirming", reenter: true } },',
    tries: explored("lease/liveness"),
  },
  {
    name: "a store that does not answer once is never asked again",
    file: lease,
    find: 'waiting: { after: { retryInterval: "looking" }, on: { "lease.check": "looking" } },',
    replace: "waiting: {},",
    tries: [unit("machines/lease.machine")],
  },
  {
    name: "a grant that comes while withdrawing is not given back",
    file: lease,
    find: 'stateIn("#lease.acquiring.withdrawing")]),\n            target: "releasing"',
    replace: 'stateIn("#lease.acquiring.withdrawing")]),\n            target: "released"',
    tries: [unit("machines/lease.machine")],
  },
];

const pollingFaults: readonly Fault[] = [
  {
    name: "the cursor moves when a batch arrives, before it is in the journal",
    file: polling,
    find: "rejections: 0,\n            }),",
    replace:
      'rejections: 0,\n              cursor: ({ context, event: { output } }) => { const v = judgeBatch(context, output.kind === "batch" ? output.updates.map((each) => each.id) : []); return v.kind === "admit" ? v.cursor : context.cursor; },\n            }),',
    tries: [...explored("polling/answers"), walked("polling/wide")],
  },
  {
    name: "a batch that could not be written is taken for written",
    file: polling,
    find: '        onError: {\n          target: "backingOff",\n          actions: [\n            assign({ batch: [] }),',
    replace:
      '        onError: {\n          target: "fetching",\n          actions: [\n            assign({ cursor: ({ context: { verdict, cursor } }) => (verdict.kind === "admit" ? verdict.cursor : cursor), batch: [] }),',
    tries: [...explored("polling/answers")],
  },
  {
    name: "a full journal is taken for written",
    file: polling,
    find: 'guard: ({ event }) => event.output.kind === "admitted",',
    replace: 'guard: ({ event }) => event.output.kind !== "fenced",',
    tries: explored("polling/answers"),
  },
  {
    name: "a fenced poller polls on",
    file: polling,
    find: '{ target: "stopped", actions: emit({ type: "polling.fenced" }) },',
    replace: '{ target: "fetching", actions: emit({ type: "polling.fenced" }) },',
    tries: [unit("machines/polling.machine")],
  },
  {
    name: "a poller that backs off never polls again",
    file: polling,
    find: 'entry: assign({ failures: ({ context }) => context.failures + 1 }),\n      after: { backOff: "fetching" },',
    replace: "entry: assign({ failures: ({ context }) => context.failures + 1 }),",
    tries: [...explored("polling/liveness")],
  },
  {
    name: "the store moves the cursor and loses the rows",
    file: memoryJournal,
    find: "for (const [key, update] of fresh) add(db, key, update, nowMs);",
    replace: "if (nowMs < 0) for (const [key, update] of fresh) add(db, key, update, nowMs);",
    tries: [unit("store/memory", "T-2 ")],
  },
  {
    name: "the journal admits what it has already",
    file: memoryJournal,
    find: "if (!fresh.has(key) && !isKnown(db, key, nowMs)) fresh.set(key, update);",
    replace: "if (!isKnown(db, `${key}?`, nowMs)) fresh.set(`${key}#${fresh.size}:${db.lastSeq}`, update);",
    tries: [unit("store/memory", "T-16")],
  },
];

const registrationFaults: readonly Fault[] = [
  {
    name: "a heartbeat counts whatever its generation",
    file: "machines/registration.setup.ts",
    find: 'isCurrent: ({ context, event }) => "generation" in event && context.sitter?.generation === event.generation,',
    replace: 'isCurrent: ({ context, event }) => "generation" in event && context.sitter !== null,',
    tries: explored("registration/farewells", "registration/attempts"),
  },
  {
    name: "a registration interleaves with the one under way",
    file: registration,
    find: '"follower.register": [{ guard: "hasPlace", actions: "defer" }, { actions: "answerBusy" }],',
    replace: '"follower.register": { target: "#registration.provisioning", actions: "beginRegistration" },',
    tries: explored("registration/farewells", "registration/attempts"),
  },
  {
    name: "a registration is live before the store has it",
    file: registration,
    find: 'onError: "refencing",',
    replace: 'onError: { target: "live", actions: assign({ sitter: ({ context }) => newSitter(context) }) },',
    tries: [...explored("registration/attempts", "registration/leaders"), walked("registration/wide")],
  },
  {
    name: "a registration that may have been written leaves the earlier one routable when it is refused",
    file: registration,
    find: 'guard: ({ context, event }) => isRefused({ event }) && context.sitter !== null,\n                target: "#registration.suspect",',
    replace:
      'guard: ({ context, event }) => isRefused({ event }) && context.sitter !== null,\n                target: "#registration.live",',
    tries: [unit("machines/registration.machine", "meanwhile is not known")],
  },
  {
    name: "silence counts as death",
    file: registration,
    find: '              target: "#registration.suspect",\n              actions: "reportSilent",',
    replace: '              target: "#registration.ending",\n              actions: "reportSilent",',
    tries: explored("registration/death", "registration/attempts"),
  },
  {
    name: "a look that proved nothing counts as death",
    file: registration,
    find: '{ target: "#registration.suspect" },\n            ],\n            // A look that failed',
    replace: '{ target: "#registration.ending" },\n            ],\n            // A look that failed',
    tries: explored("registration/death"),
  },
  {
    name: "the store commits a registration although another process holds the seat",
    file: memoryRegistrations,
    find: "if (holder !== undefined && holder.instanceId !== instanceId)",
    replace: "if (holder !== undefined && holder.instanceId !== instanceId && instanceId === seat)",
    tries: [unit("store/memory", "does not hold the seat any more")],
  },
];

const deliveryFaults: readonly Fault[] = [
  {
    name: "nobody asks who wrote an update",
    file: delivery,
    find: "guard: ({ context }) => causeOf(context) !== null,",
    replace: 'guard: ({ context }) => causeOf(context) === "never",',
    tries: [...explored("delivery/ends"), walked("delivery/wide")],
  },
  {
    name: "a forward with an unknown outcome counts as refused",
    file: delivery,
    find: '{ guard: ({ event }) => event.output.kind === "unknown", target: "asking", actions: "countRefusal" },',
    replace: '{ guard: ({ event }) => event.output.kind === "unknown", target: "pausing", actions: "countRefusal" },',
    tries: [unit("machines/delivery.machine")],
  },
  {
    name: "a forward with an unknown outcome counts as accepted",
    file: delivery,
    find: '{ guard: ({ event }) => event.output.kind === "accepted", target: "#delivery.accepted" },',
    replace: '{ guard: ({ event }) => event.output.kind !== "refused", target: "#delivery.accepted" },',
    tries: [unit("machines/delivery.machine")],
  },
  {
    name: "a handler failure is never tried again",
    file: delivery,
    find: 'retryWait: { after: { untilNextAttempt: "routing" } },',
    replace: "retryWait: {},",
    tries: explored("delivery/attempts", "delivery/order"),
  },
  {
    name: "an update that waits for a seat does not hear of it",
    file: delivery,
    find: 'seat: seatRoute(context).seat })),\n          on: { "seats.changed": "#delivery.returned" },\n',
    replace: "seat: seatRoute(context).seat })),\n",
    tries: [...explored("delivery/liveness")],
  },
  {
    name: "a claim does not ask who holds the entry",
    file: memoryWork,
    find: 'if (open.claim !== null) return { kind: "heldElsewhere" };',
    replace: "",
    tries: [unit("store/memory", "T-34")],
  },
  {
    name: "a claim does not ask for the head of its lane",
    file: memoryWork,
    find: 'return db.isOvertaking(open) ? { kind: "outOfOrder" } : { kind: "claimed", entry: open.entry };',
    replace: 'return { kind: "claimed", entry: open.entry };',
    tries: [unit("store/memory", "nothing of a lane is claimed before")],
  },
  {
    name: "settling does not ask whose acquisition it is",
    file: "adapters/store/memory/database.ts",
    find: "return open?.claim?.acquisition === acquisition && open.offer === null ? open : null;",
    replace: "return acquisition === null ? null : (open ?? null);",
    tries: [unit("store/memory", "only the exact acquisition")],
  },
  {
    name: "what a dead holder had is not given back",
    file: memoryRegistrations,
    find: "db.replaceEntry({ ...open, claim: null, offer: null, entry: { ...open.entry, redelivered: true } });",
    replace: "db.replaceEntry({ ...open });",
    tries: [unit("store/memory", "OP-50")],
  },
  {
    name: "the next poll asks one beyond what is in the journal",
    file: updates,
    find: "cursor: updateId(confirmed + 1)",
    replace: "cursor: updateId(confirmed + 2)",
    tries: [...explored("polling/answers", "polling/leaders")],
  },
];

const threadFaults: readonly Fault[] = [
  {
    name: "a thread is made without an intent",
    file: provisioning,
    find: '{ guard: ({ context }) => context.decision.kind === "create", target: "intending" },',
    replace: '{ guard: ({ context }) => context.decision.kind === "create", target: "creating" },',
    tries: explored("registration/threads", "registration/leaders"),
  },
  {
    name: "an unknown outcome of a creation counts as a failure",
    file: provisioning,
    find: 'guard: ({ event }) => event.output.kind === "ambiguous",\n            target: "markingAmbiguous"',
    replace: 'guard: ({ event }) => event.output.kind === "ambiguous",\n            target: "abandoning"',
    tries: explored("registration/threads"),
  },
  {
    name: "a binding that was perhaps written is given up",
    file: provisioning,
    find: 'onError: "rebinding",',
    replace: 'onError: "abandoning",',
    tries: [unit("machines/provisioning.machine")],
  },
];

const handoffFaults: readonly Fault[] = [
  {
    name: "an offer whose making was not observed counts as not made",
    file: "machines/handoffDonor.machine.ts",
    find: 'onError: "cancelling",',
    replace: 'onError: "returned",',
    tries: explored("handoff/losses"),
  },
  {
    name: "a donor takes its work back without asking whose it is",
    file: "machines/handoffDonor.machine.ts",
    find: 'onDone: "frozen", onError: "pausing"',
    replace: 'onDone: "returned", onError: "pausing"',
    tries: explored("handoff/losses"),
  },
  {
    name: "a recipient gives up an acceptance whose answer it has not seen",
    file: "machines/handoffRecipient.machine.ts",
    find: 'onError: "unsure",',
    replace: 'onError: "#unstaged",',
    tries: explored("handoff/losses"),
  },
];

export const faults: readonly Fault[] = [
  ...leaseFaults,
  ...pollingFaults,
  ...registrationFaults,
  ...deliveryFaults,
  ...threadFaults,
  ...handoffFaults,
  ...sideFaults,
  ...diskFaults,
  ...rerouteFaults,
  ...ruleFaults,
];
