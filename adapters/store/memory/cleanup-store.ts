/**
 * Deleting threads for good, observations and operator requests in memory.
 *
 * Owns: their rules (see the SQLite twin). Does not own: which thread is to be deleted and when.
 */
import { sameTarget } from "../../../machines/ids.ts";
import type { ThreadTarget } from "../../../machines/ids.ts";
import type { Observation, ThreadEvidence } from "../../../machines/reconciliation.types.ts";
import type { CleanupStore } from "../../../services/ports.ts";
import { observationsMax, operatorAnswerKeepMs } from "../limits.ts";
import { byBytes } from "../order.ts";
import { allCleanups, byAge, cancelCleanup, intendCleanup, isThreadGone } from "./cleanups.ts";
import { keyOfThread, type MemoryDatabase, type MemoryHandle } from "./database.ts";
import { isWaitedIn } from "./journal.ts";
import { allRegistrations, endOfThread } from "./registrations.ts";
import { allBindings, allLeftovers, allProvisions } from "./threads.ts";

const allObservations = (db: MemoryDatabase): readonly Observation[] => [...db.observations.values()].sort(byAge);

const boundTo = (db: MemoryDatabase, target: ThreadTarget) =>
  [...db.bindings.values()].find((each) => sameTarget(each.thread.target, target))?.seat;

function unbind(db: MemoryDatabase, target: ThreadTarget): void {
  for (const [key, { thread }] of db.bindings) if (sameTarget(thread.target, target)) db.bindings.delete(key);
  db.leftovers.delete(keyOfThread(target));
}

function prune(db: MemoryDatabase): void {
  for (const { target } of allObservations(db).slice(0, Math.max(0, db.observations.size - observationsMax)))
    db.observations.delete(keyOfThread(target));
}

function note(db: MemoryDatabase, { target, what, name, by, atMs }: ThreadEvidence): void {
  const seen = keyOfThread(target);
  const known = db.observations.get(seen);
  const told = what === "closed" ? "closed" : "open";
  const kept = known?.status === "deleted" || what === "renamed" ? (known?.status ?? told) : told;
  db.observations.set(seen, {
    target,
    status: kept,
    name: name ?? known?.name ?? null,
    isNamedByPerson: (known?.isNamedByPerson ?? false) || (by === "person" && what === "renamed"),
    createdByBot: (known?.createdByBot ?? false) || (by === "bot" && what === "created"),
    atMs,
  });
  if (known === undefined) prune(db);
  if (what !== "renamed" || name === null) return;
  for (const [key, binding] of db.bindings)
    if (sameTarget(binding.thread.target, target))
      db.bindings.set(key, { ...binding, thread: { ...binding.thread, threadName: name } });
  for (const [seat, registration] of db.registrations)
    if (registration.thread !== null && sameTarget(registration.thread.target, target))
      db.registrations.set(seat, { ...registration, thread: { ...registration.thread, threadName: name } });
}

function begin(db: MemoryDatabase, target: ThreadTarget, seenDead: string | null) {
  const key = keyOfThread(target);
  const cleanup = db.cleanups.get(key);
  if (cleanup === undefined) return { kind: "superseded" } as const;
  const bound = boundTo(db, target);
  if (bound !== undefined && bound !== cleanup.seat) {
    cancelCleanup(db, target);
    return { kind: "superseded" } as const;
  }
  // A call may be deleting it already: then what is written there comes too late.
  if (cleanup.reason === "rerouted" && cleanup.phase === "waiting" && isWaitedIn(db, target)) {
    cancelCleanup(db, target);
    return { kind: "superseded" } as const;
  }
  const isRegistered = [...db.registrations.values()].some(
    ({ ended, thread }) => ended === null && thread !== null && sameTarget(thread.target, target),
  );
  const holder = db.seatClaims.get(cleanup.seat)?.instanceId;
  const isHeldUnproven =
    cleanup.reason === "ended" &&
    cleanup.phase === "waiting" &&
    bound !== undefined &&
    holder !== undefined &&
    holder !== seenDead;
  if ((cleanup.reason !== "left" && isRegistered) || isHeldUnproven) return { kind: "held" } as const;
  db.cleanups.set(key, { ...cleanup, phase: "deleting", attempts: cleanup.attempts + 1 });
  return { kind: "begun", attempts: cleanup.attempts + 1 } as const;
}

