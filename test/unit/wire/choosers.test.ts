/** What is written in a thread that nobody has: kept, asked about once, given to whoever was chosen, once. */
import { expect, test } from "vitest";
import { chatId, seatKey, threadId } from "../../../machines/ids.ts";
import { guidanceText, pressWords } from "../../../machines/reroute.rules.ts";
import { owner, seated, startLeader } from "../../support/wire/leader.ts";
import type { LeaderWorld, PeerOptions } from "../../support/wire/leader.ts";
import {
  buttonFor,
  buttonsOf,
  deletions,
  edit,
  journalOf,
  nothingWaits,
  press,
  said,
  strange,
  toldAfter,
  write,
} from "../../support/wire/choosing.ts";
import { take, textsOf } from "../../support/wire/writing.ts";
import type { Peer } from "../../support/wire/writing.ts";

/** A leader, and a follower that takes what it is given as ours do. */
async function line(options: PeerOptions = {}) {
  const world = await startLeader();
  const peer = await seated(world, options);
  peer.answer = (request) => ("delivery" in request ? take(world, peer, request) : {});
  const own = (await world.store.threads.view()).bindings.find(({ thread }) => thread.target.threadId !== peer.thread);
  return { world, peer, own: Number(own?.thread.target.threadId) };
}

/** The same, asked about a message. */
async function asked(text = "hello", options: PeerOptions = {}) {
  const at = await line(options);
  const id = write(at.world, text);
  await at.world.clock.advance(100);
  return { ...at, id };
}

const threadIn = ({ received }: Peer): readonly unknown[] =>
  received.flatMap((each) =>
    each.kind === "leader.forwardMessage" ? [(each.message as { message_thread_id?: number }).message_thread_id] : [],
  );
/** The threads that a question offers, in order. */
const agentsIn = (call: Parameters<typeof buttonsOf>[0]): readonly number[] =>
  buttonsOf(call).flatMap(({ callback_data: data }) => (/:[0-9]+$/.test(data) ? [Number(data.split(":")[2])] : []));
const handedTexts = ({ handed }: LeaderWorld): readonly unknown[] =>
  handed.map(({ update }) => (update as { readonly message?: { readonly text?: string } }).message?.text);

test("updates/T-47: it waits, and the user is asked in that thread, with a button for each agent that is there", async () => {
  const { world, peer, own, id } = await asked();
  const [question, ...more] = said(world);
  expect(more).toEqual([]);
  expect(question?.payload).toMatchObject({ reply_parameters: { message_id: id } });
  expect(agentsIn(question!)).toEqual([own, peer.thread]);
  expect(await journalOf(world)).toEqual({ waiting: 1, claimed: 0, deadLetters: 0 });
  expect([textsOf(peer), world.handed]).toEqual([[], []]);
  // Whatever more is written there belongs to the same question.
  write(world, "and more");
  await world.clock.advance(61_000);
  expect(said(world)).toHaveLength(1);
});

test("updates/OP-34, Q-70, Q-71: a press gives everything to that agent, once and in order; then the emptied thread goes", async () => {
  const { world, peer } = await asked("one");
  write(world, "two");
  await world.clock.advance(100);
  const query = press(world, buttonFor(world, peer.thread));
  await world.clock.advance(1_000);
  expect(textsOf(peer)).toEqual(["one", "two"]);
  // It answers where it is.
  expect(threadIn(peer)).toEqual([peer.thread, peer.thread]);
  expect(toldAfter(world, query)).toEqual([pressWords.moved]);
  expect(deletions(world)).toEqual([strange]);
  await world.clock.advance(61_000);
  expect(textsOf(peer)).toHaveLength(2);
  expect(await journalOf(world)).toEqual(nothingWaits);
  expect(world.handed).toEqual([]);
});

test("a press for the leader's own agent hands it out here", async () => {
  const { world, own } = await asked();
  press(world, buttonFor(world, own));
  await world.clock.advance(1_000);
  expect(handedTexts(world)).toEqual(["hello"]);
  expect(deletions(world)).toEqual([strange]);
  expect(await journalOf(world)).toEqual(nothingWaits);
});

