/** Rules of what an update is to a host that works in turns, and of what belongs together. */
import { describe, expect, it } from "vitest";
import { commandIn, isUrgentUpdate, partOf, shapeOf } from "../../../machines/shape.rules.ts";
import type { PromptShape } from "../../../machines/shape.rules.ts";

const message = (fields: object) => ({ update_id: 1, message: { message_id: 5, from: { id: 7 }, ...fields } });

describe("the shape of an update", () => {
  it.each([
    ["a text", message({ text: "hello" }), { kind: "prompt", textLength: 5, album: null, sender: 7 }],
    ["a photo of an album", message({ photo: [], media_group_id: "g1" }), { kind: "prompt", album: "g1" }],
    ["an unknown command", message({ text: "/deploy now" }), { kind: "prompt", textLength: null }],
    ["/stop", message({ text: " /STOP@some_bot now" }), { kind: "queueCommand", command: "stop", message: 5 }],
    ["/continue", message({ text: "/continue" }), { kind: "queueCommand", command: "continue" }],
    ["/compact", message({ text: "/compact" }), { kind: "exclusiveCommand", message: 5 }],
    ["a command that is answered at once", message({ text: "/status" }), { kind: "aside" }],
    ["a button", { update_id: 1, callback_query: {} }, { kind: "aside" }],
    ["an edit", { update_id: 1, edited_message: { message_id: 5, text: "x" } }, { kind: "edit", message: 5 }],
    ["a message without an id", { update_id: 1, message: {} }, { kind: "aside" }],
    ["nothing", null, { kind: "aside" }],
  ])("%s", (_, update, shape) => {
    expect(shapeOf(update)).toMatchObject(shape);
  });

  it("a reaction says what was and what is", () => {
    const emoji = (text: string) => ({ type: "emoji", emoji: text });
    const update = {
      message_reaction: { message_id: 5, old_reaction: [emoji("👍")], new_reaction: [emoji("👎"), { type: "paid" }] },
    };
    expect(shapeOf(update)).toEqual({ kind: "reaction", message: 5, change: { before: ["👍"], after: ["👎"] } });
  });
});

describe("commands", () => {
  it.each([
    ["/stop", "stop"],
    ["/Stop@bot x", "stop"],
    ["stop", null],
    ["/", null],
    ["/a/b", null],
    [null, null],
  ])("%s is %s", (text, name) => {
    expect(commandIn(text)).toBe(name);
  });

  it("that act on running work do not wait behind it; /continue and edits do", () => {
    expect(["/stop", "/abort", "/next"].map((text) => isUrgentUpdate(message({ text })))).toEqual([true, true, true]);
    expect(isUrgentUpdate(message({ text: "/continue" }))).toBe(false);
    expect(isUrgentUpdate({ edited_message: { message_id: 5, text: "/stop" } })).toBe(false);
  });
});

describe("parts of a larger prompt", () => {
  const part = (fields: object, target = "1:2") => partOf(shapeOf(message(fields)) as PromptShape, target);
  it("have a key of thread and album, or of thread and sender", () => {
    expect(part({ media_group_id: "g" })?.key).not.toBe(part({ media_group_id: "g" }, "1:3")?.key);
    expect(part({ text: "a" })?.key).toBe(part({ text: "b" })?.key);
    expect(part({ text: "a" })?.key).not.toBe(part({ text: "a", from: { id: 8 } })?.key);
  });

  it("are neither commands nor messages without text", () => {
    expect(part({ text: "/deploy" })).toBeNull();
    expect(part({ photo: [] })).toBeNull();
  });
});
