/** Who may call what: the table of protocol §4.9 row by row, both ways. Our own calls are in `calls-own.test.ts`. */
import { describe, expect, it } from "vitest";
import {
  asBody,
  canonicalInteger,
  isRetrySafe,
  mayV1FollowerCall,
  mayV1FollowerUpload,
  messagesMade,
  messagesOf,
  toGeneral,
  withoutMarkers,
} from "../../../machines/calls.rules.ts";
import type { Body } from "../../../machines/calls.rules.ts";
import { chatId, threadId } from "../../../machines/ids.ts";
import { aggregateDeliveryMarker, crossTargetDeliveryMarker } from "../../../machines/wire/constants.ts";

const own = { chatId: chatId(-1001), threadId: threadId(5) };
const ownChat = { chat_id: -1001 };
const ownTarget = { ...ownChat, message_thread_id: 5 };
const otherChat = { chat_id: -1002 };
const otherThread = { ...ownChat, message_thread_id: 6 };
const aggregate = { [aggregateDeliveryMarker]: true };
const cross = { [crossTargetDeliveryMarker]: true };

interface Row {
  readonly methods: readonly string[];
  readonly allowed: readonly Body[];
  readonly refused: readonly Body[];
  /** What the store says of the message that the body names. */
  readonly ownsMessage?: boolean;
}

/** Protocol §4.9, row by row: the first matching one decides. */
const table: Readonly<Record<string, Row>> = {
  "whatever the body": {
    methods: ["answerCallbackQuery", "answerGuestQuery", "getMe"],
    allowed: [{}, otherChat],
    refused: [],
  },
  "commands, each with its two texts": {
    methods: ["setMyCommands"],
    allowed: [{ commands: [] }, { commands: [{ command: "a", description: "b" }] }],
    refused: [
      {},
      { commands: [{ command: "a" }] },
      { commands: [{ command: 1, description: "b" }] },
      { commands: [{ command: "a", description: "b" }, "c"] },
    ],
  },
  "own chat, any thread": {
    methods: ["sendChatAction"],
    allowed: [ownChat, ownTarget, otherThread, { chat_id: "-1001" }],
    refused: [{}, otherChat, { chat_id: "-01001" }, { chat_id: " -1001" }, { chat_id: null }],
  },
  "aggregate marker: own chat, no thread": {
    methods: ["sendMessage"],
    allowed: [
      { ...ownChat, ...aggregate },
      { ...ownChat, ...aggregate, ...cross },
    ],
    refused: [
      { ...ownTarget, ...aggregate },
      { ...otherThread, ...aggregate },
      { ...otherChat, ...aggregate },
      // With both markers the aggregate row decides, and it wants no thread.
      { ...otherThread, ...aggregate, ...cross },
      // Counts only when exactly true.
      { ...ownChat, [aggregateDeliveryMarker]: "true" },
    ],
  },
  "cross-target marker: own chat, another thread or none": {
    methods: ["sendMessage", "sendRichMessage"],
    allowed: [
      { ...ownChat, ...cross },
      { ...otherThread, ...cross },
      { ...ownChat, message_thread_id: "6", ...cross },
    ],
    refused: [
      { ...ownTarget, ...cross },
      { ...ownChat, message_thread_id: "5", ...cross },
      { ...otherChat, ...cross },
      // protocol/O-37: not canonical, so it is no integer.
      { ...ownChat, message_thread_id: "06", ...cross },
      { ...ownChat, message_thread_id: null, ...cross },
      { ...ownChat, message_thread_id: 6.5, ...cross },
    ],
  },
  "own message": {
    methods: ["deleteMessage", "editMessageReplyMarkup", "editMessageText"],
    allowed: [
      { ...ownChat, message_id: 7 },
      { chat_id: "-1001", message_id: "7" },
    ],
    refused: [{ ...otherChat, message_id: 7 }, { message_id: 7 }],
    ownsMessage: true,
  },
  "own message, when it is another's": {
    methods: ["deleteMessage", "editMessageReplyMarkup", "editMessageText"],
    allowed: [],
    refused: [{ ...ownChat, message_id: 7 }],
    ownsMessage: false,
  },
  "own target": {
    methods: [
      "closeForumTopic",
      "deleteForumTopic",
      "editForumTopic",
      "sendMessage",
      "sendMessageDraft",
      "sendRichMessage",
      "sendRichMessageDraft",
    ],
    allowed: [ownTarget, { chat_id: "-1001", message_thread_id: "5" }],
    refused: [
      {},
      ownChat,
      otherThread,
      { ...otherChat, message_thread_id: 5 },
      { ...ownChat, message_thread_id: "05" },
    ],
  },
  "anything else": {
    methods: [
      "getUpdates",
      "deleteWebhook",
      "setWebhook",
      "createForumTopic",
      "sendPhoto",
      "forwardMessage",
      "pinChatMessage",
      "GETME",
      "",
      "constructor",
    ],
    allowed: [],
    refused: [{}, ownTarget],
    ownsMessage: true,
  },
};

