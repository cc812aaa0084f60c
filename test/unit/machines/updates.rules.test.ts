/** Reading updates, who may cause effects, lanes, and what a batch of ids means to the cursor. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chatId, threadId, updateId } from "../../../machines/ids.ts";
import {
  allowedUpdates,
  dropReason,
  judgeBatch,
  laneOf,
  readUpdate,
  refusalsMax,
} from "../../../machines/updates.rules.ts";
import { chat, facts, person } from "../../support/charts/samples.ts";

const from = { id: person, is_bot: false };
const message = { message_id: 77, chat: { id: -1001 }, from, text: "hi" };
const inTopic = { ...message, message_thread_id: 5, is_topic_message: true };

describe("reading an update", () => {
  it.each([
    ["a message in a topic", { message: inTopic }, facts()],
    ["a message outside topics", { message }, facts({ thread: null })],
    ["a reply chain, which is no topic", { message: { ...message, message_thread_id: 9 } }, facts({ thread: null })],
    ["an edit", { edited_message: inTopic }, facts({ kind: "edited_message", routed: "edited_message" })],
    [
      "a button pressed, under the message it hangs on",
      { callback_query: { id: "1", from, message: { ...inTopic, from: { id: 1, is_bot: true } } } },
      facts({ kind: "callback_query", routed: "callback_query" }),
    ],
    [
      "a button without a message",
      { callback_query: { id: "1", from, inline_message_id: "x" } },
      facts({ kind: "callback_query", routed: "callback_query", chat: null, thread: null, message: null }),
    ],
    [
      "a reaction, which has no thread",
      { message_reaction: { chat: { id: -1001 }, message_id: 77, user: from } },
      facts({ kind: "message_reaction", routed: "message_reaction", thread: null }),
    ],
    [
      "a kind without a handler",
      { my_chat_member: { chat: { id: -1001 }, from } },
      facts({ kind: "my_chat_member", routed: null, thread: null, message: null }),
    ],
    [
      "one with nothing in it",
      {},
      facts({ kind: "nothing", routed: null, chat: null, thread: null, message: null, user: null }),
    ],
    [
      "one whose carrier is no object",
      { message: "x" },
      facts({ chat: null, thread: null, message: null, user: null }),
    ],
  ])("%s", (_, carrier, read) => {
    expect(readUpdate({ update_id: 11, ...carrier })).toEqual(read);
  });

  it.each([null, undefined, [], "x", {}, { update_id: "11" }, { update_id: 1.5 }, { update_id: -1 }])(
    "%j is none",
    (update) => {
      expect(readUpdate(update)).toBeNull();
    },
  );

  it("finds a person only where one speaks for themselves", () => {
    const userOf = (differs: object) => readUpdate({ update_id: 11, message: { ...message, ...differs } })?.user;
    expect(userOf({})).toBe(person);
    for (const differs of [
      { from: { id: person, is_bot: true } },
      { from: { id: person } },
      { from: undefined },
      { sender_chat: { id: -5 } },
      { from: { id: "42", is_bot: false } },
    ])
      expect(userOf(differs)).toBeNull();
    const anonymous = { chat: { id: -1001 }, message_id: 77, actor_chat: { id: -5 }, user: from };
    expect(readUpdate({ update_id: 11, message_reaction: anonymous })?.user).toBeNull();
  });

  it.each(["forum_topic_created", "forum_topic_edited", "forum_topic_closed", "forum_topic_reopened"])(
    "knows %s for a topic's service message",
    (field) => {
      expect(readUpdate({ update_id: 11, message: { ...message, [field]: {} } })?.isTopicService).toBe(true);
      expect(readUpdate({ update_id: 11, edited_message: { ...message, [field]: {} } })?.isTopicService).toBe(false);
    },
  );

  it("never throws, whatever comes from outside", () => {
    fc.assert(
      fc.property(fc.anything(), fc.constantFrom("message", "callback_query", "message_reaction"), (value, kind) => {
        readUpdate(value);
        expect(readUpdate({ update_id: 11, [kind]: value })?.kind).toBe(kind);
      }),
    );
  });
});

describe("who may cause effects (updates/OP-33)", () => {
  const former = chatId(-77);
  const audience = { user: person, chat, former: [former] };

  it.each([
    ["the person in the chat", {}, null],
    ["somebody else", { user: 666 }, "unauthorized"],
    ["nobody: an anonymous admin, a channel, a bot", { user: null }, "unauthorized"],
    ["somebody else with a kind that nobody handles", { user: 666, kind: "poll", routed: null }, "unauthorized"],
    ["the person with a kind that nobody handles", { kind: "poll_answer", routed: null }, "not-handled:poll_answer"],
    ["the person in another chat", { chat: chatId(-5) }, "foreign-chat"],
    ["the person in no chat", { chat: null }, "foreign-chat"],
    ["Telegram's word about a topic", { isTopicService: true, user: null }, "topic-service-message"],
    ["the person's act on a topic", { isTopicService: true }, "topic-service-message"],
    ["the person in what our chat was before", { chat: former }, null],
    ["Telegram's word that our chat is another now", { isChatMove: true, user: null }, "chat-moved"],
    ["such a word of our former chat", { isChatMove: true, chat: former }, "chat-moved"],
    ["such a word elsewhere", { isChatMove: true, chat: chatId(-5) }, "foreign-chat"],
    ["a word about a topic elsewhere", { isTopicService: true, user: 666, chat: chatId(-5) }, "unauthorized"],
  ])("%s", (_, differs, reason) => {
    expect(dropReason(facts(differs), audience)).toBe(reason);
  });

  it.each([{}, { kind: "poll", routed: null }, { isTopicService: true }, { user: null }])(
    "nobody while nobody is paired, whatever it is (%o)",
    (differs) => {
      expect(dropReason(facts(differs), null)).toBe("unpaired");
    },
  );
});

describe("lanes: what runs in order", () => {
  it.each([
    ["a thread", {}, "-1001:5"],
    ["what a chat has outside its threads", { thread: null }, "-1001:main"],
    ["what belongs to no chat", { chat: null, thread: null }, "none"],
  ])("%s is one", (_, differs, lane) => {
    expect(laneOf(facts(differs))).toBe(lane);
  });

  it("two updates share one exactly when chat and thread are the same", () => {
    const place = fc.record({ chat: fc.integer({ max: 9 }), thread: fc.option(fc.nat(9)) });
    fc.assert(
      fc.property(place, place, (a, b) => {
        const [one, two] = [a, b].map((each) =>
          laneOf(facts({ chat: chatId(each.chat), thread: each.thread === null ? null : threadId(each.thread) })),
        );
        expect(one === two).toBe(a.chat === b.chat && a.thread === b.thread);
      }),
    );
  });
});

describe("what a batch of ids means to the cursor", () => {
  const judgeAfter = (refusals: number, cursor: number | null, ...ids: readonly (number | null)[]) =>
    judgeBatch(
      { cursor: cursor === null ? null : updateId(cursor), refusals },
      ids.map((id) => (id === null ? null : updateId(id))),
    );
  const judge = (cursor: number | null, ...ids: readonly (number | null)[]) => judgeAfter(0, cursor, ...ids);

  it.each([
    ["the next ones", 10, [10, 11, 15], { cursor: 16, restarted: false }],
    ["later ones: a gap is Telegram's business", 10, [500], { cursor: 501, restarted: false }],
    ["any, without a cursor", null, [3, 4], { cursor: 5, restarted: false }],
    ["an id restart: more than a thousand below", 5_000, [3_999], { cursor: 4_000, restarted: true }],
    ["an id restart that runs on past the cursor", 5_000, [1, 6_000], { cursor: 6_001, restarted: true }],
  ])("admits %s", (_, cursor, ids, verdict) => {
    expect(judge(cursor, ...ids)).toEqual({ kind: "admit", irregular: null, ...verdict });
  });

  it.each([
    [
      "ids that go on a little below the cursor",
      [4_990, 4_991],
      { cursor: 4_992, irregular: "update ids that were confirmed before" },
    ],
    [
      "an update without an id among others",
      [5_000, null, 5_002],
      { cursor: 5_003, irregular: "an update without a usable update_id" },
    ],
    [
      "ids out of order: only the lowest is confirmed, the rest may have others between",
      [5_014, 5_011, 5_012],
      { cursor: 5_012, irregular: "update ids that do not ascend" },
    ],
    ["an id twice", [5_000, 5_000], { cursor: 5_001, irregular: "update ids that do not ascend" }],
  ])("updates/OP-32 updates/T-5 takes, when it has come three times, a batch with %s", (_, ids, verdict) => {
    expect(judgeAfter(refusalsMax - 1, 5_000, ...ids)).toMatchObject({ kind: "refuse" });
    expect(judgeAfter(refusalsMax, 5_000, ...ids)).toMatchObject({ kind: "admit", ...verdict });
  });

  it("never takes a batch of which nothing can be confirmed", () => {
    expect(judgeAfter(refusalsMax, 10, null, null)).toMatchObject({ kind: "refuse" });
  });

  it.each([
    ["a repetition, up to a thousand below", 5_000, [4_999]],
    ["a repetition at the edge of a restart", 5_000, [4_000, 4_001]],
    ["ids out of order", 10, [11, 10]],
    ["an id twice", 10, [10, 10]],
    ["an update without an id", 10, [null]],
    ["an update without an id among others", 10, [10, null, 12]],
  ])("updates/T-4 updates/T-5 refuses whole %s", (_, cursor, ids) => {
    expect(judge(cursor, ...ids)).toMatchObject({ kind: "refuse" });
  });

  it("takes an empty batch for empty", () => {
    expect(judge(10)).toEqual({ kind: "empty" });
    expect(judge(null)).toEqual({ kind: "empty" });
  });

  it("asks next for one beyond the last, and never for less than it had without a restart", () => {
    const ids = fc.uniqueArray(fc.nat(20_000), { minLength: 1, maxLength: 5 }).map((all) => all.sort((a, b) => a - b));
    fc.assert(
      fc.property(fc.nat(20_000), ids, (cursor, batch) => {
        const verdict = judge(cursor, ...batch);
        if (verdict.kind !== "admit") return;
        expect(verdict.cursor).toBe((batch.at(-1) ?? 0) + 1);
        expect(verdict.restarted).toBe(cursor - (batch[0] ?? 0) > 1_000);
        if (!verdict.restarted) expect(verdict.cursor).toBeGreaterThan(cursor);
      }),
    );
  });
});

it("polls for every type of update that the Bot API has, as its types list them", () => {
  const source = readFileSync(new URL("../../../node_modules/@grammyjs/types/update.d.ts", import.meta.url), "utf8");
  const body = /export interface Update \{(?<fields>[\s\S]*?)\n\}/.exec(source)?.groups?.["fields"] ?? "";
  const keys = [...body.matchAll(/^ {4}(?<key>\w+)\??:/gm)].map((match) => match.groups?.["key"] ?? "");
  expect(keys.length).toBeGreaterThan(20);
  expect([...allowedUpdates].sort()).toEqual(keys.filter((key) => key !== "update_id").sort());
});
