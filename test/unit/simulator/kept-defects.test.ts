/**
 * Defects that simulation found, each kept as its smallest run or script.
 */
import { describe, expect, test, vi } from "vitest";
import { MemoryDatabase, openMemoryStore } from "../../../adapters/store/memory/index.ts";
import {
  acquisitionId,
  chatId,
  epoch,
  generation,
  instanceId,
  lane,
  seatKey,
  updateId,
  type Incarnation,
  journalSeq,
} from "../../../machines/ids.ts";
import { Holdings } from "../../../services/holdings.ts";
import { Inbox } from "../../../services/inbox.ts";
import { providePolling } from "../../../services/polling.ts";
import type { Clock, Store } from "../../../services/ports.ts";
import { Chats } from "../../../services/chats.ts";
import { createSignal, emptyBoard, type Runtime } from "../../../services/runtime.ts";
import { createOnStage } from "../../../services/stage.ts";
import { simulateBus } from "../../../testing/simulator/bus-world.ts";
import { calm } from "../../../testing/simulator/faults.ts";

// Simulated minutes cost real seconds where the machine is busy.
vi.setConfig({ testTimeout: 60_000 });

const seat = seatKey("manual:simulated:a");
const me = instanceId("1:1");
const incarnation: Incarnation = { bootId: "b", pidNamespace: "1", pid: 1, startTicks: "1", counter: 1 };
const place = { seat, generation: generation("g"), thread: null, isClassic: false };
const message = (id: number) => ({
  updateId: updateId(id),
  lane: lane("thread"),
  body: JSON.stringify({ update_id: id, message: { message_id: id, chat: { id: 5 }, date: 1, text: "x" } }),
});

/** Timers that fire when the test says so. */
function createManualClock() {
  const timers = new Set<() => void>();
  const clock: Clock = {
    nowMs: () => 0,
    elapsedMs: () => 0,
    setTimeout: (fn) => {
      timers.add(fn);
      return fn;
    },
    clearTimeout: (handle) => void timers.delete(handle as () => void),
  };
  const fire = () => {
    const due = [...timers];
    timers.clear();
    for (const fn of due) fn();
  };
  return { clock, fire };
}

/** Everything that promises still have to do. */
const settlePromises = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A led line with one registered instance and two updates of its thread. */
async function createLine(change: (real: Store) => Partial<Store> = () => ({})) {
  const { clock, fire } = createManualClock();
  const real = openMemoryStore({ database: new MemoryDatabase("simulated"), clock });
  const holder = { instanceId: me, incarnation, endpoint: "memory:a", secret: "s" };
  const request = {
    me: holder,
    expected: { epoch: epoch(0), renewals: 0 },
    evidence: "vacant",
    durationMs: 6_000,
  } as const;
  const current = (await real.lease.acquire(request)).record.epoch;
  const registration = {
    seat,
    generation: place.generation,
    thread: null,
    instanceId: me,
    incarnation,
    atMs: 0,
    threadGraceMs: null,
  };
  await real.registrations.commit({ epoch: current, registration });
  await real.journal.admit({ epoch: current, updates: [message(1), message(2)], cursor: updateId(3), nowMs: 0 });
  let minted = 0;
  const call = vi.fn(() => new Promise(() => undefined));
  const runtime = {
    ports: {
      store: { ...real, ...change(real) },
      stage: { clock, log: { event: () => undefined }, inspect: () => undefined },
      ids: { acquisition: () => acquisitionId(`a${(minted += 1)}`), chance: () => 0.5 },
      telegram: { call },
    },
    settings: { me, ack: "explicit", user: 5, chat: chatId(5) },
    chats: new Chats(chatId(5)),
    gate: { permit: () => null },
    board: { ...emptyBoard(), place },
    onWayChanged: createSignal(),
    // What these services do not touch is left out.
  } as unknown as Runtime;
  return { runtime, real, current, fire, registration, call };
}

const arrival = (id: number) => ({ updateId: updateId(id), seq: journalSeq(id), update: {}, redelivered: false });

/** The store, losing the answer of the first claim. */
const losingOneClaim = (real: Store): Partial<Store> => {
  let isLost = false;
  return {
    work: {
      ...real.work,
      async claim(request) {
        const answer = await real.work.claim(request);
        if (isLost) return answer;
        isLost = true;
        throw new Error("busy");
      },
    },
  };
};

