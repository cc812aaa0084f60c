/** What a leader takes a v1 follower's word for when it registers, and what it does not. */
import { expect, test } from "vitest";
import { wireText } from "../../../machines/wire/texts.ts";
import { seated, startLeader, V1Peer } from "../../support/wire/leader.ts";
import type { LeaderWorld } from "../../support/wire/leader.ts";

const phases = (world: LeaderWorld) =>
  world.log.map(({ phase, fields }) => (typeof fields["why"] === "string" ? `${phase} ${fields["why"]}` : phase));

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
