/** An agent's title for its thread: made when it changes something, never against the user's own. */
import { describe, expect, it } from "vitest";
import { isTitleCall, titleCallAgainst } from "../../../machines/titles.rules.ts";

const edit = (body: object) => ({ method: "editForumTopic", body: { chat_id: 1, message_thread_id: 4, ...body } });

describe("a title", () => {
  it("is set where nobody but us named the thread, and only when it is another one", () => {
    const ours = { name: "build", isNamedByPerson: false };
    expect(titleCallAgainst(edit({ name: "build: green" }), ours)).toEqual(edit({ name: "build: green" }));
    expect(titleCallAgainst(edit({ name: "build" }), ours)).toBeNull();
    expect(titleCallAgainst(edit({ name: "build" }), { name: null, isNamedByPerson: false })).toEqual(
      edit({ name: "build" }),
    );
  });

  it("never takes the place of the user's own; the icon that comes with it is set", () => {
    const users = { name: "My work", isNamedByPerson: true };
    expect(titleCallAgainst(edit({ name: "build" }), users)).toBeNull();
    expect(titleCallAgainst(edit({ name: "build", icon_custom_emoji_id: "5" }), users)).toEqual(
      edit({ icon_custom_emoji_id: "5" }),
    );
  });

  it("is what names one: an edit of the icon, or a look without a change, is none", () => {
    expect(isTitleCall(edit({ name: "x" }))).toBe(true);
    expect(isTitleCall(edit({ icon_custom_emoji_id: "5" }))).toBe(false);
    expect(isTitleCall(edit({}))).toBe(false);
    expect(isTitleCall({ method: "sendMessage", body: { name: "x" } })).toBe(false);
  });
});
