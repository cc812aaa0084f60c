/** One connection to the leader carries calls and heartbeats; calls that hang must not take the heartbeats' places. */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../adapters/host/clock.ts";
import { createUnixTransport } from "../../../adapters/transport/unix/transport.ts";
import { generation, instanceId } from "../../../machines/ids.ts";
import type { Ack, Envelope, RequestEnvelope } from "../../../machines/wire/envelopes.ts";
import { callsUnderWayMax, leavingRoom } from "../../../services/room.ts";

const fence = { instanceId: instanceId("1:1"), registrationGeneration: generation("1:1:1"), sentAtMs: 1 };
const call = (n: number): RequestEnvelope => ({
  kind: "follower.callApi",
  requestId: `call-${String(n)}`,
  ...fence,
  method: "call",
  args: ["sendMessage", { text: String(n) }],
});

/** A leader whose calls hang until they are released, in the order in which they came. */
async function startLeader() {
  const folder = mkdtempSync(path.join(os.tmpdir(), "plm-"));
  const clock = systemClock();
  const counters = { count: () => undefined };
  const transport = createUnixTransport({ folder, clock, counters, tmpFolder: os.tmpdir() });
  const came: string[] = [];
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const handle = async ({ kind, requestId }: Envelope): Promise<Ack> => {
    came.push(requestId);
    if (kind === "follower.callApi") await released;
    return { kind: "bus.ack", requestId, ok: true };
  };
  const endpoint = await transport.listen({
    address: transport.leaderAddress,
    handle,
    publish: (commit) => {
      commit();
      return Promise.resolve(true);
    },
  });
  const link = await transport.dial(transport.leaderAddress, 1_000);
  onTestFinished(async () => {
    link.close();
    await endpoint.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { came, release, clock, link };
}

test("a heartbeat is answered while more calls than a leader runs at a time hang; each of them is made, in order", async () => {
  const { came, release, clock, link: bare } = await startLeader();
  const link = leavingRoom(bare, clock);
  const calls = Array.from({ length: 400 }, (_, n) => link.request(call(n), 30_000));
  const beat = await link.request({ kind: "follower.heartbeat", requestId: "beat", ...fence }, 2_000);
  expect(beat.kind).toBe("answered");
  expect(came.filter((id) => id !== "beat")).toHaveLength(callsUnderWayMax);
  release();
  expect(new Set((await Promise.all(calls)).map(({ kind }) => kind))).toEqual(new Set(["answered"]));
  expect(came.filter((id) => id !== "beat")).toEqual(calls.map((_, n) => `call-${String(n)}`));
});

test("a call whose turn does not come is certainly not sent; when the connection ends no call waits on", async () => {
  const { came, clock, link: bare } = await startLeader();
  const link = leavingRoom(bare, clock);
  const first = Array.from({ length: callsUnderWayMax }, (_, n) => link.request(call(n), 30_000));
  expect(await link.request(call(1_000), 20)).toEqual({ kind: "notSent", reason: "too many calls are under way" });
  expect(came).not.toContain("call-1000");
  const last = link.request(call(1_001), 30_000);
  link.close();
  expect(new Set((await Promise.all(first)).map(({ kind }) => kind))).toEqual(new Set(["lost"]));
  expect((await last).kind).toBe("notSent");
});