const noted = { kind: "noted" } as const;

type Told = Pick<CleanupStore, "view" | "observe" | "doubt" | "ask" | "answer" | "answerTo">;

function told(handle: MemoryHandle): Told {
  const { db } = handle;
  return {
    view: () =>
      handle.run(() => ({
        bindings: allBindings(db),
        provisions: allProvisions(db),
        cleanups: allCleanups(db),
        leftovers: allLeftovers(db),
        observations: allObservations(db),
        seats: allRegistrations(db).map(({ thread, incarnation: _incarnation, atMs: _atMs, ...seat }) => ({
          ...seat,
          target: thread?.target ?? null,
        })),
        claims: [...db.seatClaims.values()].sort((a, b) => byBytes(a.seat, b.seat)),
        requests: [...db.requests.values()].sort((a, b) => a.atMs - b.atMs || byBytes(a.id, b.id)),
      })),

    observe: ({ epoch, evidence }) =>
      handle.runAsLeader(epoch, () => {
        note(db, evidence);
        return noted;
      }),

    doubt: ({ epoch, seat, generation, doubt }) =>
      handle.runAsLeader(epoch, () => {
        const present = db.registrations.get(seat);
        if (present?.generation !== generation || present.ended !== null) return noted;
        if (doubt === null) db.doubts.delete(seat);
        else db.doubts.set(seat, doubt);
        return noted;
      }),

    ask: (request) =>
      handle.run(() => {
        for (const [id, { atMs }] of db.answers) if (atMs < request.atMs - operatorAnswerKeepMs) db.answers.delete(id);
        if (!db.answers.has(request.id) && !db.requests.has(request.id)) db.requests.set(request.id, request);
      }),

    answer: ({ epoch, answer }) =>
      handle.runAsLeader(epoch, () => {
        const request = db.requests.get(answer.id);
        if (request === undefined) return noted;
        db.requests.delete(answer.id);
        db.answers.set(answer.id, { answer, atMs: request.atMs });
        return noted;
      }),

    answerTo: (id) => handle.run(() => db.answers.get(id)?.answer ?? null),
  };
}

export function cleanupStore(handle: MemoryHandle): CleanupStore {
  const { db } = handle;
  return {
    ...told(handle),

    intend: ({ epoch, ...cleanup }) =>
      handle.runAsLeader(epoch, () => {
        intendCleanup(db, cleanup);
        return { kind: "intended" } as const;
      }),

    begin: ({ epoch, target, seenDead }) => handle.runAsLeader(epoch, () => begin(db, target, seenDead)),

    postpone: ({ epoch, target, reason, dueAtMs, isCertain }) =>
      handle.runAsLeader(epoch, () => {
        const known = db.cleanups.get(keyOfThread(target));
        if (known !== undefined)
          db.cleanups.set(keyOfThread(target), {
            ...known,
            phase: isCertain ? "waiting" : "deleting",
            dueAtMs,
            lastReason: reason,
          });
        return noted;
      }),

    confirm: ({ epoch, target, atMs }) =>
      handle.runAsLeader(epoch, () => {
        const key = keyOfThread(target);
        if (!db.cleanups.delete(key)) return { kind: "superseded" } as const;
        unbind(db, target);
        endOfThread(handle, target, atMs);
        const known = db.observations.get(key) ?? { name: null, isNamedByPerson: false, createdByBot: false };
        db.observations.set(key, { ...known, target, status: "deleted", atMs });
        prune(db);
        return { kind: "removed" } as const;
      }),

    cancel: ({ epoch, target }) =>
      handle.runAsLeader(epoch, () => {
        cancelCleanup(db, target);
        return isThreadGone(db, target) ? ({ kind: "gone" } as const) : noted;
      }),

    unbind: ({ epoch, target }) =>
      handle.runAsLeader(epoch, () => {
        unbind(db, target);
        cancelCleanup(db, target);
        return noted;
      }),
  };
}
