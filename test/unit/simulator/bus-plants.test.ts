/**
 * Faults planted under world 2: what whole instances do wrong is seen, and by the right name.
 */
import { describe, expect, test, vi } from "vitest";
import { MemoryDatabase } from "../../../adapters/store/memory/index.ts";
import {
  acquisitionId,
  epoch,
  generation,
  instanceId,
  journalSeq,
  seatKey,
  threadId,
  updateId,
  type Epoch,
  type ThreadId,
} from "../../../machines/ids.ts";
import { judgeOf, type LeaderWriteView } from "../../../machines/invariants.ts";
import type { Ack, RequestEnvelope } from "../../../machines/wire/envelopes.ts";
import type { Store } from "../../../services/ports.ts";
import { createCallLedger } from "../../../testing/simulator/bus-calls.ts";
import { createUpdateLedger } from "../../../testing/simulator/bus-updates.ts";
import type { BusPlant } from "../../../testing/simulator/bus-line.ts";
import { simulateBus } from "../../../testing/simulator/bus-world.ts";
import { calm, type Swarm } from "../../../testing/simulator/faults.ts";
import { watchLeaderWrites } from "../../../testing/simulator/leader-writes.ts";
import { createRegistrationGhost } from "../../../testing/simulator/registration-ghost.ts";

// Simulated minutes cost real seconds where the machine is busy.
vi.setConfig({ testTimeout: 240_000 });

const seat = seatKey("manual:simulated:a");
const me = instanceId("1:1");

const brokenInWrites = judgeOf(["writes"]);
const brokenInSeats = judgeOf(["seats"]);
const brokenInAnswers = judgeOf(["answers"]);

describe("a leader's writes", () => {
  const common = { seq: journalSeq(1), reason: "", nowMs: 0, seat, atMs: 0 };
  // What else a request holds does not matter to who watches.
  const requestOf = (old: Epoch) => ({ ...common, epoch: old }) as never;
  const writes: Readonly<Record<string, (store: Store, old: Epoch) => Promise<unknown>>> = {
    "journal.admit": (store, old) => store.journal.admit(requestOf(old)),
    "journal.drop": (store, old) => store.journal.drop(requestOf(old)),
    "journal.deadLetter": (store, old) => store.journal.deadLetter(requestOf(old)),
    "registrations.commit": (store, old) => store.registrations.commit(requestOf(old)),
    "registrations.end": (store, old) => store.registrations.end(requestOf(old)),
    "threads.intend": (store, old) => store.threads.intend(requestOf(old)),
    "threads.bind": (store, old) => store.threads.bind(requestOf(old)),
    "threads.giveUp": (store, old) => store.threads.giveUp(requestOf(old)),
    "cleanups.intend": (store, old) => store.cleanups.intend(requestOf(old)),
    "cleanups.begin": (store, old) => store.cleanups.begin(requestOf(old)),
    "cleanups.postpone": (store, old) => store.cleanups.postpone(requestOf(old)),
    "cleanups.confirm": (store, old) => store.cleanups.confirm(requestOf(old)),
    "cleanups.cancel": (store, old) => store.cleanups.cancel(requestOf(old)),
    "cleanups.unbind": (store, old) => store.cleanups.unbind(requestOf(old)),
    "cleanups.observe": (store, old) => store.cleanups.observe(requestOf(old)),
    "cleanups.doubt": (store, old) => store.cleanups.doubt(requestOf(old)),
    "cleanups.answer": (store, old) => store.cleanups.answer(requestOf(old)),
  };
  /** A store of which every leader's write says `kind`. */
  const saying = (kind: string): Store => {
    const table = new Proxy({}, { get: () => () => Promise.resolve({ kind }) });
    // Only the tables that the watch touches are used.
    return { journal: table, registrations: table, threads: table, cleanups: table } as never;
  };

  test.each(Object.keys(writes))(
    "%s under an old epoch is caught when it is taken, and not when it is fenced",
    async (name) => {
      const database = new MemoryDatabase("simulated");
      database.lease = { ...database.lease, epoch: epoch(7) };
      const brokenBy = async (kind: string) => {
        const seen: LeaderWriteView[] = [];
        const note = (presented: Epoch, current: Epoch, accepted: boolean) =>
          void seen.push({ by: me, presented, current, accepted });
        await writes[name]?.(watchLeaderWrites(saying(kind), { database, note }), epoch(6));
        expect(seen).toHaveLength(1);
        return brokenInWrites({ writes: seen });
      };
      expect(await brokenBy("taken")).toEqual(["lease/noWriteUnderOldEpoch"]);
      expect(await brokenBy("fenced")).toEqual([]);
    },
  );
});

