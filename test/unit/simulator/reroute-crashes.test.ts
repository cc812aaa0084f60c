/**
 * The leader dies at every effect of a question whose a thread shall be, before it and after it: whatever was written there
 * comes to the agent that the user chose, once, and the thread goes only after that, unless the agent was given the thread.
 */
import { describe, expect, test, vi } from "vitest";
import { playCrash, type CrashStory, type CrashWorld } from "../../../testing/simulator/crash-world.ts";
import type { CrashOptions } from "../../../testing/simulator/crash-world.ts";
import { bothJoin, minuteMs } from "./joining.ts";

vi.setConfig({ testTimeout: 240_000 });

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

/** What the user answers: F gets what was written, or F gets the thread. */
type Answer = "forward" | "restore";
/** The button for F, or the one that leads to the list in which it is. */
const buttonsTo = (answer: Answer, thread: number): readonly RegExp[] =>
  answer === "forward"
    ? [new RegExp(`^reroute:.*:${String(thread)}$`)]
    : [new RegExp(`^reroutenew:.*:${String(thread)}$`), /^rerouterestore:/];

/** The user presses such a button of the latest question, as long as what was written waits. */
async function choose(world: CrashWorld, strange: number, written: readonly number[], answer: Answer): Promise<void> {
  const wanted = buttonsTo(answer, world.threadOf("F").threadId);
  for (let presses = 0; presses < 20 && !isOver(world, written); presses += 1) {
    const latest = () =>
      world.telegram
        .keyboards()
        .filter(({ threadId }) => threadId === strange)
        .at(-1);
    const button = () => latest()?.data.find((data) => wanted.some((each) => each.test(data)));
    await world.until(() => button() !== undefined || isOver(world, written), 2 * minuteMs);
    const [question, data] = [latest(), button()];
    if (question !== undefined && data !== undefined) world.telegram.press(question, data);
    // The other list is another question: whoever waits for it presses again.
    await world.until(() => isOver(world, written) || (answer === "restore" && button() !== data), 10_000);
  }
}

function reroute(answer: Answer): Told {
  let seen: readonly string[] = ["the story was not told"];
  const story: CrashStory = {
    before: bothJoin,
    async told(world) {
      const strange = world.telegram.open("by hand");
      const written = texts.map((text) => world.telegram.write(strange, text) ?? 0);
      await choose(world, strange, written, answer);
      if (answer === "forward") await world.until(() => world.telegram.isGone(strange), minuteMs);
      if (answer === "restore") await world.until(() => Number(world.threadOf("F").threadId) === strange, minuteMs);
      const isItsThread = answer === "forward" || Number(world.threadOf("F").threadId) === strange;
      seen = [...faultsOf(world, written), ...(isItsThread ? [] : ["the agent did not get the thread"])];
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

/** The agent's old thread is left over, for the operator, and the one that it has is the user's. */
const isByDesign = (fault: string): boolean => fault === "leftovers: 1" || fault.startsWith("Telegram has threads ");

async function play(at: CrashOptions["at"], together: boolean, answer: Answer) {
  const { story, wrong } = reroute(answer);
  const { effects, faults } = await playCrash({ story, at, together });
  const found = answer === "forward" ? faults : faults.filter((fault) => !isByDesign(fault));
  return { effects, faults: [...wrong(), ...found] };
}

describe("updates/T-50, Q-70, Q-71: a question whose a thread shall be", () => {
  test.each([
    ["the leader alone", false, "forward", ["sendMessage", "journal.redirect", "deleteForumTopic"]],
    ["leader and follower at once", true, "forward", ["sendMessage", "journal.redirect", "deleteForumTopic"]],
    ["the leader alone, the thread given away", false, "restore", ["sendMessage", "threads.bind"]],
  ] as const)("%s", async (_, together, answer, effects) => {
    const clean = await play(null, together, answer);
    expect(clean.faults).toEqual([]);
    expect(clean.effects).toEqual(expect.arrayContaining([...effects]));
    const broken: string[] = [];
    // How it comes to the question is the same whatever the answer.
    const from = answer === "forward" ? 0 : clean.effects.indexOf("answerCallbackQuery");
    for (const [index, effect] of [...clean.effects.entries()].slice(Math.max(0, from)))
      for (const side of together || answer === "restore" ? (["after"] as const) : (["before", "after"] as const)) {
        const { faults } = await play({ index, side }, together, answer);
        if (faults.length > 0) broken.push(`${side} ${effect} (${String(index + 1)}): ${faults.join("; ")}`);
      }
    expect(broken).toEqual([]);
  });
});