test("a command is asked about by its name, and one that must not wait waits no less", async () => {
  const { world, peer } = await asked("/status");
  expect(said(world)[0]?.payload["text"]).toContain("/status");
  write(world, "/stop");
  await world.clock.advance(100);
  press(world, buttonFor(world, peer.thread));
  await world.clock.advance(1_000);
  expect([...textsOf(peer)].sort()).toEqual(["/status", "/stop"]);
});

test("updates/T-51, OP-40: an album is asked about once and stays together; what was refused goes to nobody else", async () => {
  const { world, peer, own } = await line();
  const usual = peer.answer;
  let isRefused = false;
  peer.answer = (request) => {
    if ("delivery" in request && peer.received.length > 1 && !isRefused) {
      isRefused = true;
      return { ok: false, message: "The journal of the follower is full." };
    }
    return usual(request);
  };
  write(world, "one", { media_group_id: "album" });
  write(world, "two", { media_group_id: "album" });
  await world.clock.advance(1_100);
  expect(said(world)).toEqual([]);
  await world.clock.advance(200);
  expect(said(world)).toHaveLength(1);
  const [toPeer, toOwn] = [buttonFor(world, peer.thread), buttonFor(world, own)];
  press(world, toPeer);
  const again = press(world, toOwn);
  await world.clock.advance(2_000);
  expect(isRefused).toBe(true);
  expect(toldAfter(world, again)).toEqual([pressWords.underWay]);
  expect(textsOf(peer)).toEqual(["one", "two", "two"]);
  expect(world.handed).toEqual([]);
  expect(await journalOf(world)).toEqual(nothingWaits);
});

test("updates/T-52: when Telegram refuses to delete the thread a press tries that again, and nothing is sent a second time", async () => {
  const { world, peer, own } = await asked();
  world.telegram.answer("deleteForumTopic", () => ({
    kind: "rejected",
    error: { error_code: 400, description: "Bad Request: not enough rights" },
  }));
  const [toPeer, toOwn] = [buttonFor(world, peer.thread), buttonFor(world, own)];
  press(world, toPeer);
  await world.clock.advance(500);
  const before = deletions(world).length;
  expect(before).toBeGreaterThan(0);
  const again = press(world, toOwn);
  await world.clock.advance(500);
  expect(toldAfter(world, again)).toEqual([pressWords.settled]);
  expect(deletions(world).length).toBeGreaterThan(before);
  expect([textsOf(peer), world.handed]).toEqual([["hello"], []]);
  world.telegram.answer("deleteForumTopic", null);
  await world.clock.advance(60_000);
  expect((await world.store.cleanups.view()).cleanups).toEqual([]);
});

test("updates/T-50: the buttons of an earlier leadership have expired, and go; the question of now stands", async () => {
  const { world, peer } = await asked();
  const old = buttonFor(world, peer.thread).replace(/^reroute:[0-9a-z]+\./, "reroute:0.");
  const query = press(world, old, { under: 850 });
  await world.clock.advance(500);
  expect(toldAfter(world, query)).toEqual([pressWords.expired]);
  expect(world.telegram.of("deleteMessage").map(({ payload }) => payload["message_id"])).toEqual([850]);
  expect([textsOf(peer), said(world).length]).toEqual([[], 1]);
  press(world, buttonFor(world, peer.thread));
  await world.clock.advance(500);
  expect(textsOf(peer)).toEqual(["hello"]);
});

test("an agent that has gone cannot be chosen: its button goes, and who presses it all the same is told so", async () => {
  const { world, peer, own } = await asked();
  const toPeer = buttonFor(world, peer.thread);
  await world.clock.advance(5_500); // silent for too long
  const query = press(world, toPeer);
  await world.clock.advance(100);
  expect(toldAfter(world, query)).toEqual([pressWords.gone]);
  await world.clock.advance(6_000);
  const [renewed] = [...world.telegram.of("editMessageReplyMarkup")].reverse();
  expect(agentsIn(renewed!)).toEqual([own]);
  expect(await journalOf(world)).toMatchObject({ waiting: 1 });
  press(world, buttonFor(world, own));
  await world.clock.advance(500);
  expect(handedTexts(world)).toEqual(["hello"]);
});

