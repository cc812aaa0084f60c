/** Our leader as a whole: the way to the bus and back, its endpoint, and what its own troubles do to its followers. */
import { expect, test } from "vitest";
import { roleOf } from "../../../machines/role.rules.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import { epoch } from "../../../machines/ids.ts";
import { FollowerLinks } from "../../../services/follower-links.ts";
import type { CallOutcome, ListenRequest, SeatClaim } from "../../../services/ports.ts";
import { Seats } from "../../../services/seats.ts";
import { owner, seated, startInstance, startLeader, V1Peer } from "../../support/wire/leader.ts";
import type { LeaderWorld } from "../../support/wire/leader.ts";
import { settled } from "../../support/wire/manual-clock.ts";

const roleIn = ({ instance }: LeaderWorld) => roleOf(instance.actor.getSnapshot());

/** One that polls in classic, and what happens to poll, topics and endpoint from then on, in order. */
async function classic() {
  const seen: string[] = [];
  const world = await startInstance({
    hasTopics: false,
    prepare: ({ telegram }) => {
      const call = telegram.call.bind(telegram);
      telegram.call = async (method, payload, limits) => {
        if (method !== "getMe" && method !== "sendMessage") seen.push(method === "getUpdates" ? "poll begins" : method);
        const outcome = await call(method, payload, limits);
        if (method === "getUpdates") seen.push("poll ends");
        return outcome;
      };
    },
  });
  for (let tries = 0; tries < 100 && roleIn(world) !== "classic"; tries += 1) await world.clock.advance(50);
  const { transport } = world.instance.runtime.ports;
  const listen = transport.listen.bind(transport);
  Object.assign(transport, {
    listen: async (request: ListenRequest) => {
      const endpoint = await listen(request);
      seen.push("endpoint");
      return endpoint;
    },
  });
  world.instance.actor.on("instance.ready", () => void seen.push("ready"));
  seen.length = 0;
  return { world, seen };
}

test("protocol/S-99, P-12 and P-13 when the bus becomes available: the classic poll ends, the bus is led, and only then is it told", async () => {
  const { world, seen } = await classic();
  const peer = await V1Peer.open(world);
  world.telegram.setTopics(true);
  await world.clock.advance(3_000);
  expect(roleIn(world)).toBe("leader");
  expect(seen).toEqual(["poll ends", "createForumTopic", "endpoint", "ready", "poll begins"]);
  expect(world.telegram.pollsAtOnce).toBe(1);
  expect(await peer.register()).toMatchObject({ ok: true });
});

test("protocol/S-100, threads/CP-4 superseded: threads that are turned off while it leads end no leadership: followers stay, and one poll goes on", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  const { epoch } = world.instance.actor.getSnapshot().context;
  world.telegram.setTopics(false);
  const gone = { error_code: 400, description: "Bad Request: message thread not found" };
  world.telegram.answer("sendMessage", ({ payload }) =>
    payload["message_thread_id"] === undefined
      ? { kind: "ok", result: { message_id: 990, chat: { id: owner } } }
      : { kind: "rejected", error: gone },
  );
  const sending = peer.begin({
    kind: "follower.callApi",
    ...peer.base(),
    method: "call",
    args: ["sendMessage", { chat_id: owner, message_thread_id: peer.thread, text: "x" }],
  });
  for (let second = 0; second < 10; second += 1) {
    await world.clock.advance(1_000);
    expect(await peer.heartbeat()).toMatchObject({ ok: true });
  }
  expect(await sending).toMatchObject({ ok: true, result: { message_id: 990 } });
  expect(roleIn(world)).toBe("leader");
  expect(world.instance.actor.getSnapshot().context.epoch).toBe(epoch);
  expect(world.telegram.pollsAtOnce).toBe(1);
});

test("protocol/S-100 a classic start that fails once is tried again", async () => {
  const world = await startInstance({
    hasTopics: false,
    prepare: ({ store }) => {
      const commit = store.registrations.commit.bind(store.registrations);
      let failures = 1;
      store.registrations.commit = (request) =>
        (failures -= 1) >= 0 ? Promise.reject(new Error("the store is busy")) : commit(request);
    },
  });
  for (let tries = 0; tries < 100 && roleIn(world) !== "classic"; tries += 1) await world.clock.advance(50);
  expect(roleIn(world)).toBe("classic");
  expect(world.telegram.pollsAtOnce).toBe(1);
  const peer = await V1Peer.open(world);
  await expect(peer.begin({ kind: "follower.heartbeat", ...peer.base() })).rejects.toThrow(/ENOENT/);
});

test("protocol/O-25 a note for the status that fails beside the switch rolls nothing back", async () => {
  const { world } = await classic();
  world.store.status.notePolling = () => Promise.reject(new Error("the store is busy"));
  world.telegram.setTopics(true);
  await world.clock.advance(10_000);
  expect(roleIn(world)).toBe("leader");
  expect(world.telegram.of("createForumTopic")).toHaveLength(1);
  expect(world.telegram.pollsAtOnce).toBe(1);
});

test("protocol/S-76 an update without an id is refused with its batch, and nothing is sent to anybody", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  const message = {
    message_id: 501,
    date: 1,
    chat: { id: owner, type: "private", first_name: "U" },
    from: { id: owner, is_bot: false, first_name: "U" },
    message_thread_id: peer.thread,
    is_topic_message: true,
    text: "x",
  };
  world.telegram.answer("getUpdates", () => ({ kind: "ok", result: [{ message }] }));
  // The poll that is open ends.
  world.telegram.give({ update_id: 400 });
  await world.clock.advance(100);
  const cursor = await world.store.journal.cursor();
  await world.clock.advance(30_000);
  expect(peer.received).toEqual([]);
  expect((await world.store.status.read()).journal).toEqual({ waiting: 0, claimed: 0, deadLetters: 0 });
  expect(await world.store.journal.cursor()).toBe(cursor);
  expect(world.log).toContainEqual(
    expect.objectContaining({
      phase: "polling-troubled",
      fields: expect.objectContaining({ trouble: "refusedBatch" }) as object,
    }),
  );
});

