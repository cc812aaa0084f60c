/** Threads that nobody has: who is asked, what a press means, what an update becomes in another thread. */
import { describe, expect, it } from "vitest";
import { epoch, threadId } from "../../../machines/ids.ts";
import {
  askedBy,
  chooserId,
  chooserKeyboard,
  chooserRowsMax,
  chooserText,
  forwardData,
  forwardListData,
  inThread,
  isOfAlbum,
  judgeStrange,
  pressOf,
  readPress,
  restoreData,
  restoreListData,
  unownedReason,
} from "../../../machines/reroute.rules.ts";
import type { StrangeThread } from "../../../machines/reroute.rules.ts";
import { thread } from "../../support/charts/samples.ts";

const seen = (differs: Partial<StrangeThread> = {}): StrangeThread => ({
  facts: { routed: "message" },
  isBeingBound: false,
  isDeleted: false,
  isBehind: false,
  ...differs,
});

describe("what is written in a thread that nobody has", () => {
  it("updates/OP-41, T-47: is kept, and the user is asked", () => {
    expect(judgeStrange(seen())).toEqual({ kind: "ask" });
  });

  it.each([
    ["is about to be somebody's", { isBeingBound: true }],
    [
      "has something earlier that waits, and this is no message",
      { isBehind: true, facts: { routed: "edited_message" } },
    ],
    ["is about to be somebody's although it was deleted", { isBeingBound: true, isDeleted: true }],
  ] as const)("waits without a question when the thread %s", (_, differs) => {
    expect(judgeStrange(seen(differs))).toEqual({ kind: "wait" });
  });

  it("is asked about by itself, too, when something earlier waits: there is one question for all of it", () => {
    expect(judgeStrange(seen({ isBehind: true }))).toEqual({ kind: "ask" });
  });

  it.each(["edited_message", "callback_query", "message_reaction"] as const)(
    "is set aside when it is no message: %s",
    (routed) => {
      expect(judgeStrange(seen({ facts: { routed } }))).toEqual({ kind: "setAside", reason: unownedReason });
    },
  );

  it("is set aside when its thread is known to be deleted: there is nowhere to ask", () => {
    expect(judgeStrange(seen({ isDeleted: true }))).toEqual({ kind: "setAside", reason: "its thread was deleted" });
  });
});

describe("the buttons of a question", () => {
  const id = chooserId(epoch(37), 71);

  it("name the leadership that made them, so that an old one names no question of a later one (updates/T-50)", () => {
    expect(id).toBe("11.1z");
    expect(chooserId(epoch(38), 71)).not.toBe(id);
    expect(forwardData(id, threadId(42))).toBe("reroute:11.1z:42");
    expect(readPress("reroute:11.1z:42")).toEqual({ kind: "forward", id, thread: 42 });
  });

  it("choose an agent that moves here, or lead to the other list", () => {
    expect(restoreData(id, threadId(42))).toBe("reroutenew:11.1z:42");
    expect(restoreListData(id)).toBe("rerouterestore:11.1z");
    expect(readPress(restoreData(id, threadId(42)))).toEqual({ kind: "restore", id, thread: 42 });
    expect(readPress(restoreListData(id))).toEqual({ kind: "restoreList", id });
    expect(readPress(forwardListData(id))).toEqual({ kind: "forwardList", id });
  });

  it.each([
    "",
    "reroute:",
    "reroute:1.1:",
    "reroute:1.1:0",
    "reroute:1.1:-4",
    "reroute:1.1:4:5",
    "reroute:11:4",
    "xreroute:1.1:4",
    "reroute:1.1",
    "reroutenew:1.1",
    "rerouterestore:1.1:4",
    "constructor:1.1:4",
    7,
    null,
  ])("are not %j", (data) => {
    expect(readPress(data)).toBeNull();
  });

  it("are read from a press, and from nothing else", () => {
    expect(pressOf({ update_id: 1, callback_query: { id: "q", data: "reroute:1.1:4" } })).toMatchObject({ thread: 4 });
    expect(pressOf({ update_id: 1, callback_query: { id: "q" } })).toBeNull();
    expect(pressOf({ update_id: 1, message: { data: "reroute:1.1:4" } })).toBeNull();
  });

  it("are one a row, in the order of the letters, at most as many as fit", () => {
    const { inline_keyboard: rows } = chooserKeyboard(
      id,
      [thread(9, "AA", "Last"), thread(5, "B", ""), thread(7, "A", "Amber"), thread(8, "", "")],
      "outside",
    );
    expect(rows).toEqual([
      [{ text: "thread 8", callback_data: "reroute:11.1z:8" }],
      [{ text: "Amber", callback_data: "reroute:11.1z:7" }],
      [{ text: "B", callback_data: "reroute:11.1z:5" }],
      [{ text: "Last", callback_data: "reroute:11.1z:9" }],
    ]);
    const many = Array.from({ length: 200 }, (_, n) => thread(n + 1));
    expect(chooserKeyboard(id, many, "outside").inline_keyboard).toHaveLength(chooserRowsMax);
  });

  it("have one more row, which leads to the other list, unless the thread is gone", () => {
    const last = (list: "forward" | "restore") => chooserKeyboard(id, [thread(5)], list).inline_keyboard.at(-1);
    expect(last("forward")).toEqual([{ text: "Give this thread to an agent…", callback_data: restoreListData(id) }]);
    expect(last("restore")).toEqual([{ text: "Back", callback_data: forwardListData(id) }]);
    expect(chooserKeyboard(id, [thread(5)], "restore").inline_keyboard[0]?.[0]?.callback_data).toBe(
      "reroutenew:11.1z:5",
    );
  });

  it("fit into what Telegram allows, whatever the numbers", () => {
    const data = restoreData(chooserId(epoch(Number.MAX_SAFE_INTEGER), 1e9), threadId(2 ** 31));
    expect(data.length).toBeLessThanOrEqual(64);
  });
});

describe("the question", () => {
  const said = (message: object) => ({ update_id: 1, message });

  it("names a command, and nothing else of what was written", () => {
    expect(chooserText(askedBy(said({ text: "/status@bot now" })))).toContain("/status for?");
    expect(chooserText(askedBy(said({ text: "secret" })))).not.toContain("secret");
    expect(askedBy(said({ photo: [] }))).toEqual({ command: null });
  });

  it("waits for more of an album", () => {
    expect(isOfAlbum(said({ media_group_id: "1" }))).toBe(true);
    expect(isOfAlbum(said({ text: "x" }))).toBe(false);
  });
});

describe("an update that goes to another thread", () => {
  const to = { threadId: threadId(5) };

  it.each(["message", "edited_message"])("names that thread, and is otherwise as it was: %s", (kind) => {
    const update = {
      update_id: 1,
      [kind]: { message_id: 3, message_thread_id: 77, is_topic_message: true, text: "x" },
    };
    expect(inThread(update, to)).toEqual({
      update_id: 1,
      [kind]: { message_id: 3, message_thread_id: 5, is_topic_message: true, text: "x" },
    });
  });

  it("is left alone where it names no thread of its own", () => {
    const update = { update_id: 1, callback_query: { id: "q", data: "x" } };
    expect(inThread(update, to)).toEqual(update);
    expect(inThread({ update_id: 1, message: null }, to)).toEqual({ update_id: 1, message: null });
  });
});
