/** `partyline dead`, as an operator uses it. */
import { expect, test } from "vitest";
import type { DeadLetter } from "../../index.ts";
import { editUpdate } from "../support/line/fixtures.ts";
import type { Line } from "../support/line/line.ts";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();
const nobodysThread = 77;
const ids = [810_000_301, 810_000_302, 810_000_303];

/** A line on which three messages were changed in a thread that nobody has: nobody can be asked whose an edit is. */
async function withThreeSetAside(): Promise<Line> {
  const line = await open();
  await line.startAll(["L"]);
  for (const id of ids) line.control.rawUpdate({ update: editUpdate(id, nobodysThread, `letter ${id}`) });
  await until("all are set aside", async () => (await letters(line)).length === ids.length);
  return line;
}

const last = (output: string): string => output.trim().split("\n").at(-1) ?? "";

async function letters(line: Line): Promise<DeadLetter[]> {
  const { output } = await line.run(["dead", "--json"]);
  return (JSON.parse(last(output)) as { deadLetters: DeadLetter[] }).deadLetters;
}

/** Runs `partyline dead …`; its exit code and all that it wrote. */
async function dead(line: Line, ...args: string[]): Promise<{ readonly code: number | null; readonly output: string }> {
  const { exit, output } = await line.run(["dead", ...args]);
  return { code: exit?.code ?? null, output };
}

test("updates/OP-24 dead list tells of each letter why, how old, which thread, how often tried", async () => {
  const line = await withThreeSetAside();
  const list = await letters(line);
  expect(list.map(({ updateId }) => updateId)).toEqual(ids);
  expect(list[0]).toMatchObject({
    kind: "edited_message",
    threadId: nobodysThread,
    threadName: null,
    text: `letter ${ids[0]}`,
    reason: "no instance owns this thread",
    tries: 0,
    lastFailure: null,
  });
  expect(list[0]!.ageMs).toBeGreaterThanOrEqual(list[0]!.deadForMs);
  const { code, output } = await dead(line, "list");
  expect(code).toBe(0);
  expect(output).toMatch(
    new RegExp(
      `^ {2}${list[0]!.id} +edited_message, thread 77, \\d+ s old: no instance owns this thread; never tried$`,
      "m",
    ),
  );
  expect(output).toContain(`"letter ${ids[2]}"`);
});

test("dead retry gives each letter to its thread's owner exactly once, however often it is asked for", async () => {
  const line = await withThreeSetAside();
  line.control.setNextMessageId({ next: nobodysThread });
  const owner = await line.start({ name: "late" }).whenReady();
  expect(owner.threadId).toBe(nobodysThread);
  const [first, second] = await letters(line);

  // Two operators at once: one of them finds it gone.
  const both = await Promise.all([dead(line, "retry", second!.id), dead(line, "retry", second!.id)]);
  expect(both.map(({ code }) => code).sort()).toEqual([0, 1]);
  const all = await dead(line, "retry", "--all", "--json");
  expect(all.code, all.output).toBe(0);
  await line.settled(ids);
  const given = () => owner.updates.map(({ update }) => update.edited_message?.text ?? "");
  await until("all were given", () => given().length === 3);
  expect(given().filter((text) => text === `letter ${ids[1]}`)).toHaveLength(1);
  expect(given().sort()).toEqual(ids.map((id) => `letter ${id}`));
  // The id is the same for every delivery of an update.
  expect(owner.updates.find(({ update }) => update.update_id === ids[0])?.id).toBe(first!.id);

  const again = await dead(line, "retry", first!.id);
  expect(again.code).toBe(1);
  expect(again.output).toContain(`${first!.id} is no dead letter (any more).`);
  expect((await line.status()).journal).toEqual({ waiting: 0, claimed: 0, deadLetters: 0 });
});

test("dead discard asks first: where nobody can be asked it wants --yes, and then ends the letter for good", async () => {
  const line = await withThreeSetAside();
  const [first] = await letters(line);
  const unasked = await dead(line, "discard", first!.id);
  expect(unasked.code).toBe(2);
  expect(unasked.output).toContain("--yes");
  expect(await letters(line)).toHaveLength(3);

  expect(await dead(line, "discard", first!.id, "--yes")).toMatchObject({ code: 0 });
  expect((await letters(line)).map(({ updateId }) => updateId)).toEqual(ids.slice(1));
  const rest = await dead(line, "discard", "--all", "--yes", "--json");
  expect(JSON.parse(last(rest.output))).toEqual({
    outcomes: [
      { id: expect.any(String) as string, kind: "discarded" },
      { id: expect.any(String) as string, kind: "discarded" },
    ],
  });
  const status = await line.status();
  expect(status.journal).toEqual({ waiting: 0, claimed: 0, deadLetters: 0 });
  expect(status.drops).toMatchObject({ discarded: 3 });
});

test("dead retry and discard want to know which letters are meant", async () => {
  const line = await open();
  await line.startAll(["L"]);
  for (const command of ["retry", "discard"]) {
    const { code, output } = await dead(line, command);
    expect(code).toBe(2);
    expect(output).toContain("pass --all");
  }
});
