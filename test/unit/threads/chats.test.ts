/** A call that is refused because its chat has become another: that is kept under the epoch, and the call is made there, once. */
import { describe, expect, it, vi } from "vitest";
import { createMemoryStore } from "../../../adapters/store/memory/index.ts";
import { chatId } from "../../../machines/ids.ts";
import { Chats, followingChat, inChatOfNow, lookForMoves } from "../../../services/chats.ts";
import type { CallOutcome } from "../../../services/ports.ts";
import type { Runtime } from "../../../services/runtime.ts";
import * as the from "../store/fixtures.ts";

const group = chatId(-5);
const supergroup = chatId(-1_005);
const ok: CallOutcome = { kind: "ok", result: {} };
const refusedFor = (to: number): CallOutcome => ({
  kind: "rejected",
  error: { error_code: 400, description: "Bad Request: upgraded", parameters: { migrate_to_chat_id: to } },
});
const say = (chat: number, more: object = {}) => ({
  method: "sendMessage",
  payload: { chat_id: chat, text: "hi", ...more },
});

/** A leader in the group, whose calls are refused there and taken in the supergroup. */
async function leading(configured = group) {
  const clock = new the.StoppedClock();
  const store = createMemoryStore({ clock });
  const epoch = await the.lead(store, 1);
  const chats = new Chats(configured);
  const moved = vi.fn();
  chats.moved.listen(moved);
  const runtime = {
    ports: { store, stage: { clock, log: { event: () => undefined } } },
    gate: { permit: () => ({ epoch, remainingMs: 1_000, signal: new AbortController().signal }) },
    chats,
    // What following a chat does not touch is left out.
  } as unknown as Runtime;
  const make = vi.fn((call: ReturnType<typeof say>) =>
    Promise.resolve(call.payload.chat_id === configured ? refusedFor(supergroup) : ok),
  );
  return { runtime, store, epoch, chats, moved, make };
}

describe("a call that is refused because its chat has become another", () => {
  it("is made in the new chat, once, after that is kept; whoever leads hears of it", async () => {
    const { runtime, store, chats, moved, make } = await leading();
    expect(await followingChat(runtime, say(group, { reply_to_message_id: 4 }), make)).toEqual(ok);
    expect(make.mock.calls.map(([call]) => call)).toEqual([say(group, { reply_to_message_id: 4 }), say(supergroup)]);
    expect(await store.chats.moves()).toMatchObject([{ from: group, to: supergroup }]);
    expect([chats.now, chats.former, chats.isOurs(group)]).toEqual([supergroup, [group], true]);
    expect(moved).toHaveBeenCalledTimes(1);
    // Another one that was under way meanwhile.
    expect(await followingChat(runtime, say(group), make)).toEqual(ok);
    expect(moved).toHaveBeenCalledTimes(1);
  });

  it("is made twice at most, whatever the new chat says", async () => {
    const { runtime } = await leading();
    const make = vi.fn(() => Promise.resolve(refusedFor(-9)));
    expect(await followingChat(runtime, say(group), make)).toEqual(refusedFor(-9));
    expect(make).toHaveBeenCalledTimes(2);
  });

  it("stands in the new chat under the name of the thread that it was for", async () => {
    const { runtime, store, epoch, make } = await leading();
    const target = { ...the.target(7), chatId: group };
    const binding = { ...the.binding(1, 7), thread: { ...the.thread(7), target, threadName: "Work" } };
    await store.threads.bind({ epoch, provisionId: null, binding });
    await followingChat(runtime, say(group, { message_thread_id: target.threadId }), make);
    expect(make.mock.lastCall?.[0].payload).toEqual({ chat_id: supergroup, text: "Work: hi" });
  });

  it("is not made again when it is about something of the old chat, but the move is kept", async () => {
    const { runtime, store, make } = await leading();
    const edit = { method: "editMessageText", payload: { chat_id: group, text: "x", message_id: 4 } };
    expect(await followingChat(runtime, edit, make)).toEqual(refusedFor(supergroup));
    expect(make).toHaveBeenCalledTimes(1);
    expect(await store.chats.moves()).toHaveLength(1);
    expect(inChatOfNow(runtime, { method: edit.method, body: edit.payload })).toBeNull();
    expect(inChatOfNow(runtime, { method: "sendMessage", body: say(group).payload })?.body).toEqual(
      say(supergroup).payload,
    );
  });

  it("is not made again when it is not known what became of it, though the chat has moved", async () => {
    const { runtime, make } = await leading();
    await followingChat(runtime, say(group), make);
    const lost = vi.fn(() => Promise.resolve<CallOutcome>({ kind: "ambiguous", reason: "cut" }));
    expect(await followingChat(runtime, say(group), lost)).toEqual({ kind: "ambiguous", reason: "cut" });
    expect(lost).toHaveBeenCalledTimes(1);
  });

  it.each([
    ["its chat is not ours", group, say(-77)],
    ["ours is a private chat, which is never upgraded", chatId(5), say(5)],
  ])("is refused as it is when %s", async (_, configured, call) => {
    const { runtime, store } = await leading(configured);
    const make = vi.fn(() => Promise.resolve(refusedFor(-9)));
    expect(await followingChat(runtime, call, make)).toEqual(refusedFor(-9));
    expect(make).toHaveBeenCalledTimes(1);
    expect(await store.chats.moves()).toEqual([]);
  });

  it("is refused as it is by a leader whose epoch is over, or whose store cannot keep it", async () => {
    const fenced = await leading();
    await fenced.store.lease.release({ epoch: fenced.epoch });
    await the.lead(fenced.store, 2);
    expect(await followingChat(fenced.runtime, say(group), fenced.make)).toEqual(refusedFor(supergroup));
    const busy = await leading();
    await busy.store.close();
    expect(await followingChat(busy.runtime, say(group), busy.make)).toEqual(refusedFor(supergroup));
    expect([fenced.chats.now, busy.chats.now]).toEqual([group, group]);
  });
});

it("whoever comes later, configured for the old chat or for the new one, learns it from the store", async () => {
  const { store, epoch, runtime } = await leading();
  await store.chats.move({ epoch, from: group, to: supergroup, atMs: 1 });
  await lookForMoves(runtime);
  expect(runtime.chats.now).toBe(supergroup);
  const late = new Chats(supergroup);
  late.learn(await store.chats.moves());
  expect([late.now, late.former]).toEqual([supergroup, [group]]);
});