test("a stranger's press moves nothing, and an agent's own button is the agent's, whatever its data look like", async () => {
  const { world, peer } = await asked();
  const toPeer = buttonFor(world, peer.thread);
  const query = press(world, toPeer, { by: 666 });
  await world.clock.advance(500);
  expect([toldAfter(world, query), textsOf(peer)]).toEqual([[], []]);
  const sent = await peer.call("sendMessage", { chat_id: 7, message_thread_id: peer.thread, text: "?" });
  const { message_id: own } = sent.result as { readonly message_id: number }; // as the scripted Telegram answers
  press(world, toPeer, { under: own });
  await world.clock.advance(500);
  expect(peer.received.map(({ kind }) => kind)).toEqual(["leader.forwardCallback"]);
  expect(await journalOf(world)).toMatchObject({ waiting: 1 });
});

test("an edit goes where its message goes, behind it; one whose message is not here is set aside for the operator", async () => {
  const { world, peer, id } = await asked();
  edit(world, id, "hello there");
  await world.clock.advance(500);
  expect(await journalOf(world)).toEqual({ waiting: 2, claimed: 0, deadLetters: 0 });
  press(world, buttonFor(world, peer.thread));
  await world.clock.advance(1_000);
  expect(peer.received.map(({ kind }) => kind)).toEqual(["leader.forwardMessage", "leader.forwardEditedMessage"]);
  for (const n of [1, 2, 3]) edit(world, 400 + n, "of long ago");
  await world.clock.advance(1_000);
  expect(await journalOf(world)).toEqual({ waiting: 0, claimed: 0, deadLetters: 3 });
});

test("once the thread is some seat's, that seat gets what waits there, and the question goes", async () => {
  const { world, peer } = await asked();
  const toPeer = buttonFor(world, peer.thread);
  const { epoch } = await world.store.lease.read();
  const [binding] = (await world.store.threads.view()).bindings.filter(
    ({ thread }) => thread.target.threadId === peer.thread,
  );
  const thread = { ...binding!.thread, slot: "Z", target: { ...binding!.thread.target, threadId: threadId(strange) } };
  await world.store.threads.bind({
    epoch,
    provisionId: null,
    binding: { ...binding!, seat: seatKey("manual:owner-2002"), thread },
  });
  // Whoever chooses before anybody has noticed it is told that there is nothing to choose.
  const query = press(world, toPeer);
  await world.clock.advance(100);
  expect(toldAfter(world, query)).toEqual([pressWords.expired]);
  const late = await seated(world, { pid: 2002 });
  await world.clock.advance(2_000);
  expect(late.thread).toBe(strange);
  expect([textsOf(late), textsOf(peer)]).toEqual([["hello"], []]);
  expect(world.telegram.of("deleteMessage").map(({ payload }) => payload["chat_id"])).toEqual([7]);
  expect(deletions(world)).toEqual([]);
});

test("updates/T-54, T-55 superseded: what is written outside every thread goes to nobody, and the user is told where to write, once a minute", async () => {
  const { world, peer } = await line();
  const outside = { message_thread_id: undefined, is_topic_message: undefined };
  const told = () =>
    world.telegram.of("sendMessage").filter(({ payload }) => payload["message_thread_id"] === undefined);
  const id = write(world, "hello?", outside);
  write(world, "/status", outside);
  await world.clock.advance(500);
  expect(told().map(({ payload }) => payload)).toMatchObject([{ chat_id: 7, reply_parameters: { message_id: id } }]);
  const names = (await world.store.threads.view()).bindings.map(({ thread }) => thread.threadName);
  for (const name of names) expect(told()[0]?.payload["text"]).toContain(name);
  expect((await world.store.status.read()).drops).toMatchObject({ "outside-every-thread": 2 });
  for (let second = 0; second < 30; second += 1) {
    await peer.heartbeat();
    await world.clock.advance(2_000);
  }
  write(world, "still nobody?", outside);
  await world.clock.advance(500);
  expect(told()).toHaveLength(2);
  expect([textsOf(peer), world.handed]).toEqual([[], []]);
});

