/** What service messages tell of a thread. */
import { expect, it } from "vitest";
import { evidenceOf } from "../../../machines/evidence.rules.ts";

const told = (content: object, isBot = false) =>
  evidenceOf(
    { update_id: 1, message: { chat: { id: 5 }, message_thread_id: 41, from: { is_bot: isBot }, ...content } },
    9,
  );
const target = { chatId: 5, threadId: 41 };

it.each([
  [{ forum_topic_created: { name: "Amber" } }, "created", "Amber"],
  [{ forum_topic_edited: { name: "My work" } }, "renamed", "My work"],
  [{ forum_topic_edited: { icon_custom_emoji_id: "1" } }, "renamed", null],
  [{ forum_topic_closed: {} }, "closed", null],
  [{ forum_topic_reopened: {} }, "reopened", null],
])("threads §6.3: %o is a thread that was %s", (content, what, name) => {
  expect(told(content)).toEqual({ target, what, name, by: "person", atMs: 9 });
});

it("C42: an edit by the bot is told apart from a person's", () => {
  expect(told({ forum_topic_edited: { name: "x" } }, true)).toMatchObject({ by: "bot" });
});

it.each([null, {}, { message: 3 }, { message: { text: "hi", chat: { id: 5 }, message_thread_id: 41 } }])(
  "reads no evidence out of %o",
  (update) => {
    expect(evidenceOf(update, 9)).toBeNull();
  },
);

it("needs to know which thread", () => {
  expect(told({ forum_topic_closed: {}, message_thread_id: "41" })).toBeNull();
  expect(told({ forum_topic_closed: {}, chat: {} })).toBeNull();
});