/** What it holds; nobody handles anything, so nothing is settled on the way in. */
const handOf = (runtime: Runtime) => ({ holdings: new Holdings(runtime), isFlowing: () => false });

describe("a claim whose answer was lost", () => {
  test("is handed out all the same, in a line of whole instances", async () => {
    const force = { ...calm, storeAnswerLost: 0.2 };
    const { violations } = await simulateBus({ seed: 3, hours: 0.02, instances: 3, force });
    expect(violations).toEqual([]);
  });

  test("is asked again until the store has answered", async () => {
    const { runtime, fire } = await createLine(losingOneClaim);
    const handed: unknown[] = [];
    const inbox = new Inbox(runtime, handOf(runtime), ({ entry }) => void handed.push(String(entry.seq)));
    const taking = inbox.take(arrival(1), place);
    await settlePromises();
    expect(handed).toEqual([]);
    fire();
    expect(await taking).toBe("repeated");
    await settlePromises();
    expect(handed).toEqual(["1"]);
  });

  test("is not overtaken by the next update of the thread", async () => {
    const { runtime, fire } = await createLine(losingOneClaim);
    const handed: unknown[] = [];
    const inbox = new Inbox(runtime, handOf(runtime), ({ entry }) => void handed.push(String(entry.seq)));
    void inbox.take(arrival(1), place);
    await settlePromises();
    // The leader sees that the first is in hand, and forwards the second.
    void inbox.take(arrival(2), place);
    for (let round = 0; round < 3; round += 1) {
      await settlePromises();
      fire();
    }
    await settlePromises();
    expect(handed).toEqual(["1", "2"]);
  });
});

test("an update that comes twice is handed out once, also when the second answer of the store is the first to arrive", async () => {
  const answers: (() => void)[] = [];
  const { runtime } = await createLine((real) => ({
    work: {
      ...real.work,
      async claim(request) {
        const answer = await real.work.claim(request);
        await new Promise<void>((resolve) => answers.push(resolve));
        return answer;
      },
    },
  }));
  const handed: unknown[] = [];
  const inbox = new Inbox(runtime, handOf(runtime), ({ entry }) => void handed.push(String(entry.seq)));
  const both = [inbox.take(arrival(1), place), inbox.take(arrival(1), place)];
  await settlePromises();
  for (const answer of answers.reverse()) {
    answer();
    await settlePromises();
  }
  await Promise.all(both);
  await settlePromises();
  expect(handed).toEqual(["1"]);
});

test("an update that was given back is not overtaken by the next of its thread", async () => {
  const { real, current, registration } = await createLine();
  const claim = (id: number, given: string) =>
    real.work.claim({
      updateId: updateId(id),
      seq: null,
      owners: [],
      settleAtMs: null,
      claimant: { seat, instanceId: me, generation: generation(given), acquisition: acquisitionId(`c${id}`) },
    });
  expect(await claim(1, "g")).toMatchObject({ kind: "claimed" });
  // The holder is taken for dead while the leader has the second update in its hand; then it registers again.
  await real.registrations.end({ epoch: current, seat, generation: generation("g"), reason: "died", atMs: 0 });
  await real.registrations.commit({ epoch: current, registration: { ...registration, generation: generation("g2") } });
  expect(await claim(2, "g2")).toEqual({ kind: "outOfOrder" });
  expect(await claim(1, "g2")).toMatchObject({ kind: "claimed" });
  expect(await claim(2, "g2")).toMatchObject({ kind: "claimed" });
});

test("a leader whose lease has run out does not poll, although its chart does not know yet", async () => {
  const { runtime, call } = await createLine();
  const input = { epoch: epoch(1), pollSeconds: 25 };
  const actor = createOnStage(runtime.ports.stage, providePolling(runtime), { id: "poller", input });
  actor.start();
  await settlePromises();
  expect(actor.getSnapshot().value).toBe("backingOff");
  expect(call).not.toHaveBeenCalled();
  actor.stop();
});

test("an instance whose claim of its name was not answered does not take itself for a stranger", async () => {
  const force = { ...calm, storeAnswerLost: 0.3, killEveryMs: 8_000, restartMaxMs: 50 };
  const { violations } = await simulateBus({ seed: 1, hours: 0.03, instances: 3, force });
  expect(violations).toEqual([]);
});
