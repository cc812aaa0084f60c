/** The policy `notify`: what becomes of an agent whose thread the user deletes, where threads are not replaced. */
import { expect, test } from "vitest";
import { useLines } from "../support/line/use-line.ts";

const open = useLines();

test.each(["L", "FA"])(
  "threads/OP-24 with --lost-threads notify the user is told once that the thread of %s is gone, its words go to the main chat, and its next start makes a thread",
  async (name) => {
    const line = await open();
    const agents = await line.startAll(["L", "FA"], { flags: ["--lost-threads", "notify"] });
    const agent = agents.find(({ label }) => label === name)!;
    const { threadId } = agent;
    const created = () => line.control.transcript().filter(({ method }) => method === "createForumTopic").length;
    const inMain = () =>
      line.control.messages().flatMap((message) => (message.threadId === null ? [message.text] : []));

    line.control.userDeletesThread({ threadId });
    for (const text of ["one", "two"]) expect((await agent.call("sendMessage", { text })).ok).toBe(true);
    expect(inMain()).toEqual([
      expect.stringContaining(`The thread of <b>${name}</b> is gone`),
      `${name}: one`,
      `${name}: two`,
    ]);
    expect(created()).toBe(2);
    expect((await line.status()).threads.map((each) => each.threadId)).not.toContain(threadId);

    await agent.stop();
    const again = await line.start({ name, flags: ["--lost-threads", "notify"] }).whenReady();
    expect(again.threadId).not.toBe(threadId);
    expect(created()).toBe(3);
  },
);