test("protocol/O-36 options of a call, serialised as they may be, reach nobody", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  const body = { chat_id: owner, message_thread_id: peer.thread, text: "x" };
  for (const options of [{ signal: {} }, null, 7]) {
    expect(await peer.callApi("call", "sendMessage", body, options)).toMatchObject({ ok: true });
    expect(world.telegram.of("sendMessage").at(-1)?.payload).toEqual(body);
  }
});

test("protocol/AP-6 calls of one follower are not held behind each other", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  let give: (outcome: CallOutcome) => void = () => undefined;
  world.telegram.answer("sendMessage", () => new Promise((resolve) => (give = resolve)));
  const own = { chat_id: owner, message_thread_id: peer.thread };
  const slow = peer.begin({
    kind: "follower.callApi",
    ...peer.base(),
    method: "call",
    args: ["sendMessage", { ...own, text: "x" }],
  });
  await settled();
  expect(await peer.call("sendChatAction", { ...own, action: "typing" })).toMatchObject({ ok: true });
  give({ kind: "ok", result: { message_id: 1 } });
  expect(await slow).toMatchObject({ ok: true });
});

test("protocol/O-44 a generation is no credential: with the right one and the wrong secret nothing is done", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  const before = world.telegram.calls.length;
  const args = ["sendMessage", { chat_id: owner, message_thread_id: peer.thread, text: "x" }];
  for (const request of [
    { kind: "follower.callApi", ...peer.base(), method: "call", args },
    { kind: "follower.disconnect", ...peer.base() },
  ] as const)
    expect(await peer.send({ ...request, auth: "x".repeat(43) })).toMatchObject({
      ok: false,
      message: wireText.unauthorized,
    });
  expect(world.telegram.calls).toHaveLength(before);
});

test("protocol/E-5, O-48: while its endpoint cannot be published anew the leader leads on: it says why, answers whoever is connected, and drops who is silent", async () => {
  const world = await startLeader();
  const connected = await seated(world, { pid: 2001, isOwn: true });
  const silent = await seated(world, { pid: 2002 });
  const commitIfHeld = world.store.lease.commitIfHeld.bind(world.store.lease);
  let failures = 8;
  world.store.lease.commitIfHeld = (...given) => {
    failures -= 1;
    return failures >= 0 ? Promise.reject(new Error("the store is busy")) : commitIfHeld(...given);
  };
  world.network.unpublish("memory:leader");
  for (let second = 1; second <= 7; second += 1) {
    await world.clock.advance(1_000);
    expect(failures).toBe(8 - second);
    expect(await connected.heartbeat()).toMatchObject({ ok: true });
  }
  const phases = (phase: string) => world.log.filter((each) => each.phase === phase).map(({ fields }) => fields);
  expect(phases("seat.gone")).toEqual([{ seat: "manual:owner-2002", instanceId: silent.id, why: "silent" }]);
  await world.clock.advance(3_000);
  const address = "memory:leader";
  expect(phases("leader-endpoint-recovery")).toEqual([{ address, reason: "Error: the store is busy" }, { address }]);
  expect(await silent.register()).toMatchObject({ ok: true });
  expect(await connected.heartbeat()).toMatchObject({ ok: true });
  expect(world.telegram.pollsAtOnce).toBe(1);
});

test("protocol/O-48 an endpoint that vanished and cannot be published at once is published at a later try, by the same leader", async () => {
  const world = await startLeader();
  const { epoch } = world.instance.actor.getSnapshot().context;
  const commitIfHeld = world.store.lease.commitIfHeld.bind(world.store.lease);
  let failures = 3;
  world.store.lease.commitIfHeld = (...given) => {
    failures -= 1;
    return failures >= 0 ? Promise.reject(new Error("the store is busy")) : commitIfHeld(...given);
  };
  world.network.unpublish("memory:leader");
  const peer = await V1Peer.open(world);
  await world.clock.advance(10_000);
  expect(failures).toBeLessThan(0);
  expect(await peer.register()).toMatchObject({ ok: true });
  expect(world.instance.actor.getSnapshot().context.epoch).toBe(epoch);
  expect(world.telegram.pollsAtOnce).toBe(1);
});

test("protocol/P-15 a leadership that ends while it takes up the seats that the store knows leaves no seat running", async () => {
  const world = await startLeader();
  await seated(world);
  const { runtime } = world.instance;
  const { store, transport } = runtime.ports;
  const past = epoch(999);
  const ended: number[] = [];
  const end = store.registrations.end.bind(store.registrations);
  store.registrations.end = (request) => {
    ended.push(request.epoch);
    return end(request);
  };
  let answer: (claim: SeatClaim | null) => void = () => undefined;
  store.seats.holderOf = () => new Promise((resolve) => (answer = resolve));

  const seats = new Seats(runtime, { epoch: past, links: new FollowerLinks(transport) }, () => undefined);
  const taking = seats.adopt();
  await settled();
  seats.stop();
  answer(null);
  await taking;
  for (let pid = 0; pid < 5_000; pid += 1) world.processes.set(pid, "dead");
  await world.clock.advance(10_000);
  expect(ended.length).toBeGreaterThan(0);
  expect(ended).not.toContain(past);
});