describe("effects of an old generation", () => {
  const [old, current] = [generation("old"), generation("current")];
  const brokenWith = (staleEffects: number) =>
    brokenInSeats({ seats: [{ seat, instanceId: me, generation: current, staleEffects }] });

  test("a claim that is taken under it is caught", async () => {
    const database = new MemoryDatabase("simulated");
    const registration = {
      seat,
      instanceId: me,
      generation: current,
      incarnation: null,
      thread: null,
      atMs: 0,
      threadGraceMs: null,
    };
    database.registrations.set(seat, { ...registration, ended: null });
    const ghost = createRegistrationGhost(database);
    const claimUnder = async (given: typeof old) => {
      const work = { claim: () => Promise.resolve({ kind: "claimed" }) };
      // Only the tables that the watch touches are used.
      const store = ghost.watch({ work, registrations: {} } as never);
      const claimant = { seat, instanceId: me, generation: given, acquisition: acquisitionId("a") };
      await store.work.claim({ updateId: updateId(1), seq: null, claimant, owners: [], settleAtMs: null });
      return brokenWith(ghost.staleEffects(seat));
    };
    expect(await claimUnder(current)).toEqual([]);
    expect(await claimUnder(old)).toEqual(["registration/staleGenerationNeverActs"]);
  });

  test.each(["follower.heartbeat", "follower.callApi", "follower.disconnect"])(
    "a %s that a leader grants under it is caught",
    async (kind) => {
      const ghost = createRegistrationGhost(new MemoryDatabase("simulated"));
      const handle = ghost.serve(({ requestId }): Promise<Ack> =>
        Promise.resolve({ kind: "bus.ack", requestId, ok: true }),
      );
      // Only what the watch reads.
      const send = (request: object) => handle(request as RequestEnvelope, { closed: new Promise(() => undefined) });
      const register = (given: typeof old) =>
        send({
          kind: "follower.register",
          registration: { instanceId: me, profileKey: seat, registrationGeneration: given },
        });
      await register(old);
      await send({ kind, instanceId: me, registrationGeneration: old });
      expect(brokenWith(ghost.staleEffects(seat))).toEqual([]);
      await register(current);
      await send({ kind, instanceId: me, registrationGeneration: old });
      expect(brokenWith(ghost.staleEffects(seat))).toEqual(["registration/staleGenerationNeverActs"]);
    },
  );
});

describe("answers", () => {
  const begin = (into = 5) => {
    // Thread 7 is gone; its sender has thread 8 instead.
    const threadNow = (id: ThreadId) => (id === 7 ? threadId(8) : id);
    const ledger = createCallLedger({ nowMs: () => 0, isAlive: () => true, threadNow });
    const broken = () => brokenInAnswers({ answers: ledger.takeViews() });
    return { ledger, broken, ...ledger.begin({ to: updateId(1), by: me, threadId: into }) };
  };
  test("one that is visible twice, although its call said nothing, is caught", () => {
    const { ledger, broken, text, ended } = begin();
    ledger.seen(5, text);
    ended({ kind: "ambiguous", reason: "" });
    expect(broken()).toEqual([]);
    ledger.seen(5, text);
    expect(broken()).toEqual(["call/neverRepeated"]);
  });
  test("one that is promised and not there, or refused and there, is caught", () => {
    const promised = begin();
    promised.ended({ kind: "ok", result: null });
    expect(promised.broken()).toEqual(["call/okIsVisibleOnce"]);
    const refused = begin();
    refused.ended({ kind: "notSent", reason: "" });
    refused.ledger.seen(5, refused.text);
    expect(refused.broken()).toEqual(["call/refusedNeverArrives"]);
  });
  test("one that stands in another thread is caught", () => {
    const elsewhere = begin();
    elsewhere.ledger.seen(6, elsewhere.text);
    expect(elsewhere.broken()).toEqual(["call/staysInItsThread"]);
  });
  test("one that stands in what took the place of a deleted thread is fine, once", () => {
    const moved = begin(7);
    moved.ledger.seen(8, moved.text);
    expect(moved.broken()).toEqual([]);
    moved.ledger.seen(8, moved.text);
    expect(moved.broken()).toEqual(["call/neverRepeated"]);
  });
});

