/**
 * A small world in which every invariant holds, with something in every part of the view: nothing holds for want of a case.
 */
import {
  acquisitionId,
  chatId,
  epoch,
  generation,
  instanceId,
  journalSeq,
  lane,
  seatKey,
  threadId,
  updateId,
} from "../../../../machines/ids.ts";
import type {
  ClaimView,
  EndpointStepView,
  EntryView,
  ExchangeView,
  ForwardView,
  LedgerStepView,
  OwnerFileStepView,
  StoreStepView,
  TablesView,
  WorldView,
} from "../../../../machines/invariants.ts";
import type { Cleanup } from "../../../../machines/reconciliation.types.ts";
import type { Binding, PendingProvision } from "../../../../machines/threads.rules.ts";

export const leader = instanceId("leader");
export const follower = instanceId("follower");
export const stranger = instanceId("stranger");
export const leaderSeat = seatKey("manual:x:leader");
export const seat = seatKey("manual:x:follower");
export const otherSeat = seatKey("manual:x:other");
export const current = generation("current");
export const old = generation("old");
export const now = epoch(2);
const chat = chatId(1);
export const targetOf = (id: number) => ({ chatId: chat, threadId: threadId(id) });

export const bindingOf = (whose: typeof seat, id: number, slot: string): Binding => ({
  seat: whose,
  thread: { target: targetOf(id), slot, threadName: slot },
  createdAtMs: 0,
  standing: "open",
  reason: "",
  provenAtMs: 0,
});
export const provisionOf = (whose: typeof seat, id: string, slot: string): PendingProvision => ({
  id,
  seat: whose,
  chatId: chat,
  slot,
  threadName: slot,
  startedAtMs: 0,
  status: "inFlight",
  doubts: 0,
  threadId: null,
});
export const cleanupOf = (id: number, over: Partial<Cleanup> = {}): Cleanup => ({
  seat: otherSeat,
  target: targetOf(id),
  reason: "ended",
  atMs: 0,
  dueAtMs: 100,
  phase: "waiting",
  attempts: 0,
  lastReason: null,
  ...over,
});
export const claim: ClaimView = { seat, instanceId: follower, generation: current, acquisition: acquisitionId("a1") };
export const entryOf = (seq: number, over: Partial<EntryView> = {}): EntryView => ({
  seq: journalSeq(seq),
  updateId: updateId(seq),
  key: `${seq}:digest`,
  lane: lane("1:20"),
  attempts: 0,
  nextAttemptAtMs: 0,
  claim: null,
  offer: null,
  ...over,
});

export const entriesOf = (...entries: readonly EntryView[]): TablesView["entries"] =>
  new Map(entries.map((each) => [each.seq, each]));

export const tables: TablesView = {
  cursor: updateId(3),
  entries: entriesOf(entryOf(1, { claim }), entryOf(2)),
  deadLetters: new Set(),
  offers: new Map(),
  seatClaims: new Map([
    [leaderSeat, { seat: leaderSeat, instanceId: leader }],
    [seat, { seat, instanceId: follower }],
  ]),
  registrations: new Map([
    [seat, { seat, instanceId: follower, generation: current, target: targetOf(20), ended: null }],
  ]),
  bindings: [bindingOf(leaderSeat, 10, "A"), bindingOf(seat, 20, "B")],
  provisions: [provisionOf(otherSeat, "p1", "C")],
  cleanups: [cleanupOf(30)],
  leftovers: [],
  observations: [],
};

/** A claim of entry 2, as it should be. */
export const step: StoreStepView = {
  op: "work.claim",
  kind: "claimed",
  epoch: null,
  entries: [{ seq: journalSeq(2), acquisition: null }],
  claimant: { ...claim, acquisition: acquisitionId("a2") },
  seat,
  target: null,
  atMs: 50,
  admission: null,
  holderLives: true,
  before: tables,
  after: {
    ...tables,
    entries: entriesOf(entryOf(1, { claim }), entryOf(2, { claim: { ...claim, acquisition: acquisitionId("a2") } })),
  },
};

export const exchange: ExchangeView = {
  at: leader,
  endpoint: "leader",
  kind: "follower.heartbeat",
  executions: 1,
  isAuthentic: true,
  ok: true,
  from: follower,
  presented: current,
  known: current,
  knownAfter: current,
  effects: 0,
};
export const unauthenticated: ExchangeView = { ...exchange, isAuthentic: false, ok: false };

export const forward: ForwardView = {
  to: follower,
  ok: true,
  generation: current,
  ownGeneration: current,
  bindingKey: seat,
  ownSeat: seat,
  recipient: follower,
  deliveryId: "d1",
  expectedDeliveryId: "d1",
  sourceUpdateId: updateId(1),
  isCarrierRight: true,
  isDurable: true,
  receipt: { deliveryId: "d1", sourceUpdateId: updateId(1) },
};

export const repeated: LedgerStepView = {
  content: "one",
  remembered: "one",
  hasRun: false,
  refusal: null,
  answer: "yes",
  answerOfRun: "yes",
  inFlight: 0,
};
export const recovery: EndpointStepView = {
  what: "recover",
  by: "leader",
  before: "first.sock",
  after: "second.sock",
  wasReachable: false,
  commits: [{ owner: "leader", isRename: true, wasStopped: false, from: "first.sock", to: "second.sock" }],
  isBlocked: false,
  othersLost: 0,
  outlivesStop: false,
};
const end = { capabilities: ["queue-handoff-v1"], presented: current, acknowledged: current };
export const relay: WorldView["offerRelays"][number] = {
  reached: follower,
  donorNamed: stranger,
  donor: { id: stranger, ...end },
  recipient: { id: follower, ...end },
};
const slots = new Map([
  ["default", "1"],
  ["work", "2"],
]);
export const ownerFileStep: OwnerFileStepView = {
  slot: "default",
  before: { file: "text", guard: null, slots },
  after: { file: "other text", guard: null, slots: new Map([...slots, ["default", "3"]]) },
  wasReadable: true,
  wasGuardUnverifiable: false,
};

