/** What a leader takes a v1 follower's word for when it registers, and what it does not. */
import { expect, test } from "vitest";
import { generation } from "../../../machines/ids.ts";
import { capability } from "../../../machines/wire/constants.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import { seated, secret, startLeader, v1Protocol, V1Peer } from "../../support/wire/leader.ts";
import type { LeaderWorld } from "../../support/wire/leader.ts";

const phases = (world: LeaderWorld) =>
  world.log.map(({ phase, fields }) => (typeof fields["why"] === "string" ? `${phase} ${fields["why"]}` : phase));

/** What our leader says of itself. */
const leaderIdentity = {
  protocolVersion: 1,
  runtimeBuild: "test",
  capabilities: [capability.durableAdmission, capability.sharedStore, capability.queueHandoff],
};

test.each([
  ["without an identity", undefined, "missing-identity"],
  ["with an invalid one", { ...v1Protocol, capabilities: ["b", "a"] }, "missing-identity"],
  ["with version 2", { ...v1Protocol, protocolVersion: 2 }, "version-mismatch"],
  ["without durable admission", { ...v1Protocol, capabilities: [capability.queueHandoff] }, "missing-capability"],
])(
  "protocol/S-21: a registration %s is refused with its reason; no thread is made and nobody sits",
  async (_, protocol, reason) => {
    const world = await startLeader();
    const peer = await V1Peer.open(world);
    const { protocol: _own, ...registration } = peer.registration();
    const requestId = peer.nextId();
    const ack = await peer.send({
      kind: "follower.register",
      requestId,
      auth: secret,
      registration: {
        ...registration,
        registrationGeneration: generation(requestId),
        ...(protocol === undefined ? {} : { protocol }),
      },
    });
    expect(ack).toEqual({
      kind: "bus.ack",
      requestId,
      ok: false,
      message: `Incompatible Telegram bus protocol: ${reason}.`,
      protocol: leaderIdentity,
      error: { code: "incompatible-protocol" },
    });
    expect(world.telegram.of("createForumTopic")).toHaveLength(1); // the leader's own
    expect((await world.store.status.read()).registrations.map(({ seat }) => seat)).not.toContain("manual:owner-2001");
    expect(await peer.heartbeat()).toMatchObject({ ok: false, message: wireText.unknownFollower });
  },
);

test("protocol/S-22: another build with the capabilities that count is accepted, and told who the leader is", async () => {
  const world = await startLeader();
  const peer = await V1Peer.open(world);
  const capabilities = [capability.durableAdmission, "zebra-v9"];
  const ack = await peer.register({ protocol: { protocolVersion: 1, runtimeBuild: "99.0.0-other", capabilities } });
  expect(ack).toMatchObject({ ok: true, protocol: leaderIdentity });
  expect(await peer.heartbeat()).toMatchObject({ ok: true });
});

test.each([
  ["0", 0, undefined],
  ["negative", -1, undefined],
  ["fractional", 1.5, undefined],
  ["0, in the birth id too", 0, "0:start:start-0"],
  ["negative, in the birth id too", -1, "-1:start:start-1"],
  ["real, but without a birth id", 2001, undefined],
])(
  "protocol/O-15: a follower whose pid is %s is never proven dead by it: its thread stays",
  async (_, pid, processBirthId) => {
    const world = await startLeader();
    for (const each of [pid, Math.abs(pid), Math.trunc(pid)]) world.processes.set(each, "dead");
    const peer = await V1Peer.open(world);
    const { processBirthId: _own, ...registration } = peer.registration();
    const requestId = peer.nextId();
    const ack = await peer.send({
      kind: "follower.register",
      requestId,
      auth: secret,
      registration: {
        ...registration,
        registrationGeneration: generation(requestId),
        pid,
        ...(processBirthId === undefined ? {} : { processBirthId }),
      },
    });
    expect(ack.ok).toBe(true);
    await world.clock.advance(8_000);
    expect(phases(world)).toContain("seat.unprovable");
    expect(phases(world)).not.toContain("seat.gone died");
  },
);

test("protocol/O-20: a registration without its own address is refused; none is guessed", async () => {
  const world = await startLeader();
  const peer = await V1Peer.open(world);
  for (const busSocketPath of [undefined, ""]) {
    const { busSocketPath: _own, ...registration } = peer.registration();
    const ack = await peer.send({
      kind: "follower.register",
      requestId: peer.nextId(),
      auth: "s".repeat(43),
      registration: {
        ...registration,
        registrationGeneration: peer.base().registrationGeneration,
        ...(busSocketPath === undefined ? {} : { busSocketPath }),
      },
    });
    expect(ack.ok).toBe(false);
  }
  const fresh = await peer.register({ busSocketPath: "" });
  expect(fresh).toMatchObject({ ok: false, message: wireText.registrationNeedsAddress });
  expect(world.telegram.of("createForumTopic")).toHaveLength(1);
});

test("protocol/O-16: a follower that was seen alive here is proven dead here", async () => {
  const world = await startLeader();
  const peer = await seated(world);
  world.processes.set(peer.pid, "dead");
  await world.clock.advance(7_000);
  expect(phases(world)).toContain("seat.gone died");
});

test.each(["dead", "unverifiable", "throws"] as const)(
  "protocol/O-16: a follower of which a look said '%s' when it registered is never proven dead: it may count its pids elsewhere",
  async (seen) => {
    const world = await startLeader();
    world.processes.set(2001, seen);
    const peer = await seated(world);
    world.processes.set(peer.pid, "dead");
    await world.clock.advance(60_000);
    expect(phases(world)).toContain("seat.gone silent");
    expect(phases(world)).not.toContain("seat.gone died");
    expect(phases(world)).toContain("seat.unprovable");
  },
);
