/**
 * Time and processes of the simulator: clocks, timers, pausing, killing, requests under way.
 */
import { describe, expect, test } from "vitest";
import { createHostClock } from "../../../testing/simulator/clock.ts";
import { calm, createFaultCounts, type Swarm } from "../../../testing/simulator/faults.ts";
import { createProcess } from "../../../testing/simulator/process.ts";
import { createRandom } from "../../../testing/simulator/random.ts";
import { createRecorder } from "../../../testing/simulator/recorder.ts";
import { createRequests } from "../../../testing/simulator/requests.ts";
import { createScheduler } from "../../../testing/simulator/scheduler.ts";

function setUp(traits: { readonly rate?: number; readonly swarm?: Partial<Swarm> } = {}) {
  const random = createRandom(1);
  const scheduler = createScheduler({ random: random.split("order"), recorder: createRecorder() });
  const host = createHostClock(scheduler, { rate: traits.rate ?? 1, offsetMs: 0, elapsedStartMs: 0 });
  const process = createProcess({ name: "p", pid: 1, scheduler, host, random, lagMaxMs: () => 0 });
  const swarm = { ...calm, ...traits.swarm };
  const ask = createRequests({
    scheduler,
    random,
    process,
    faults: createFaultCounts(),
    swarm: () => swarm,
    crashPoint: () => undefined,
  });
  const seen: string[] = [];
  const see = (what: string) => () => void seen.push(`${what} at ${Math.round(scheduler.nowMs())}`);
  const run = (untilMs: number) => scheduler.runUntil(untilMs, () => false);
  return { scheduler, host, process, ask, seen, see, run };
}

describe("seeded chance", () => {
  test("draws the same values for the same seed, and a split does not depend on what was drawn before", () => {
    const [a, b] = [createRandom(5), createRandom(5)];
    a.next();
    expect(a.split("x").next()).toBe(b.split("x").next());
    expect(a.split("x").next()).not.toBe(a.split("y").next());
  });
});

describe("clocks", () => {
  test("a fast clock fires its timers early in true time, a slow one late", async () => {
    const fast = setUp({ rate: 1.25 });
    fast.process.clock.setTimeout(fast.see("fast"), 1000);
    await fast.run(2000);
    const slow = setUp({ rate: 0.8 });
    slow.process.clock.setTimeout(slow.see("slow"), 1000);
    await slow.run(2000);
    expect([...fast.seen, ...slow.seen]).toEqual(["fast at 800", "slow at 1250"]);
  });

  test("a jump moves the wall clock and nothing else", async () => {
    const { host, process, see, seen, run } = setUp();
    const wallMs = process.clock.nowMs();
    process.clock.setTimeout(see("timer"), 1000);
    host.jump(3_600_000);
    await run(2000);
    expect(seen).toEqual(["timer at 1000"]);
    expect(process.clock.elapsedMs()).toBe(2000);
    expect(process.clock.nowMs() - wallMs).toBe(3_602_000);
  });

  test("timers fire deadline by deadline: each sees the time of its own", async () => {
    const { process, see, seen, run } = setUp();
    for (const delayMs of [20, 10, 20]) process.clock.setTimeout(see(`${delayMs}`), delayMs);
    process.clock.clearTimeout(process.clock.setTimeout(see("cleared"), 15));
    await run(100);
    expect(seen).toEqual(["10 at 10", "20 at 20", "20 at 20"]);
  });

  test("what a promise does after a timer is done before the next timer", async () => {
    const { process, see, seen, run } = setUp();
    process.clock.setTimeout(() => {
      void Promise.resolve()
        .then(() => Promise.resolve())
        .then(see("promise"));
    }, 10);
    process.clock.setTimeout(see("timer"), 10);
    await run(100);
    expect(seen).toEqual(["promise at 10", "timer at 10"]);
  });
});

describe("processes", () => {
  test("a paused process does nothing, and does everything when it resumes", async () => {
    const { process, see, seen, run } = setUp();
    process.clock.setTimeout(see("timer 10"), 10);
    process.clock.setTimeout(see("timer 20"), 20);
    process.pause("stopped");
    process.deliver("first", see("first"));
    process.deliver("second", see("second"));
    await run(1000);
    expect(seen).toEqual([]);
    process.resume();
    await run(1001);
    expect(seen.filter((line) => line.startsWith("timer"))).toEqual(["timer 10 at 1000", "timer 20 at 1000"]);
    expect(seen.filter((line) => !line.startsWith("timer"))).toEqual(["first at 1000", "second at 1000"]);
  });

  test("timers of a suspended host do not count the time it slept, its elapsed time does", async () => {
    const { process, see, seen, run } = setUp();
    process.clock.setTimeout(see("timer"), 100);
    await run(40);
    process.pause("suspended");
    await run(1000);
    process.resume();
    await run(2000);
    expect(seen).toEqual(["timer at 1060"]);
    expect(process.clock.elapsedMs()).toBe(2000);
  });

  test("a killed process never does anything again", async () => {
    const { process, see, seen, run, scheduler } = setUp();
    process.clock.setTimeout(see("timer"), 10);
    process.pause("stopped");
    process.deliver("held", see("held"));
    process.kill();
    process.resume();
    process.clock.setTimeout(see("late timer"), 10);
    scheduler.after(5, "network", () => {
      process.deliver("late", see("late"));
      return "late";
    });
    await run(1000);
    expect(seen).toEqual([]);
    expect(process.diedAtMs()).toBe(0);
  });
});

describe("requests", () => {
  const write = (setting: ReturnType<typeof setUp>) => {
    void setting
      .ask({
        what: "write",
        canOutlive: true,
        perform: () => {
          setting.see("durable")();
          return Promise.resolve("ok");
        },
      })
      .then(setting.see("answered"), setting.see("failed"));
  };

  test("a detached request outlives its sender, and its answer reaches nobody", async () => {
    const setting = setUp({ swarm: { storeDetached: 1 } });
    write(setting);
    setting.process.kill();
    await setting.run(100);
    expect(setting.seen).toHaveLength(1);
    expect(setting.seen[0]).toMatch(/^durable/);
  });

  test("a request inside the process dies with it", async () => {
    const setting = setUp({ swarm: { storeDetached: 0 } });
    write(setting);
    setting.process.kill();
    await setting.run(100);
    expect(setting.seen).toEqual([]);
  });

  test("a crash can fall between durable and answered", async () => {
    const setting = setUp();
    write(setting);
    await setting.scheduler.runUntil(100, () => setting.seen.length > 0);
    setting.process.kill();
    await setting.run(100);
    expect(setting.seen).toHaveLength(1);
  });

  test("a lost answer is a failure although the write is there; a busy store wrote nothing", async () => {
    const lost = setUp({ swarm: { storeAnswerLost: 1 } });
    write(lost);
    await lost.run(100);
    expect(lost.seen.map((line) => line.split(" ")[0])).toEqual(["durable", "failed"]);
    const busy = setUp({ swarm: { storeBusy: 1 } });
    write(busy);
    await busy.run(100);
    expect(busy.seen.map((line) => line.split(" ")[0])).toEqual(["failed"]);
  });
});