describe("calls of a v1 follower (protocol §4.9)", () => {
  const cases = Object.entries(table).flatMap(([name, row]) =>
    row.methods.map((method) => [method, name, row] as const),
  );

  it.each(cases)("%s: %s", (method, _, { allowed, refused, ownsMessage = false }) => {
    const may = (body: Body) => mayV1FollowerCall({ method, body }, own, ownsMessage);
    for (const body of allowed) expect([body, may(body)]).toEqual([body, true]);
    for (const body of refused) expect([body, may(body)]).toEqual([body, false]);
  });

  it("a marker on a method without a marker row changes nothing", () => {
    const may = (method: string, body: Body) => mayV1FollowerCall({ method, body }, own, false);
    expect(may("sendRichMessage", { ...ownChat, ...aggregate })).toBe(false);
    expect(may("sendMessageDraft", { ...otherThread, ...cross })).toBe(false);
    expect(may("editForumTopic", { ...ownTarget, ...cross })).toBe(true);
  });
});

describe("calls with a file of a v1 follower (protocol §4.9)", () => {
  const may = (method: string, body: Body) => mayV1FollowerUpload({ method, body }, own);
  const methods = ["sendAudio", "sendDocument", "sendMediaGroup", "sendPhoto", "sendRichMessage", "sendVoice"];

  it.each(methods)("%s: into its own thread only, whatever the markers", (method) => {
    expect(may(method, ownTarget)).toBe(true);
    expect(may(method, { chat_id: "-1001", message_thread_id: "5" })).toBe(true);
    for (const body of [
      {},
      ownChat,
      otherThread,
      otherChat,
      { ...otherThread, ...cross },
      { ...ownChat, ...aggregate },
    ])
      expect([body, may(method, body)]).toEqual([body, false]);
  });

  it.each([
    "sendVideo",
    "sendAnimation",
    "sendMessage",
    "setChatPhoto",
    "uploadStickerFile",
    "getMe",
    "senddocument",
    "",
  ])("nothing else: %s", (method) => {
    expect(may(method, ownTarget)).toBe(false);
  });
});

describe("small readings", () => {
  it("an integer is one, or its canonical decimal text (protocol/O-37)", () => {
    expect([5, 0, -5, "5", "0", "-5"].map(canonicalInteger)).toEqual([5, 0, -5, 5, 0, -5]);
    for (const bad of [
      "05",
      "-0",
      "+5",
      "5.0",
      " 5",
      "",
      "1e3",
      5.5,
      Number.NaN,
      "9007199254740992",
      null,
      {},
      [5],
      true,
    ])
      expect(canonicalInteger(bad)).toBeNull();
  });

  it("the messages a call is about: all that it names, in both ways", () => {
    expect(messagesOf({})).toEqual([]);
    expect(messagesOf({ message_id: 7 })).toEqual([7]);
    expect(messagesOf({ message_id: "7" })).toEqual([7]);
    expect(messagesOf({ message_ids: [7, "8"] })).toEqual([7, 8]);
    expect(messagesOf({ message_id: 6, message_ids: [7, 8] })).toEqual([6, 7, 8]);
    expect(messagesOf({ message_ids: [] })).toEqual([]);
  });

  it.each([
    { message_id: "07" },
    { message_id: null },
    { message_id: 7.5 },
    { message_id: [7] },
    { message_ids: null },
    { message_ids: 7 },
    // Telegram reads this one, so it must not pass for "none".
    { message_ids: "[7]" },
    { message_ids: [7, "07"] },
    { message_ids: [7, null] },
    { message_ids: [[7]] },
    { message_id: 7, message_ids: "[8]" },
    { message_id: "07", message_ids: [8] },
  ])("no messages that anybody owns, when one is named in a way that cannot be read: %j", (body) => {
    expect(messagesOf(body)).toBeNull();
  });

  it("a body is an object that is no array", () => {
    expect([{ a: 1 }, null, undefined, [], "x", 1].map(asBody)).toEqual([{ a: 1 }, null, null, null, null, null]);
  });

  it("markers never reach Telegram, whatever they hold (protocol/AP-1)", () => {
    const body = { chat_id: 1, [aggregateDeliveryMarker]: true, [crossTargetDeliveryMarker]: "x" };
    expect(withoutMarkers(body)).toEqual({ chat_id: 1 });
    expect(Object.keys(body)).toHaveLength(3);
  });
});

