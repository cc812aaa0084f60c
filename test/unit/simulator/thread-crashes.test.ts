/**
 * The leader dies at every effect of creating, passing on, giving up and restoring threads, before it and after it: in the
 * end Telegram has exactly the bound threads, and every seat its one.
 */
import { describe, expect, test, vi } from "vitest";
import { threadId } from "../../../machines/ids.ts";
import { playCrash, type CrashStory, type CrashWorld, type PlaceName } from "../../../testing/simulator/crash-world.ts";
import { bothJoin, minuteMs } from "./joining.ts";

// Simulated hours cost real seconds where the machine is busy.
vi.setConfig({ testTimeout: 240_000 });

let requests = 0;
/** The operator asks, and waits as long as it takes. */
async function ask(
  world: CrashWorld,
  wish: Parameters<CrashWorld["store"]["cleanups"]["ask"]>[0]["wish"],
): Promise<void> {
  const id = `r${(requests += 1)}`;
  await world.store.cleanups.ask({ id, wish, atMs: 0 });
  await world.until(() => world.database.answers.has(id), 5 * minuteMs);
}

const stories: Readonly<Record<string, CrashStory>> = {
  "creating the leader's thread and a follower's": {
    before: () => Promise.resolve(),
    async told(world) {
      world.boot("L");
      await world.until(() => world.has("L"), 10_000);
      world.boot("F");
    },
    ends: ["L", "F"],
    threadGraceMs: 10 * minuteMs,
  },
  "passing a follower's thread on to the next process of its name": {
    async before(world) {
      await bothJoin(world);
      world.kill("F");
    },
    told: (world) => {
      world.boot("F");
      return Promise.resolve();
    },
    ends: ["L", "F"],
    threadGraceMs: 10 * minuteMs,
  },
  "deleting the thread of a follower that leaves": {
    before: bothJoin,
    told: (world) => {
      world.stop("F", true);
      return Promise.resolve();
    },
    ends: ["L"],
    threadGraceMs: 20_000,
  },
  "deleting the thread of a follower that was killed, at its deadline": {
    before: bothJoin,
    async told(world) {
      world.kill("F");
      await world.until(() => world.database.bindings.size === 1, minuteMs);
    },
    ends: ["L"],
    threadGraceMs: 20_000,
  },
  "restoring a forgotten thread for its seat on the operator's wish": {
    async before(world) {
      await bothJoin(world);
      const target = world.threadOf("F");
      world.kill("F");
      await world.until(() => hasEnded(world, "F"), minuteMs);
      await ask(world, { kind: "forgetThread", target });
    },
    async told(world) {
      const free = world.telegram.threads().filter(({ id, isGone }) => !isGone && !isBound(world, id));
      expect(free).toHaveLength(1);
      const target = { ...world.threadOf("L"), threadId: threadId(free[0]!.id) };
      await ask(world, { kind: "adopt", seat: world.seatOf("F"), target });
      world.boot("F");
    },
    ends: ["L", "F"],
    threadGraceMs: 10 * minuteMs,
  },
};

const hasEnded = (world: CrashWorld, name: PlaceName): boolean =>
  world.database.registrations.get(world.seatOf(name))?.ended !== null;

const isBound = (world: CrashWorld, id: number): boolean =>
  [...world.database.bindings.values()].some(({ thread }) => Number(thread.target.threadId) === id);

describe.each(Object.keys(stories))("threads/T-9, T-11, T-14, T-16, T-47, S-61, S-66, S-67: %s", (name) => {
  const story = stories[name]!;
  test.each([
    ["the leader alone", false],
    ["leader and follower at once", true],
  ])("%s", async (_, together) => {
    const clean = await playCrash({ story, at: null, together });
    expect(clean.faults).toEqual([]);
    const broken: string[] = [];
    for (const [index, effect] of clean.effects.entries())
      for (const side of together ? (["after"] as const) : (["before", "after"] as const)) {
        const { faults, effects } = await playCrash({ story, at: { index, side }, together });
        expect(effects.slice(0, index + 1)).toEqual(clean.effects.slice(0, index + 1));
        if (faults.length > 0) broken.push(`${side} ${effect} (${index + 1}): ${faults.join("; ")}`);
      }
    expect(broken).toEqual([]);
  });
});
