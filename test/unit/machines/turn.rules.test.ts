/** Rules of what a turn is made of. */
import { expect, it } from "vitest";
import { journalSeq, messageId } from "../../../machines/ids.ts";
import { agentSourceOf, joinedWords, messagesIn } from "../../../machines/turn.rules.ts";

const updates = new Map<number, unknown>([
  [1, { update_id: 1, message: { message_id: 5, text: "first" } }],
  [2, { update_id: 2, message: { message_id: 6, caption: "second" } }],
  [3, { update_id: 3, edited_message: { message_id: 5, text: "better" } }],
  [4, { update_id: 4, message_reaction: { message_id: 6 } }],
]);
const member = (seq: number, role: "message" | "change", message: number) =>
  ({ seq: journalSeq(seq), role, message: messageId(message) }) as const;

it("updates/T-76: an edit takes its message's place, reactions are no message, words follow in lines", () => {
  const members = [member(1, "message", 5), member(2, "message", 6), member(3, "change", 5), member(4, "change", 6)];
  const messages = messagesIn(members, (seq) => updates.get(seq));
  expect(messages.map((each) => each.seq)).toEqual([1, 2]);
  expect(messages[0]?.update).toEqual({ update_id: 1, message: { message_id: 5, text: "better" } });
  expect(joinedWords(messages.map((each) => each.update))).toBe("better\nsecond");
});

it("updates/Q-91: a message of another agent names its thread", () => {
  expect(agentSourceOf({ message: { pi_telegram_agent_source_thread: "scout" } })).toBe("scout");
  expect(agentSourceOf({ message: { text: "x" } })).toBeNull();
});
