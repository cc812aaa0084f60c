/**
 * The leader dies at every effect of a question whose a thread shall be, before it and after it: whatever was written there
 * comes to the agent that the user chose, once, and the thread goes only after that.
 */
import { describe, expect, test, vi } from "vitest";
import { playCrash, type CrashStory, type CrashWorld } from "../../../testing/simulator/crash-world.ts";
import type { CrashOptions } from "../../../testing/simulator/crash-world.ts";

vi.setConfig({ testTimeout: 240_000 });

const minuteMs = 60_000;
const texts = ["first", "second"] as const;

interface Told {
  readonly story: CrashStory;
  /** What was written there, and did not come about as it must. */
  readonly wrong: () => readonly string[];
}

/** Everything that was written was handed out, and is settled. */
const isOver = ({ database, handed }: CrashWorld, written: readonly number[]): boolean =>
  written.every((id) => handed.some(({ updateId }) => Number(updateId) === id)) &&
  [...database.updates.values()].every(({ entry }) => !written.includes(entry.updateId));

/** The user presses the button for F of the latest question, as long as what was written waits. */
async function choose(world: CrashWorld, strange: number, written: readonly number[]): Promise<void> {
  const suffix = `:${String(world.threadOf("F").threadId)}`;
  for (let presses = 0; presses < 20 && !isOver(world, written); presses += 1) {
    const latest = () =>
      world.telegram
        .keyboards()
        .filter(({ threadId }) => threadId === strange)
        .at(-1);
    const button = () => latest()?.data.find((data) => data.endsWith(suffix));
    await world.until(() => button() !== undefined || isOver(world, written), 2 * minuteMs);
    const [question, data] = [latest(), button()];
    if (question !== undefined && data !== undefined) world.telegram.press(question, data);
    await world.until(() => isOver(world, written), 10_000);
  }
}

function reroute(): Told {
  let seen: readonly string[] = ["the story was not told"];
  const story: CrashStory = {
    async before(world) {
      world.boot("L");
      await world.until(() => world.has("L"), minuteMs);
      world.boot("F");
      if (!(await world.until(() => world.has("F"), minuteMs))) throw new Error("the two did not join");
    },
    async told(world) {
      const strange = world.telegram.open("by hand");
      const written = texts.map((text) => world.telegram.write(strange, text) ?? 0);
      await choose(world, strange, written);
      await world.until(() => world.telegram.isGone(strange), minuteMs);
      seen = faultsOf(world, written);
    },
    ends: ["L", "F"],
    threadGraceMs: 10 * minuteMs,
  };
  return { story, wrong: () => seen };
}

function faultsOf(world: CrashWorld, written: readonly number[]): readonly string[] {
  const { handed, database } = world;
  const ours = handed.filter(({ updateId }) => written.includes(updateId));
  const first = ours.filter(({ redelivered }) => !redelivered).map(({ updateId }) => Number(updateId));
  return [
    ...(isOver(world, written) ? [] : ["something is not settled"]),
    ...(database.deadLetters.size === 0 ? [] : ["something was set aside"]),
    ...ours.filter(({ to }) => to !== "F").map(({ updateId }) => `update ${String(updateId)} came to the leader`),
    ...(String(first) === String(written) ? [] : [`handed out were ${String(first)} of ${String(written)}`]),
  ];
}

async function play(at: CrashOptions["at"], together: boolean) {
  const { story, wrong } = reroute();
  const { effects, faults } = await playCrash({ story, at, together });
  return { effects, faults: [...wrong(), ...faults] };
}

describe("updates/T-50, Q-70, Q-71: a question whose a thread shall be", () => {
  test.each([
    ["the leader alone", false],
    ["leader and follower at once", true],
  ])("%s", async (_, together) => {
    const clean = await play(null, together);
    expect(clean.faults).toEqual([]);
    expect(clean.effects).toEqual(expect.arrayContaining(["sendMessage", "journal.redirect", "deleteForumTopic"]));
    const broken: string[] = [];
    for (const [index, effect] of clean.effects.entries())
      for (const side of together ? (["after"] as const) : (["before", "after"] as const)) {
        const { faults } = await play({ index, side }, together);
        if (faults.length > 0) broken.push(`${side} ${effect} (${String(index + 1)}): ${faults.join("; ")}`);
      }
    expect(broken).toEqual([]);
  });
});