test("updates/OP-41: with nobody to choose the user is told once that it is kept, and asked as soon as somebody is there", async () => {
  const refused = {
    kind: "rejected",
    error: { error_code: 400, description: "Bad Request: not enough rights" },
  } as const;
  const world = await startLeader({ prepare: ({ telegram }) => telegram.answer("createForumTopic", () => refused) });
  write(world, "one");
  write(world, "two");
  await world.clock.advance(6_000);
  expect(said(world).map(({ payload }) => payload["text"])).toEqual([guidanceText]);
  expect(await journalOf(world)).toEqual({ waiting: 2, claimed: 0, deadLetters: 0 });
  world.telegram.answer("createForumTopic", null);
  const peer = await seated(world);
  peer.answer = (request) => ("delivery" in request ? take(world, peer, request) : {});
  await world.clock.advance(500);
  press(world, buttonFor(world, peer.thread));
  await world.clock.advance(1_000);
  expect(textsOf(peer)).toEqual(["one", "two"]);
});

test("of a thread that is gone the user is asked outside every thread, and that question goes when it is answered", async () => {
  const { world, peer } = await line();
  const gone = { error_code: 400, description: "Bad Request: message thread not found" };
  const sent = { kind: "ok", result: { message_id: 950, chat: { id: 7 } } } as const;
  world.telegram.answer("sendMessage", ({ payload }) =>
    payload["message_thread_id"] === strange ? { kind: "rejected", error: gone } : sent,
  );
  write(world, "hello");
  await world.clock.advance(100);
  const outside = { message_thread_id: undefined, is_topic_message: undefined };
  press(world, buttonFor(world, peer.thread), { under: 950, fields: outside });
  await world.clock.advance(500);
  expect(textsOf(peer)).toEqual(["hello"]);
  expect(deletions(world)).toEqual([]);
  expect(world.telegram.of("deleteMessage").map(({ payload }) => payload)).toEqual([{ chat_id: 7, message_id: 950 }]);
  expect(await journalOf(world)).toEqual(nothingWaits);
});

/** The same as `asked`, with the second list open. */
async function askedWhoMoves(options: PeerOptions = {}) {
  const at = await asked("hello", options);
  const opening = press(at.world, otherList(at.world));
  await at.world.clock.advance(500);
  return { ...at, opening };
}
const lastKeyboard = ({ telegram }: LeaderWorld): readonly string[] =>
  [...telegram.calls].reverse().flatMap((call) => {
    const rows = buttonsOf(call);
    return rows.length === 0 ? [] : [rows.map(({ callback_data: data }) => data)];
  })[0] ?? [];
const otherList = (world: LeaderWorld): string => lastKeyboard(world).at(-1) ?? "";
const targetsTold = ({ received }: Peer): readonly unknown[] =>
  received.flatMap((each) => (each.kind === "leader.replaceFollowerTarget" ? [each.target.threadId] : []));
const boundThreads = async ({ store }: LeaderWorld): Promise<readonly number[]> =>
  (await store.threads.view()).bindings.map(({ thread }) => Number(thread.target.threadId)).sort((a, b) => a - b);

test("the question has a second list, of agents that may move there, and a way back", async () => {
  const { world, peer, own, opening } = await askedWhoMoves();
  expect(toldAfter(world, opening)).toEqual([pressWords.whom]);
  const [, id = ""] = otherList(world).split(":");
  const choices = [own, peer.thread].map((thread) => `reroutenew:${id}:${String(thread)}`);
  expect(lastKeyboard(world)).toEqual([...choices, `rerouteback:${id}`]);
  const back = press(world, otherList(world));
  await world.clock.advance(500);
  expect(toldAfter(world, back)).toEqual([pressWords.whose]);
  expect(lastKeyboard(world).at(-1)).toBe(`rerouterestore:${id}`);
  press(world, buttonFor(world, peer.thread));
  await world.clock.advance(500);
  expect(textsOf(peer)).toEqual(["hello"]);
  expect(targetsTold(peer)).toEqual([]);
});

