/** Who may ask a leader at all: the order of checks before any request kind has its own. */
import { expect, test } from "vitest";
import { generation, updateId } from "../../../machines/ids.ts";
import type { Envelope } from "../../../machines/wire/envelopes.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import { kill, owner, seated, secret, startLeader, V1Peer } from "../../support/wire/leader.ts";

test("protocol/S-20, A-8: an ack sent as a request is refused before authentication, and relayed to nobody", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  for (const auth of [secret, "wrong", undefined]) {
    const ack = {
      kind: "bus.ack",
      requestId: peer.nextId(),
      ok: true,
      ...(auth === undefined ? {} : { auth }),
    } as const;
    expect(await peer.send(ack)).toEqual({
      kind: "bus.ack",
      requestId: ack.requestId,
      ok: false,
      message: wireText.responseAsRequest,
    });
  }
  expect(peer.received).toEqual([]);
  expect(world.counted.filter((reason) => reason === "ack-as-request")).toHaveLength(3);
});

test.each([
  ["of equal length", "x".repeat(secret.length)],
  ["shorter", "short"],
  ["missing", undefined],
])(
  "protocol/S-18, S-19, A-5, A-7 and P-23: with a secret that is %s nothing is answered but that, nothing changes, and it is counted",
  async (_, auth) => {
    const world = await startLeader();
    const peer = await seated(world);
    const stranger = await V1Peer.open(world, { pid: 3001 });
    const calls = world.telegram.calls.length;
    const presented = auth === undefined ? {} : { auth };
    const { auth: _right, ...base } = peer.base();
    const requests: Envelope[] = [
      {
        kind: "follower.register",
        requestId: stranger.nextId(),
        ...presented,
        registration: stranger.registration({ registrationGeneration: generation("g") }),
      },
      { kind: "follower.heartbeat", ...base, ...presented, requestId: peer.nextId() },
      {
        kind: "follower.callApi",
        ...base,
        ...presented,
        requestId: peer.nextId(),
        method: "call",
        args: ["sendMessage", { chat_id: owner, message_thread_id: peer.thread, text: "x" }],
      },
      {
        kind: "leader.forwardMessage",
        requestId: peer.nextId(),
        ...presented,
        recipientInstanceId: peer.id,
        recipientRegistrationGeneration: peer.generation,
        delivery: {
          deliveryId: `telegram-follower-v1-${"0".repeat(64)}`,
          sourceUpdateId: updateId(1),
          recipientBindingKey: peer.registration().profileKey ?? never(),
        },
        sentAtMs: 1,
      },
    ];
    for (const request of requests) {
      const { ok, message, error } = await peer.send(request);
      expect({ ok, message, error }, request.kind).toEqual({
        ok: false,
        message: wireText.unauthorized,
        error: undefined,
      });
    }
    expect(world.telegram.calls).toHaveLength(calls);
    expect(peer.received).toEqual([]);
    expect((await world.store.status.read()).registrations).toHaveLength(2);
    expect(world.counted.filter((reason) => reason === "request-unauthorized")).toHaveLength(requests.length);
  },
);

test("protocol/A-3: a secret that is no text is none, and no answer carries one", async () => {
  const world = await startLeader();
  const peer = await V1Peer.open(world);
  const heartbeat = { kind: "follower.heartbeat", ...peer.base(), auth: [secret] } as unknown as Envelope; // as a peer may send it
  expect(await peer.send(heartbeat)).toMatchObject({ ok: false, message: wireText.unauthorized });
  const acks = [await peer.register(), await peer.heartbeat(), await peer.call("getMe", {}), await peer.disconnect()];
  expect(acks.map(({ ok }) => ok)).toEqual([true, true, true, true]);
  expect(JSON.stringify(acks)).not.toContain(secret);
});

test("protocol/A-9, updates/OP-38: who knows the secret may speak for another follower: its generation tells a former one from a present one, not friend from foe", async () => {
  const world = await startLeader();
  const [one, another] = [await seated(world), await seated(world, { pid: 2002 })];
  const forOne = { ...another.base(), instanceId: one.id };
  expect(await another.send({ kind: "follower.heartbeat", ...forOne })).toMatchObject({
    ok: false,
    message: wireText.staleGeneration,
  });
  const asOne = { ...forOne, requestId: another.nextId(), registrationGeneration: one.generation };
  expect(await another.send({ kind: "follower.heartbeat", ...asOne })).toMatchObject({ ok: true });
});

test("protocol/A-10: another leader has another secret: its followers are told so until they register with that", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  await kill(world);
  const later = await startLeader({ after: world, settings: { secret: "t".repeat(43) } });
  const { holder } = await later.store.lease.read();
  expect(holder).toMatchObject({ secret: "t".repeat(43) });
  expect(await peer.heartbeat()).toMatchObject({ ok: false, message: wireText.unauthorized });
  const requestId = peer.nextId();
  const registration = peer.registration({ registrationGeneration: generation(requestId) });
  const register = { kind: "follower.register", requestId, registration } as const;
  expect(await peer.send({ ...register, auth: secret })).toMatchObject({ ok: false, message: wireText.unauthorized });
  expect(await peer.send({ ...register, auth: "t".repeat(43) }, 2_000)).toMatchObject({ ok: true });
});

test("protocol/O-1: every answer to a registration says who gives it, also to one that is not authorised", async () => {
  const world = await startLeader();
  const stranger = await V1Peer.open(world);
  const ack = await stranger.send({
    kind: "follower.register",
    requestId: "r",
    auth: "wrong",
    registration: stranger.registration(),
  });
  expect(ack).toMatchObject({ ok: false, message: wireText.unauthorized, protocol: { protocolVersion: 1 } });
});

test("protocol/O-1: so does the answer to a registration that met a defect of ours, or whose thread could not be had", async () => {
  const world = await startLeader();
  const peer = await V1Peer.open(world);
  world.telegram.answer("createForumTopic", () => ({ kind: "ambiguous", reason: "the connection broke" }));
  expect(await peer.register()).toMatchObject({ ok: false, protocol: { protocolVersion: 1 } });
  const { gate } = world.instance.runtime;
  Object.assign(gate, {
    permit: () => {
      throw new Error("a defect");
    },
  });
  expect(await peer.register()).toMatchObject({
    ok: false,
    message: wireText.handlerFailed,
    protocol: { protocolVersion: 1 },
  });
});

function never(): never {
  throw new Error("the peer has a seat of its own");
}
