/** Pairing through a whole instance, in virtual time: who is heard, who is answered, from when to when. */
import { expect, test } from "vitest";
import { pairingKeepMs, pairingToldEveryMs } from "../../../machines/pairing.rules.ts";
import { roleOf } from "../../../machines/role.rules.ts";
import { pairingOf } from "../../../services/pairing-desk.ts";
import { describeLine } from "../../../services/status.ts";
import { startInstance } from "../../support/wire/leader.ts";
import type { LeaderWorld, WorldOptions } from "../../support/wire/leader.ts";

const ann = 501;
const eve = 666;
const unpaired = { user: null, chat: null } as const;

async function waiting(options: WorldOptions = {}): Promise<LeaderWorld> {
  const world = await startInstance({ ...options, settings: unpaired });
  // As in production every secret is another one, so every code is.
  let count = 0;
  Object.assign(world.instance.runtime.ports.ids, { secret: () => `secret ${(count += 1)}` });
  await world.clock.advance(3_000);
  return world;
}

let lastId = 100;
async function says(world: LeaderWorld, user: number, text: string, more: object = {}): Promise<void> {
  lastId += 1;
  const from = { id: user, is_bot: false, first_name: `User ${user}` };
  world.telegram.give({
    update_id: lastId,
    ...{ message: { message_id: lastId, date: 1, chat: { id: user, type: "private" }, from, text, ...more } },
  });
  await world.clock.advance(1_000);
}

const told = ({ telegram }: LeaderWorld, user: number): string[] =>
  telegram.of("sendMessage").flatMap(({ payload }) => (payload["chat_id"] === user ? [String(payload["text"])] : []));
const codeIn = (text: string | undefined): string => /pair (\S+)\n/.exec(text ?? "")?.[1] ?? "";
const desk = ({ store, clock }: LeaderWorld) => pairingOf({ store, clock });
const roleIn = ({ instance }: LeaderWorld) => roleOf(instance.actor.getSnapshot());
const drops = async ({ store }: LeaderWorld) => (await store.status.read()).drops;
const inThread = { message_thread_id: 41, is_topic_message: true };

async function paired(options: WorldOptions = {}): Promise<LeaderWorld> {
  const world = await waiting(options);
  await says(world, ann, "/start");
  await desk(world).approve(codeIn(told(world, ann)[0]));
  await world.clock.advance(2_000);
  return world;
}

test("updates/OP-33 and T-44, threads/S-19, FP-1, LP-8 and OB-1 superseded: while nobody is paired, every update is a counted drop: no thread, no endpoint, nobody hears of it", async () => {
  const world = await waiting();
  await says(world, eve, "hello", inThread);
  await says(world, ann, "/start");
  expect(world.handed).toEqual([]);
  expect(world.telegram.of("createForumTopic")).toEqual([]);
  await expect(world.network.transport("follower").dial("memory:leader", 1_000)).rejects.toThrow();
  expect(await drops(world)).toEqual({ unpaired: 2 });
  expect((await world.store.status.read()).journal).toEqual({ waiting: 0, claimed: 0, deadLetters: 0 });
  const { polling, pairing } = await describeLine({
    store: world.store,
    clock: world.clock,
    processes: world.instance.runtime.ports.processes,
  });
  expect(polling.health).toContain("nobody is paired");
  expect(pairing).toEqual({ paired: null, asking: 2 });
});

test("first contact pairs nobody: each is told a code of their own, and only the approved one is heard, in their chat", async () => {
  const world = await waiting();
  await says(world, eve, "/start");
  await says(world, ann, "/start");
  await world.clock.advance(pairingToldEveryMs);
  expect(world.instance.runtime.board.place).toBeNull();
  const [code] = told(world, ann).map(codeIn);
  expect(codeIn(told(world, eve)[0])).not.toBe(code);
  expect((await desk(world).approve("2222-2222")).kind).toBe("missing");
  expect(await desk(world).approve(code!.toLowerCase().replace("-", ""))).toMatchObject({
    kind: "approved",
    user: { userId: ann },
  });
  await world.clock.advance(2_000);
  expect(roleIn(world)).toBe("leader");
  expect(world.telegram.of("createForumTopic")).toMatchObject([{ payload: { chat_id: ann } }]);

  await says(world, ann, "work", inThread);
  await says(world, eve, "work", inThread);
  await says(world, eve, "/start");
  expect(world.handed.map(({ update }) => update)).toMatchObject([{ message: { text: "work", from: { id: ann } } }]);
  expect(await drops(world)).toMatchObject({ unpaired: 2, unauthorized: 2 });
  expect(told(world, eve)).toHaveLength(1);
});

