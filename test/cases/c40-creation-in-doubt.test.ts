/** C40: the creation of a thread says yes without its id, or says nothing; repeating it makes threads without end. */
import { expect, test } from "vitest";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();

test("C40 a creation whose answer was lost is not repeated: the thread that shows up is its seat's", async () => {
  const line = await open({ serviceMessagesToBot: true });
  await line.startAll(["L"]);
  const { lastSeq } = line.control.state();
  line.control.fault({ method: "createForumTopic", kind: "lost" });
  const fa = await line.start({ name: "alpha" }).whenReady();
  const creations = line.control.transcript({ since: lastSeq }).filter(({ method }) => method === "createForumTopic");
  expect(creations.length).toBe(1);
  const living = line.control.state().threads.filter(({ status, name }) => status === "open" && name === "alpha");
  expect(living.map(({ threadId }) => threadId)).toEqual([fa.threadId]);
  expect((await line.status()).unresolved).toEqual([]);
});

test("C40 threads/S-31, TP-11 one that says yes without an id is not repeated either, until the operator says that nothing came of it", async () => {
  const line = await open({ serviceMessagesToBot: true });
  await line.startAll(["L"]);
  const { lastSeq } = line.control.state();
  line.control.fault({ method: "createForumTopic", kind: "emptyOk", shape: "emptyObject", perform: false });
  const fa = line.start({ name: "alpha" });
  await until("it is told why", () => fa.errors.some(({ message }) => message.includes("unknown outcome")));
  const creations = (): number =>
    line.control.transcript({ since: lastSeq }).filter(({ method }) => method === "createForumTopic").length;
  const refusals = fa.errors.length;
  await until("it has asked again", () => fa.errors.length > refusals);
  expect(creations()).toBe(1);
  expect((await line.run(["threads", "list"])).output).toContain("alpha");
  expect((await line.run(["threads", "forget", "alpha"])).exit?.code).toBe(0);
  await fa.whenReady();
  expect(creations()).toBe(2);
  expect(line.control.state().threads.filter(({ status }) => status === "open").length).toBe(2);
});