describe("what may be repeated after an unknown outcome (protocol/AC-4)", () => {
  it.each([
    "deleteMessage",
    "editMessageText",
    "getMe",
    "getChat",
    "getChatMember",
    "sendChatAction",
    "sendMessageDraft",
    "downloadFile",
  ])("%s", (method) => {
    expect(isRetrySafe(method)).toBe(true);
  });

  it.each(["sendMessage", "sendPhoto", "forwardMessage", "copyMessage", "createForumTopic", "pinChatMessage", ""])(
    "not %s",
    (method) => {
      expect(isRetrySafe(method)).toBe(false);
    },
  );
});

describe("the messages a call made (protocol/MO-2)", () => {
  it("are those of the result, single or many", () => {
    const made = (messageId: number, chat: number | null = null) => ({ messageId, chatId: chat });
    expect(messagesMade("sendMessage", { message_id: 7 })).toEqual([made(7)]);
    expect(messagesMade("sendMediaGroup", [{ message_id: 7 }, { message_id: "8" }, {}])).toEqual([made(7), made(8)]);
    expect(messagesMade("copyMessage", { message_id: 7 })).toEqual([made(7)]);
  });

  it("are where they say that they are, if they say it", () => {
    expect(messagesMade("sendMessage", { message_id: 7, chat: { id: -9 } })).toEqual([{ messageId: 7, chatId: -9 }]);
    expect(messagesMade("sendMessage", { message_id: 7, chat: { id: "-9" } })).toEqual([{ messageId: 7, chatId: -9 }]);
    expect(messagesMade("sendMessage", { message_id: 7, chat: { id: "09" } })).toEqual([
      { messageId: 7, chatId: null },
    ]);
  });

  it("are none for other calls, nor for a result without an id", () => {
    expect(messagesMade("editMessageText", { message_id: 7 })).toEqual([]);
    expect(messagesMade("sendChatAction", true)).toEqual([]);
    expect(messagesMade("sendMessage", null)).toEqual([]);
  });
});

describe("C32 a call on the General of a supergroup", () => {
  const group = -1_001_234_567_890;
  const bodyOf = (method: string, body: object, hasTopics = true) =>
    toGeneral({ method, body: { chat_id: group, ...body } }, hasTopics).body;

  it.each(["sendMessage", "sendPhoto", "copyMessage", "forwardMessage"])("%s names no thread", (method) => {
    for (const general of [{}, { message_thread_id: 1 }, { message_thread_id: "1" }])
      expect(bodyOf(method, { text: "x", ...general })).toEqual({ chat_id: group, text: "x" });
  });

  it.each(["sendChatAction", "sendchataction"])("%s names it, by 1", (method) => {
    for (const general of [{}, { message_thread_id: 1 }, { message_thread_id: "1" }])
      expect(bodyOf(method, { action: "typing", ...general })).toEqual({
        chat_id: group,
        action: "typing",
        message_thread_id: 1,
      });
  });

  it("is none in another thread, in a chat that has no General, or where nothing is put into a thread", () => {
    for (const method of ["sendMessage", "sendChatAction"]) {
      expect(bodyOf(method, { message_thread_id: 5 })).toEqual({ chat_id: group, message_thread_id: 5 });
      expect(bodyOf(method, {}, false)).toEqual({ chat_id: group });
      for (const chat_id of [42, -42]) expect(bodyOf(method, { chat_id })).toEqual({ chat_id });
    }
    expect(bodyOf("editForumTopic", { message_thread_id: 1 })).toEqual({ chat_id: group, message_thread_id: 1 });
    expect(bodyOf("getChat", {})).toEqual({ chat_id: group });
  });
});