test("the code is told at most once a minute, and another one when its time is over", async () => {
  const world = await waiting();
  for (let n = 0; n < 5; n += 1) await says(world, ann, "/start");
  expect(told(world, ann)).toHaveLength(1);
  await world.clock.advance(pairingToldEveryMs);
  await says(world, ann, "/start");
  expect(told(world, ann)).toEqual([told(world, ann)[0], told(world, ann)[0]]);
  await world.clock.advance(pairingKeepMs);
  const code = codeIn(told(world, ann)[0]);
  expect((await desk(world).approve(code)).kind).toBe("expired");
  await says(world, ann, "/start");
  const { requests } = await desk(world).state();
  expect(requests).toMatchObject([{ userId: ann }]);
  expect(requests[0]!.code).not.toBe(code);
});

test("a crowd that asks is bounded: who comes late is counted and not answered", async () => {
  const world = await waiting();
  for (let user = 1; user <= 7; user += 1) await says(world, user, "hi");
  expect((await desk(world).state()).requests).toHaveLength(5);
  expect(told(world, 6)).toEqual([]);
  expect(world.counted.filter((reason) => reason === "pairing-full")).toHaveLength(2);
});

test("revoked, nothing that was paired is heard from then on, though it came in the same moment; another one can be paired", async () => {
  const world = await paired();
  await says(world, ann, "one", inThread);
  await desk(world).revoke();
  // No look has passed: the store is asked for each update.
  await says(world, ann, "two", inThread);
  expect(world.handed).toHaveLength(1);
  expect(world.instance.runtime.board.place).toBeNull();
  await world.clock.advance(1_000);
  expect(world.telegram.of("createForumTopic")).toHaveLength(1);

  await says(world, eve, "/start");
  await desk(world).approve(codeIn(told(world, eve)[0]));
  await world.clock.advance(2_000);
  expect(world.telegram.of("createForumTopic").map(({ payload }) => payload["chat_id"])).toEqual([ann, eve]);
  await says(world, ann, "three", inThread);
  await says(world, eve, "four", { message_thread_id: 42, is_topic_message: true });
  expect(world.handed.map(({ update }) => update)).toMatchObject([{}, { message: { text: "four" } }]);
});

test("a pairing survives its leader: the next one begins in full at once", async () => {
  const first = await paired();
  const { store } = first;
  const { paired: person } = await store.pairing.read();
  const next = await startInstance({
    settings: unpaired,
    prepare: async (world) => {
      await world.store.pairing.revoke();
      Object.assign(world.store, { pairing: { ...world.store.pairing, read: () => store.pairing.read() } });
    },
  });
  await next.clock.advance(2_000);
  expect(person).toMatchObject({ userId: ann });
  expect(roleIn(next)).toBe("leader");
  expect(next.telegram.of("createForumTopic")).toMatchObject([{ payload: { chat_id: ann } }]);
});

test("a configured user needs no pairing, and the store is never asked", async () => {
  let reads = 0;
  const world = await startInstance({
    prepare: ({ store }) => {
      const { pairing } = store;
      Object.assign(store, { pairing: { ...pairing, read: () => ((reads += 1), pairing.read()) } });
    },
  });
  await world.clock.advance(3_000);
  await says(world, eve, "/start");
  expect(roleIn(world)).toBe("leader");
  expect(reads).toBe(0);
  expect(told(world, eve)).toEqual([]);
  expect(await drops(world)).toEqual({ unauthorized: 1 });
});
