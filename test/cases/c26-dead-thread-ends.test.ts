/** C26: calls for a deleted thread are repeated for ever, and the bindings of the others are gone after a restart. */
import { expect, test } from "vitest";
import { useLines } from "../support/line/use-line.ts";

const open = useLines();

test("C26 a reply whose thread is gone and cannot be replaced is tried at most twice and ends; the others keep their threads", async () => {
  const line = await open();
  const names = ["L", "FA", "FB", "FC"];
  const agents = await line.startAll(names);
  const threadOf = new Map(agents.map((agent) => [agent.label, agent.threadId]));
  const dead = threadOf.get("FA")!;
  const gone = { kind: "error", error_code: 400, description: "Bad Request: message thread not found" } as const;
  line.control.fault({ method: "sendMessage", where: { message_thread_id: dead }, times: "forever", ...gone });
  line.control.fault({ method: "editForumTopic", where: { message_thread_id: dead }, times: "forever", ...gone });
  const rights = { kind: "error", error_code: 400, description: "Bad Request: not enough rights" } as const;
  line.control.fault({ method: "createForumTopic", times: "forever", ...rights });
  const { lastSeq } = line.control.state();
  const reply = await agents[1]!.call("sendMessage", { text: "queued" });
  expect(reply).toMatchObject({ ok: false, error: { error_code: 400 } });
  const attempts = (): number =>
    line.control.transcript({ since: lastSeq }).filter(({ payload }) => payload["text"] === "queued").length;
  expect(attempts()).toBeLessThanOrEqual(2);

  await Promise.all(agents.map((agent) => agent.kill()));
  line.control.clearFaults();
  const again = await line.startAll(names);
  for (const name of ["FB", "FC"])
    expect(again.find(({ label }) => label === name)?.threadId, name).toBe(threadOf.get(name));
  expect(again[1]!.threadId).not.toBe(dead);
  expect(attempts()).toBeLessThanOrEqual(2);
});