describe("an update that is settled and that no handler was given", () => {
  const settledBy = async (isAlive: boolean) => {
    // Only what the ledger reads.
    const database = {
      updates: new Map([[1, { entry: { updateId: updateId(1) }, claim: { instanceId: me } }]]),
    } as never;
    const telegram = { isConfirmed: () => true } as never;
    const ledger = createUpdateLedger({ database, telegram, isAlive: () => isAlive, nowMs: () => 0 });
    const store = ledger.watch({ journal: {}, work: { settle: () => Promise.resolve({ kind: "settled" }) } } as never);
    ledger.written(updateId(1), 5);
    await store.work.settle({ seq: journalSeq(1), acquisition: acquisitionId("a"), nowMs: 0 });
    return ledger;
  };
  test("is caught while its process lives, until it is handed out", async () => {
    const ledger = await settledBy(true);
    expect(ledger.unheardSince(1)).toHaveLength(1);
    expect(ledger.unheardSince(0)).toEqual([]);
    ledger.handed(updateId(1), me, false);
    expect(ledger.unheardSince(1)).toEqual([]);
  });
  test("is lost by right when its process has died", async () => {
    expect((await settledBy(false)).unheardSince(1)).toEqual([]);
  });
});

describe("planted into the whole world", () => {
  const brokenBy = async (plant: BusPlant, seed: number, force: Partial<Swarm>) => {
    const { violations } = await simulateBus({ seed, hours: 0.03, instances: 3, plant, force: { ...calm, ...force } });
    return violations.map((violation) => violation.name);
  };

  /** A write must come late, after somebody else took over: not every world has one. */
  const firstBroken = async (plant: BusPlant, force: Partial<Swarm>) => {
    for (let seed = 1; seed <= 24; seed += 1) {
      const broken = await brokenBy(plant, seed, force);
      if (broken.length > 0) return broken;
    }
    return [];
  };

  test("a store that lets every leader write is caught", async () => {
    const plant: BusPlant = {
      store: (real, database) => ({
        ...real,
        journal: { ...real.journal, admit: (r) => real.journal.admit({ ...r, epoch: database.lease.epoch }) },
        registrations: {
          ...real.registrations,
          commit: (r) => real.registrations.commit({ ...r, epoch: database.lease.epoch }),
        },
      }),
    };
    const force = { pauseEveryMs: 3_000, pauseMaxMs: 15_000, storeDetached: 0, storeLatencyMaxMs: 1_500 };
    expect(await firstBroken(plant, force)).toContain("lease/noWriteUnderOldEpoch");
  });

  test("a store that asks nobody for the generation is caught", async () => {
    const plant: BusPlant = {
      store: (real, database) => ({
        ...real,
        work: {
          ...real.work,
          claim(request) {
            const { claimant } = request;
            const now = database.registrations.get(claimant.seat)?.generation ?? claimant.generation;
            return real.work.claim({ ...request, claimant: { ...claimant, generation: now } });
          },
        },
      }),
    };
    const force = { pauseEveryMs: 3_000, pauseMaxMs: 9_000, storeBusy: 0.6 };
    expect(await firstBroken(plant, force)).toContain("registration/staleGenerationNeverActs");
  });
});
