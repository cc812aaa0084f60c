import { Bot, GrammyError, HttpError } from "grammy";
import type { Update, UserFromGetMe } from "grammy/types";
import { describe, expect, it } from "vitest";
import { attach, type Line, type LineUpdate } from "../../../adapters/grammy/index.ts";

const me: UserFromGetMe = {
  id: 42,
  is_bot: true,
  first_name: "Line",
  username: "line_bot",
  can_join_groups: true,
  can_read_all_group_messages: false,
  supports_inline_queries: false,
  can_connect_to_business: false,
  has_main_web_app: false,
  has_topics_enabled: true,
  allows_users_to_create_topics: false,
  can_manage_bots: false,
  supports_guest_queries: false,
  supports_join_request_queries: false,
};

const message = (text: string): Update => ({
  update_id: 1,
  message: {
    message_id: 5,
    date: 0,
    chat: { id: 7, type: "private", first_name: "U" },
    from: { id: 7, is_bot: false, first_name: "U" },
    message_thread_id: 3,
    text,
  },
});

function fakeLine(answer: (method: string, payload: object) => unknown = (method) => (method === "getMe" ? me : true)) {
  const calls: { method: string; payload: object }[] = [];
  const handlers = new Set<(update: LineUpdate) => void | Promise<void>>();
  let acks = 0;
  const line: Line = {
    call: async (method, payload) => {
      calls.push({ method, payload });
      return await answer(method, payload);
    },
    on: (_event, handler) => {
      handlers.add(handler);
      return () => void handlers.delete(handler);
    },
  };
  const ack = async (): Promise<void> => {
    acks += 1;
    return Promise.resolve();
  };
  const deliver = async (update: Update): Promise<void> => {
    for (const handler of handlers) await handler({ update, ack });
  };
  return { line, calls, deliver, acks: () => acks, listeners: () => handlers.size };
}

/** Fails every call that would leave the process. */
const botOffline = (): Bot =>
  new Bot("1:not-used", {
    client: { fetch: () => Promise.reject(new Error("left the process")) },
  });

describe("an attached bot", () => {
  it("knows who it is from the line", async () => {
    const bot = botOffline();
    const { line, calls } = fakeLine();
    await attach(bot, line);
    expect(bot.botInfo).toEqual(me);
    expect(calls).toEqual([{ method: "getMe", payload: {} }]);
  });

  it("does not ask when its botInfo is known", async () => {
    const bot = botOffline();
    bot.botInfo = me;
    const { line, calls } = fakeLine();
    await attach(bot, line);
    expect(calls).toEqual([]);
  });

  it("gets updates, answers over the line with an untouched payload, and acknowledges", async () => {
    const bot = botOffline();
    bot.on("message:text", (ctx) => ctx.api.sendMessage(ctx.chat.id, `re: ${ctx.message.text}`));
    const fake = fakeLine();
    await attach(bot, fake.line);
    await fake.deliver(message("hi"));
    expect(fake.calls.at(-1)).toEqual({ method: "sendMessage", payload: { chat_id: 7, text: "re: hi" } });
    expect(fake.acks()).toBe(1);
  });

  it("returns what the line returned", async () => {
    const bot = botOffline();
    await attach(bot, fakeLine((method) => (method === "getMe" ? me : { message_id: 9 })).line);
    expect(await bot.api.sendMessage(7, "x")).toEqual({ message_id: 9 });
  });

  it("keeps transformers that were installed before and after, in grammY's order", async () => {
    const bot = botOffline();
    const order: string[] = [];
    for (const name of ["first", "second"]) {
      bot.api.config.use((prev, method, payload, signal) => {
        order.push(name);
        return prev(method, payload, signal);
      });
    }
    const { line, calls } = fakeLine();
    await attach(bot, line);
    bot.api.config.use((prev, method, payload, signal) => {
      order.push("last");
      return prev(method, { ...payload, parse_mode: "HTML" }, signal);
    });
    order.length = 0;
    await bot.api.sendMessage(7, "x");
    expect(order).toEqual(["last", "second", "first"]);
    expect(calls.at(-1)?.payload).toMatchObject({ parse_mode: "HTML" });
  });

  it("refuses to poll", async () => {
    const bot = botOffline();
    await attach(bot, fakeLine().line);
    await expect(bot.start()).rejects.toThrow(/bot\.start\(\) would poll/);
    await expect(bot.api.getUpdates()).rejects.toThrow(/getUpdates would poll/);
  });

  it("cannot be attached twice", async () => {
    const bot = botOffline();
    await attach(bot, fakeLine().line);
    await expect(attach(bot, fakeLine().line)).rejects.toThrow(/attached to a line already/);
  });
});

