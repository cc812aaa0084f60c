import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { agentUpdate, agentUpdateId, isAgentUpdateId, sourceLabel } from "../../../machines/agents.rules.ts";
import { chatId, threadId, updateId } from "../../../machines/ids.ts";

test("updates/T-107, protocol/AG-5: a label has no line breaks or brackets, one space for a run, at most 64 characters", () => {
  expect(sourceLabel(" a[x]\r\n\n[b] ")).toBe("a x b");
  expect(sourceLabel("x".repeat(70))).toBe("x".repeat(64));
  expect(sourceLabel("plain name")).toBe("plain name");
  for (const nothing of ["", "  ", "[]\n"]) expect(sourceLabel(nothing)).toBe("agent");
});

test("ids lie in [2^52, 2^53): safe integers, never one of Telegram's", () => {
  expect(agentUpdateId("0".repeat(64))).toBe(2 ** 52);
  expect(agentUpdateId("f".repeat(64))).toBe(2 ** 52 + 2 ** 51 - 1);
  expect([2 ** 52 - 1, 2 ** 52].map((id) => isAgentUpdateId(updateId(id)))).toEqual([false, true]);
  const digest = createHash("sha256").update("2001:1:2001:1:6").digest("hex");
  expect(agentUpdateId(digest)).toBe(Number(2n ** 52n + BigInt(`0x${digest}`) / 2n ** 205n));
});

test("the update of a request is the same whenever it is made, with any time that a peer may claim", () => {
  const message = { target: { chatId: chatId(7), threadId: threadId(44) }, messageId: 901, text: "x" };
  const at = (sentAtMs: number, chat = 7) =>
    agentUpdate(updateId(2 ** 52), "source", { ...message, sentAtMs }, { user: 7, chat: chatId(chat) });
  expect(at(1_700_000_000_999)).toEqual(at(1_700_000_000_000));
  for (const odd of [-5, 1e300]) expect(at(odd)).toMatchObject({ message: { date: 0 } });
  expect(at(0)).toMatchObject({ message: { chat: { type: "private" } } });
  expect(at(0, -100)).toMatchObject({ message: { chat: { type: "supergroup" } } });
});
