/** A v1 follower's thread that turns out to be gone when it is written to: replaced, told, and nothing sent is lost. */
import { expect, test } from "vitest";
import { wireText } from "../../../machines/wire/texts.ts";
import { owner, seated, startLeader } from "../../support/wire/leader.ts";
import type { LeaderWorld } from "../../support/wire/leader.ts";

const gone = { error_code: 400, description: "Bad Request: message thread not found" };

/** From now on this thread is gone at Telegram. */
function lose(world: LeaderWorld, thread: number): void {
  for (const method of ["sendMessage", "sendDocument", "editForumTopic"])
    world.telegram.answer(method, ({ payload }) =>
      Number(payload["message_thread_id"]) === thread
        ? { kind: "rejected", error: gone }
        : {
            kind: "ok",
            result: { message_id: 700, date: 1, chat: { id: owner }, message_thread_id: payload["message_thread_id"] },
          },
    );
}

async function lost(answer?: Parameters<typeof seated>[1]) {
  const world = await startLeader();
  const peer = await seated(world, answer);
  lose(world, peer.thread);
  const moves = () => peer.received.filter(({ kind }) => kind === "leader.replaceFollowerTarget");
  return { world, peer, moves, own: { chat_id: owner, message_thread_id: peer.thread } };
}

const threadsOf = (world: LeaderWorld, method: string) =>
  world.telegram.of(method).map(({ payload }) => Number(payload["message_thread_id"]));

test("protocol/AP-4 superseded: a send into a thread that is gone is made once in its successor, and the follower is told of it", async () => {
  const { world, peer, moves, own } = await lost();
  const pending = peer.begin({
    kind: "follower.callApi",
    ...peer.base(),
    method: "call",
    args: ["sendMessage", { ...own, text: "x" }],
  });
  await world.clock.advance(2_000);
  const ack = await pending;
  expect(ack).toMatchObject({ ok: true });
  const fresh = (ack.result as { readonly message_thread_id: number }).message_thread_id; // where it stands now
  expect(fresh).not.toBe(peer.thread);
  const said = world.telegram.of("sendMessage").filter(({ payload }) => payload["text"] === "x");
  expect(said.map(({ payload }) => payload["message_thread_id"])).toEqual([peer.thread, fresh]);
  expect(moves()).toMatchObject([
    {
      recipientInstanceId: peer.id,
      recipientRegistrationGeneration: peer.generation,
      target: { chatId: owner, threadId: fresh },
      oldTarget: { chatId: owner, threadId: peer.thread },
      reason: "thread-restore",
    },
  ]);
  // Its generation is the same, and the new thread its own.
  expect(await peer.call("sendMessage", { ...own, message_thread_id: fresh, text: "y" })).toMatchObject({ ok: true });
  // Said before it heard of the move: it goes where the thread is now.
  expect(await peer.call("sendMessage", { ...own, text: "z" })).toMatchObject({
    ok: true,
    result: { message_thread_id: fresh },
  });
});

test("protocol/AP-4 superseded: an upload into a thread that is gone goes to its successor, too", async () => {
  const { world, peer, moves, own } = await lost();
  const fields = { chat_id: String(owner), message_thread_id: String(own.message_thread_id) };
  const pending = peer.begin({
    kind: "follower.callApi",
    ...peer.base(),
    method: "callMultipart",
    args: ["sendDocument", fields, "document", "/srv/peer/a.bin", "a.bin"],
  });
  await world.clock.advance(2_000);
  expect(await pending).toMatchObject({ ok: true });
  const [first, second, ...more] = threadsOf(world, "sendDocument");
  expect([first === peer.thread, second === peer.thread, more]).toEqual([true, false, []]);
  expect(moves()).toHaveLength(1);
});

test("a call that ends a lost thread does not end its successor", async () => {
  const { world, peer, own } = await lost();
  const pending = peer.begin({
    kind: "follower.callApi",
    ...peer.base(),
    method: "call",
    args: ["sendMessage", { ...own, text: "x" }],
  });
  await world.clock.advance(2_000);
  await pending;
  for (const method of ["deleteForumTopic", "closeForumTopic"]) {
    expect(await peer.call(method, own)).toMatchObject({ ok: false, message: wireText.callNotAllowed });
    expect(world.telegram.of(method)).toEqual([]);
  }
});

test.each([
  ["refuses", () => ({ ok: false, message: "Telegram bus receiver cannot replace follower target." })],
  ["does not answer", () => new Promise<never>(() => undefined)],
] as const)(
  "a follower that %s when it is told is written to no more, registers again, and hears of its thread then",
  async (_, said) => {
    const { world, peer, moves, own } = await lost();
    const usual = peer.answer;
    peer.answer = (request) => (request.kind === "leader.replaceFollowerTarget" ? said() : usual(request));
    const pending = peer.begin({
      kind: "follower.callApi",
      ...peer.base(),
      method: "call",
      args: ["sendMessage", { ...own, text: "x" }],
    });
    for (let second = 0; second < 32; second += 1) {
      await world.clock.advance(1_000);
      if (!(await peer.heartbeat()).ok) break;
    }
    expect(moves()).toHaveLength(1);
    expect(await pending).toMatchObject({ ok: true });
    expect(await peer.heartbeat()).toMatchObject({ ok: false, message: wireText.unknownFollower });
    const ack = await peer.register();
    expect(ack).toMatchObject({ ok: true });
    expect((ack.result as { readonly threadId: number }).threadId).not.toBe(peer.thread); // a positive answer names a thread
    expect(await peer.heartbeat()).toMatchObject({ ok: true });
    expect(world.telegram.of("createForumTopic")).toHaveLength(3);
  },
);
