/** `partyline pair`, as an operator uses it. */
import { expect, test } from "vitest";
import { owner } from "../support/line/fixtures.ts";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();
const withoutUser = { startedBy: ["env", "-u", "PARTYLINE_USER"] };

test("updates §3.3 an agent without a user waits until its person is paired by code; revoked, nobody is heard", async () => {
  const line = await open();
  const agent = line.start({ name: "A", ...withoutUser });
  await until("it says what is missing", () => agent.errors.some(({ kind }) => kind === "unpaired"));
  line.control.userSends({ text: "hello" });
  const code = (): string | undefined =>
    line.control.messages().flatMap(({ text }) => /partyline pair (\S+)/.exec(text)?.[1] ?? [])[0];
  await until("the person is told a code", () => code() !== undefined);

  const pair = async (...args: string[]) => {
    const { exit, output } = await line.run(["pair", ...args]);
    return { code: exit?.code, output };
  };
  expect((await pair()).output).toMatch(
    new RegExp(`asking\n {2}${code()} {3}\\S.* \\(user ${owner}\\), asked 1 min ago`),
  );
  const wrong = await pair("2222-2222");
  expect(wrong.code).toBe(1);
  expect(wrong.output).toContain("nobody was told");
  const right = await pair(code() ?? "");
  expect(right.code, right.output).toBe(0);
  expect(right.output).toContain(`(user ${owner})`);
  const { threadId: thread } = await agent.whenReady();
  line.say(thread, "work");
  await until("it arrives", () => agent.texts.includes("work"));
  expect((await line.status()).pairing).toMatchObject({ paired: { userId: owner }, asking: 0 });

  expect((await pair("revoke", "--json")).output).toContain('"kind":"revoked"');
  line.say(thread, "more");
  await until("the leader asks anew", () => agent.errors.filter(({ kind }) => kind === "unpaired").length === 2);
  const { drops, polling } = await line.status();
  expect(drops["unpaired"]).toBeGreaterThanOrEqual(1);
  expect(polling.health).toContain("nobody is paired");
  expect(agent.texts).toEqual(["work"]);
});