describe("a failed call", () => {
  const refusal = { error_code: 400, description: "Bad Request: message is too long", parameters: { retry_after: 3 } };

  it.each([
    ["an error that is Telegram's", Object.assign(new Error("x"), refusal)],
    ["an error that holds Telegram's", Object.assign(new Error("x"), { error: refusal })],
  ])("surfaces %s as grammY's GrammyError", async (_name, thrown) => {
    const bot = botOffline();
    bot.botInfo = me;
    await attach(bot, fakeLine(() => Promise.reject(thrown)).line);
    const error: unknown = await bot.api.sendMessage(7, "x").catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(GrammyError);
    expect(error).toMatchObject({ ...refusal, method: "sendMessage", payload: { chat_id: 7, text: "x" } });
  });

  it("surfaces an unanswered call as grammY's HttpError with its cause", async () => {
    const bot = botOffline();
    bot.botInfo = me;
    const lost = new Error("lost");
    await attach(bot, fakeLine(() => Promise.reject(lost)).line);
    const error: unknown = await bot.api.sendMessage(7, "x").catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(HttpError);
    expect(error).toMatchObject({ error: lost });
  });

  it("ends at once when its signal aborts", async () => {
    const bot = botOffline();
    bot.botInfo = me;
    await attach(bot, fakeLine(() => new Promise(() => undefined)).line);
    const abort = new AbortController();
    // grammY's signal type is an older package's; it takes the native one.
    const signal = abort.signal as unknown as NonNullable<Parameters<typeof bot.api.getMe>[0]>;
    const call = bot.api.getMe(signal);
    abort.abort();
    await expect(call).rejects.toBeInstanceOf(HttpError);
  });
});

describe("a failing middleware", () => {
  it("fails the update, unacknowledged, when no bot.catch is set", async () => {
    const bot = botOffline();
    bot.catch((error) => {
      throw error;
    });
    bot.use(() => {
      throw new Error("broken handler");
    });
    const fake = fakeLine();
    await attach(bot, fake.line);
    await expect(fake.deliver(message("hi"))).rejects.toThrow(/broken handler/);
    expect(fake.acks()).toBe(0);
  });

  it("is the business of bot.catch when that handles it", async () => {
    const bot = botOffline();
    const caught: unknown[] = [];
    bot.catch(({ error }) => void caught.push(error));
    bot.use(() => {
      throw new Error("broken handler");
    });
    const fake = fakeLine();
    await attach(bot, fake.line);
    await fake.deliver(message("hi"));
    expect(caught).toHaveLength(1);
    expect(fake.acks()).toBe(1);
  });
});

describe("detaching", () => {
  it("gives the bot back to Telegram: no updates, own calls, and it may be attached again", async () => {
    const bot = botOffline();
    const fake = fakeLine();
    const detach = await attach(bot, fake.line);
    detach();
    detach();
    expect(fake.listeners()).toBe(0);
    await expect(bot.api.sendMessage(7, "x")).rejects.toMatchObject({ error: { message: "left the process" } });
    const second = fakeLine();
    await attach(bot, second.line);
    await bot.api.sendMessage(7, "x");
    expect(second.calls.map(({ method }) => method)).toEqual(["sendMessage"]);
    expect(bot.api.config.installedTransformers()).toHaveLength(1);
  });

  it("happens by itself when getMe fails, and the error says why", async () => {
    const bot = botOffline();
    const unauthorized = Object.assign(new Error("x"), { error_code: 401, description: "Unauthorized" });
    await expect(attach(bot, fakeLine(() => Promise.reject(unauthorized)).line)).rejects.toThrow(/401: Unauthorized/);
    expect(Object.hasOwn(bot, "start")).toBe(false);
    await attach(bot, fakeLine().line);
    expect(bot.botInfo).toEqual(me);
  });
});
