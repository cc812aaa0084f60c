import { expect } from "vitest";
import { chatId } from "../../../machines/ids.ts";
import * as the from "./fixtures.ts";
import { testWith, type Harness } from "./harness.ts";

const move = (from: number, to: number, atMs = 5) => ({ from: chatId(from), to: chatId(to), atMs });

export function chatsContract(make: () => Promise<Harness>): void {
  const test = testWith(make);

  test("a move of a chat is kept once, durably, and shown in the status", async ({ store, harness }) => {
    const epoch = await the.lead(store, 1);
    expect(await store.chats.moves()).toEqual([]);
    expect(await store.chats.move({ epoch, ...move(-5, -1_005) })).toEqual({ kind: "moved" });
    expect(await store.chats.move({ epoch, ...move(-5, -1_005, 9) })).toEqual({ kind: "known" });
    // The first word about a chat stands.
    expect(await store.chats.move({ epoch, ...move(-5, -1_999, 9) })).toEqual({ kind: "known" });
    const reopened = await harness.open();
    expect(await reopened.chats.moves()).toEqual([move(-5, -1_005)]);
    expect((await reopened.status.read()).chatMoves).toEqual([move(-5, -1_005)]);
  });

  test("a chat may move again, and never back", async ({ store }) => {
    const epoch = await the.lead(store, 1);
    await store.chats.move({ epoch, ...move(-5, -6) });
    expect(await store.chats.move({ epoch, ...move(-6, -7) })).toEqual({ kind: "moved" });
    for (const back of [move(-7, -5), move(-7, -6), move(-7, -7)])
      expect(await store.chats.move({ epoch, ...back })).toEqual({ kind: "known" });
  });

  test("only the leader of now keeps one", async ({ store }) => {
    const old = await the.lead(store, 1);
    await store.lease.release({ epoch: old });
    await the.lead(store, 2);
    expect(await store.chats.move({ epoch: old, ...move(-5, -6) })).toMatchObject({ kind: "fenced" });
    expect(await store.chats.moves()).toEqual([]);
  });
}
