/** C52: the parts of an album arrive seconds apart and over several polls, and are split among agents. */
import { expect, test } from "vitest";
import { messageUpdate } from "../support/line/fixtures.ts";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();

test("C52 an album whose last part comes after a change of leader goes to one agent, in order, as the album it is", async () => {
  const line = await open();
  const [leader, , owner] = await line.startAll(["L", "FA", "FB"]);
  const part = (id: number) => {
    const update = messageUpdate(id, owner!.threadId, `part ${id}`);
    return { ...update, message: { ...update.message, media_group_id: "g1" } };
  };
  const ids = [810_000_401, 810_000_402, 810_000_403];
  for (const id of ids.slice(0, 2)) line.control.rawUpdate({ update: part(id) });
  await until("the first two are given", () => owner!.updates.length === 2);
  await leader!.kill();
  await until("another one leads", () => line.leaders.length === 1);
  line.control.rawUpdate({ update: part(ids[2]!) });
  await line.settled(ids);
  const given = line.agents.flatMap(({ label, updates }) =>
    updates.map(({ update }) => [label, update.update_id, update.message?.media_group_id]),
  );
  expect(given).toEqual(ids.map((id) => ["FB", id, "g1"]));
});