const row = { epoch: now, renewals: 3, holder: leader };
const renewed = { ...row, renewals: 4 };
export const renewal: WorldView["leaseHistory"]["steps"][number] = {
  what: "renew",
  by: leader,
  presented: now,
  seenRenewals: null,
  isDone: true,
  before: row,
  after: renewed,
};
export const grant: WorldView["leaseHistory"]["steps"][number] = {
  what: "acquire",
  by: leader,
  presented: epoch(1),
  seenRenewals: 7,
  isDone: true,
  before: { epoch: epoch(1), renewals: 7, holder: null },
  after: { epoch: now, renewals: 0, holder: leader },
};
export const historyOf = (each: typeof renewal): WorldView["leaseHistory"] => ({
  since: each.before,
  steps: [each],
  now: each.after,
});

export const sound: WorldView = {
  lease: { epoch: now, holder: leader },
  leaseHistory: historyOf(renewal),
  instances: [
    { id: leader, alive: true, holds: now },
    { id: follower, alive: true, holds: null },
  ],
  roles: [
    { id: leader, holds: now, leadsUnder: now },
    { id: follower, holds: null, leadsUnder: null },
  ],
  leaderSides: [
    {
      id: leader,
      leadsUnder: now,
      polls: 1,
      endpoints: [{ wasEarly: false, isOpen: true, closes: 0 }],
      seatCharts: 1,
      entries: [{ seat, instanceId: follower, generation: current, threadId: threadId(20), lastAcknowledged: current }],
    },
    { id: follower, leadsUnder: null, polls: 0, endpoints: [], seatCharts: 0, entries: [] },
  ],
  followerSides: [
    {
      id: follower,
      registered: { seat, generation: current, isAcknowledged: true },
      heartbeatsInFlight: 1,
      registrationsInFlight: 0,
    },
  ],
  seats: [{ seat, instanceId: follower, generation: current, staleEffects: 0 }],
  seatCharts: [
    { seat, epoch: now, isLive: true, sitter: current, told: current, wasCommitted: true, inStore: current },
  ],
  seatGhosts: [
    {
      seat,
      secondCreations: 0,
      interleavings: 0,
      heldDeletions: 0,
      unprovenDeletions: 0,
      revenants: 0,
      falseDeaths: 0,
    },
  ],
  fetched: [{ updateId: updateId(1), confirmed: true, inJournal: true, settled: 0 }],
  cursors: [updateId(3)],
  updates: [{ updateId: updateId(1), settled: 1, handedOut: 1, overtook: false }],
  moving: [{ runnableAt: [leader], heldBy: leader, runs: 1 }],
  rerouting: [{ movesMax: 1, untakenDeletions: 0 }],
  strangers: [{ updateId: updateId(9), wasGiven: false }],
  owner: {
    recordOf: leader,
    overthrown: [],
    keepers: [leader],
    actors: [leader],
    takes: [{ by: leader, over: "vacant" }],
  },
  grants: [
    { epoch: epoch(1), to: stranger, evidence: "vacant", over: "vacant" },
    { epoch: now, to: leader, evidence: "expired", over: "expired" },
  ],
  writes: [
    { by: leader, presented: now, current: now, accepted: true },
    { by: stranger, presented: epoch(1), current: now, accepted: false },
  ],
  ownConflicts: 0,
  exchanges: [exchange, unauthenticated],
  registers: [
    {
      at: leader,
      ok: true,
      generation: current,
      isCompatible: true,
      attempts: 1,
      epoch: now,
      committedUnder: now,
      isHeld: true,
    },
  ],
  farewells: [{ ok: true, isCleaned: true }],
  forwards: [forward],
  sends: [{ by: leader, to: follower, generation: current, wasLive: true }],
  answers: [{ threadId: threadId(20), seenIn: [threadId(20)], outcome: "ok" }],
  apiCalls: [
    {
      by: leader,
      method: "sendMessage",
      fields: ["chat_id", "text"],
      threadId: threadId(20),
      creation: null,
      deletion: null,
    },
    {
      by: leader,
      method: "deleteForumTopic",
      fields: ["chat_id", "message_thread_id"],
      threadId: threadId(30),
      creation: null,
      deletion: {
        instruction: { reason: "ended", phase: "deleting", seat: otherSeat },
        isHeldByLiving: false,
        wasHolderGone: true,
        isOfPendingCreation: false,
      },
    },
  ],
  telegram: { threads: [10, 20, 30].map((id) => ({ id: threadId(id), isGone: false })) },
  tables,
  storeSteps: [step],
  queueEntries: [{ seq: journalSeq(1), ends: 0, isWaiting: true, isCurrent: false }],
  queues: [{ id: follower, items: [], current: null, turns: 0 }],
  ledger: [repeated, { ...repeated, content: "another", refusal: "collision", answer: "no" }],
  endpointSteps: [recovery],
  ownerFileSteps: [ownerFileStep],
  offerRelays: [relay],
  offersEnded: [
    { recipient: seat, isTransferred: true, takenBy: [seat] },
    { recipient: seat, isTransferred: false, takenBy: [] },
  ],
  messageChanges: [{ by: seat, sender: seat }],
  heartbeatEnds: [
    { by: follower, generation: current, current, before: "a", after: "b" },
    { by: follower, generation: old, current, before: "a", after: "a" },
  ],
};
