/** C38: a session closes while its thread is being created: the thread appears afterwards, and stays for nobody. */
import { expect, test } from "vitest";
import { useInstances } from "../support/line/use-instances.ts";
import { until } from "../support/line/waiting.ts";

const { control, create } = useInstances();

test("C38 a thread that is made for one who has left is deleted, once, by an instruction, and a later one gets another", async () => {
  const leader = await create({ name: "L" });
  await leader.ready;
  control().setNextMessageId({ next: 60 });
  control().fault({ method: "createForumTopic", kind: "latencyMs", ms: 3_000 });
  const fa = await create({ name: "FA" });
  fa.ready.catch(() => undefined);
  await until("its thread is there", () =>
    control()
      .state()
      .threads.some(({ threadId }) => threadId === 60),
  );
  await fa.stop({ leave: true });

  const deletions = (): number =>
    control()
      .transcript()
      .filter(({ method, payload }) => method === "deleteForumTopic" && Number(payload["message_thread_id"]) === 60)
      .length;
  await until(
    "it is deleted",
    () =>
      control()
        .state()
        .threads.find(({ threadId }) => threadId === 60)?.status === "deleted",
  );
  expect(deletions()).toBe(1);
  const later = await create({ name: "FA" });
  expect((await later.ready).thread?.target.threadId).not.toBe(60);
  expect(deletions()).toBe(1);
});