test("an agent that is chosen moves into the thread, and gets what waits there; its old thread is left over", async () => {
  const { world, peer, own } = await askedWhoMoves();
  const query = press(world, buttonFor(world, peer.thread));
  await world.clock.advance(4_000);
  expect(toldAfter(world, query)).toEqual([pressWords.restored]);
  expect(new Set(targetsTold(peer))).toEqual(new Set([strange]));
  expect(textsOf(peer)).toEqual(["hello"]);
  expect(threadIn(peer)).toEqual([strange]);
  expect(await boundThreads(world)).toEqual([own, strange].sort((a, b) => a - b));
  const { leftovers } = await world.store.threads.view();
  expect(leftovers.map(({ target }) => target.threadId)).toEqual([peer.thread]);
  expect(deletions(world)).toEqual([]);
  expect(world.telegram.of("deleteMessage").map(({ payload }) => payload["message_id"])).toEqual([901]);
  // It is its thread from now on.
  write(world, "and more");
  await world.clock.advance(500);
  expect(textsOf(peer)).toEqual(["hello", "and more"]);
  expect(await journalOf(world)).toEqual(nothingWaits);
});

test("C42: an agent that moves into a thread gives it its name, but not where a person named it", async () => {
  for (const by of ["person", "bot"] as const) {
    const { world, peer } = await askedWhoMoves();
    const target = { chatId: chatId(owner), threadId: threadId(strange) };
    const evidence = { target, what: "renamed", name: "Mine", by, atMs: world.clock.nowMs() } as const;
    await world.store.cleanups.observe({ epoch: (await world.store.lease.read()).epoch, evidence });
    press(world, buttonFor(world, peer.thread));
    await world.clock.advance(4_000);
    const renames = world.telegram.of("editForumTopic").filter(({ payload }) => payload["name"] !== undefined);
    expect(renames.map(({ payload }) => payload["message_thread_id"])).toEqual(by === "person" ? [] : [strange]);
  }
});

test("the leader's own agent moves there like any other", async () => {
  const { world, peer, own } = await askedWhoMoves();
  press(world, buttonFor(world, own));
  await world.clock.advance(4_000);
  expect(handedTexts(world)).toEqual(["hello"]);
  expect(await boundThreads(world)).toEqual([peer.thread, strange].sort((a, b) => a - b));
  write(world, "and more");
  await world.clock.advance(500);
  expect(handedTexts(world)).toEqual(["hello", "and more"]);
  expect([textsOf(peer), targetsTold(peer), deletions(world)]).toEqual([[], [], []]);
});

test("updates/T-53: when the agent refuses the thread nothing is bound anew, what waits is kept, and the question stays", async () => {
  const { world, peer, own } = await askedWhoMoves();
  const usual = peer.answer;
  peer.answer = (request) =>
    request.kind === "leader.replaceFollowerTarget" ? { ok: false, message: "not now" } : usual(request);
  const before = await boundThreads(world);
  const query = press(world, buttonFor(world, peer.thread));
  await world.clock.advance(1_000);
  expect(toldAfter(world, query)).toEqual([pressWords.refused]);
  expect(targetsTold(peer)).toEqual([strange]);
  expect(await boundThreads(world)).toEqual(before);
  expect(await journalOf(world)).toEqual({ waiting: 1, claimed: 0, deadLetters: 0 });
  expect([textsOf(peer), world.telegram.of("deleteMessage")]).toEqual([[], []]);
  press(world, buttonFor(world, own));
  await world.clock.advance(500);
  expect(handedTexts(world)).toEqual(["hello"]);
});

test("threads/T-14, T-28: a thread that a call may be deleting is given to nobody: what waits there can still be forwarded", async () => {
  const { world, peer } = await askedWhoMoves();
  const target = { chatId: chatId(owner), threadId: threadId(strange) };
  const { epoch } = await world.store.lease.read();
  const atMs = world.clock.nowMs();
  await world.store.cleanups.intend({ epoch, seat: seatKey(""), target, reason: "operator", atMs, dueAtMs: atMs });
  await world.store.cleanups.begin({ epoch, target, seenDead: null });
  const before = await boundThreads(world);
  const query = press(world, buttonFor(world, peer.thread));
  await world.clock.advance(1_000);
  expect(toldAfter(world, query)).toEqual([pressWords.refused]);
  expect(await boundThreads(world)).toEqual(before);
});
