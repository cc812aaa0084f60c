/** C62: a half-written record swallows the next one, and what was revoked is valid again. */
import { appendFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { editUpdate } from "../support/line/fixtures.ts";
import { useLines } from "../support/line/use-line.ts";
import type { Line } from "../support/line/line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();
const log = (line: Line): string => path.join(line.folder, "store.db-wal");

const dead = async (line: Line, ...args: string[]): Promise<string> => {
  const { output } = await line.run(["dead", ...args]);
  return output;
};

test("C62 what was ended for good stays ended after a record cut in half and garbage in the log, and the line starts", async () => {
  const line = await open();
  const leader = await line.start({ name: "L" }).whenReady();
  for (const id of [810_000_701, 810_000_702]) line.control.rawUpdate({ update: editUpdate(id, 77, `letter ${id}`) });
  await until("both are set aside", async () => (await line.status()).journal.deadLetters === 2);
  await leader.kill();

  // The log as a machine leaves it that lost power in the middle of a record: half of one, then whatever the disk held.
  appendFileSync(log(line), Buffer.alloc(2_500, 0xa5));
  const [first] = (JSON.parse((await dead(line, "--json")).trim()) as { deadLetters: { id: string }[] }).deadLetters;
  expect(await dead(line, "discard", first!.id, "--yes")).toContain("is discarded");
  appendFileSync(log(line), Buffer.alloc(4_200, 0x5a));

  const again = await line.start({ name: "L" }).whenReady();
  const text = await dead(line);
  expect(text).not.toContain("letter 810000701");
  expect(text).toContain("letter 810000702");
  line.say(again.threadId, "and it runs");
  await until("it is served", () => again.texts.includes("and it runs"));
  expect((await line.status()).drops).toMatchObject({ discarded: 1 });
});
