/** Scenes of the reconciliation planner: records as the store shows them, one seat and one thread a number. */
import { generation, instanceId, seatKey, threadId, type InstanceId, type Liveness } from "../../../machines/ids.ts";
import { planReconciliation, type ReconciliationInput } from "../../../machines/reconciliation.rules.ts";
import type { Cleanup, Observation, ReconciliationView, SeatRecord } from "../../../machines/reconciliation.types.ts";
import type { HeldBinding, LeftoverThread, PendingProvision } from "../../../machines/threads.rules.ts";
import { chat, incarnation } from "../../support/charts/samples.ts";

export const nowMs = 1_000_000;
export const seat = (n: number) => seatKey(`manual:own:${n}`);
export const target = (n: number) => ({ chatId: chat, threadId: threadId(n) });
export const holder = instanceId("7:7");

export const binding = (n: number, differs: Partial<HeldBinding> = {}): HeldBinding => ({
  seat: seat(n),
  thread: { target: target(n), slot: "A", threadName: "Amber" },
  createdAtMs: 0,
  standing: "open",
  reason: "",
  provenAtMs: 0,
  holder: null,
  ...differs,
});
export const cleanup = (n: number, differs: Partial<Cleanup> = {}): Cleanup => ({
  seat: seat(n),
  target: target(n),
  reason: "ended",
  atMs: 0,
  dueAtMs: nowMs,
  phase: "waiting",
  attempts: 0,
  lastReason: null,
  ...differs,
});
export const sits = (n: number, differs: Partial<SeatRecord> = {}): SeatRecord => ({
  seat: seat(n),
  instanceId: holder,
  generation: generation("g1"),
  target: target(n),
  ended: null,
  endedAtMs: null,
  threadGraceMs: 600_000,
  unprovable: null,
  ...differs,
});
export const died = (n: number, endedAtMs = 0) => sits(n, { ended: "died", endedAtMs });
export const begun = (n: number, differs: Partial<PendingProvision> = {}): PendingProvision => ({
  id: `p${n}`,
  seat: seat(n),
  chatId: chat,
  slot: "A",
  threadName: `name ${n}`,
  startedAtMs: nowMs - 60_000,
  status: "ambiguous",
  doubts: 0,
  threadId: null,
  ...differs,
});
export const seen = (n: number, differs: Partial<Observation> = {}): Observation => ({
  target: target(n),
  status: "open",
  name: `name ${n}`,
  isNamedByPerson: false,
  createdByBot: true,
  atMs: nowMs,
  ...differs,
});
export const leftover = (n: number): LeftoverThread => ({
  target: target(n),
  threadName: "Amber",
  seat: seat(n),
  reason: "replaced by thread 9",
  atMs: 0,
});
export const empty: ReconciliationView = {
  bindings: [],
  provisions: [],
  cleanups: [],
  leftovers: [],
  observations: [],
  seats: [],
  claims: [],
  requests: [],
};
export const input: ReconciliationInput = {
  nowMs,
  leadingSinceMs: 0,
  chatId: chat,
  view: empty,
  heldSeats: new Set(),
  looks: new Map(),
  graceFromMs: 0,
  threadGraceMs: 600_000,
  unprovableAfterMs: null,
};
export const plan = (view: Partial<ReconciliationView>, differs: Partial<ReconciliationInput> = {}) =>
  planReconciliation({ ...input, view: { ...empty, ...view }, ...differs });
export const claimed = [{ seat: seat(1), instanceId: holder, incarnation }];
export const looks = (liveness: Liveness): ReadonlyMap<InstanceId, Liveness> => new Map([[holder, liveness]]);
export const deletion = (seenDead: InstanceId | null = null) => ({
  kind: "deleteThread",
  seat: seat(1),
  target: target(1),
  reason: "ended",
  seenDead,
});
export const due = { bindings: [binding(1)], cleanups: [cleanup(1)], seats: [died(1)] };
