/** Named pipes of Windows, stood in for by sockets of this host: their names are real, and where they are is injected. */
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { followerPipe, leaderPipe, pathsOf, pipeName, resolvedPipe } from "../../../adapters/transport/unix/address.ts";
import { operationPolicy, requestOnce } from "../../../adapters/transport/unix/one-shot.ts";
import { createUnixTransport } from "../../../adapters/transport/unix/transport.ts";
import { instanceId } from "../../../machines/ids.ts";
import type { Endpoint, ListenRequest } from "../../../services/ports.ts";
import { heartbeat, okAck } from "./support/envelopes.ts";
import { asOwner, Counts, waiting } from "./support/harness.ts";
import { ManualClock } from "./support/manual-clock.ts";

vi.setConfig({ testTimeout: 30_000 });

const agentDir = "C:\\agents\\one";
let folder: string;
let clock: ManualClock;
let endpoints: Endpoint[];
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "pp-"));
  clock = new ManualClock();
  endpoints = [];
});
afterEach(async () => {
  for (const endpoint of endpoints) await endpoint.close();
  rmSync(folder, { recursive: true, force: true });
});

const pipePlace = (pipe: string): string =>
  path.join(folder, createHash("sha256").update(pipe).digest("hex").slice(0, 16));
const transportOf = (profile: string | null = null) =>
  createUnixTransport({
    folder: path.join(folder, "bus files"),
    profile,
    agentDir,
    clock,
    counters: new Counts(),
    isWindows: true,
    pipePlace,
  });
async function serve(said: string, publish: ListenRequest["publish"] = asOwner): Promise<Endpoint> {
  const transport = transportOf();
  const { leaderAddress: address } = transport;
  const endpoint = await transport.listen({ address, publish, handle: async (request) => okAck(request, said) });
  endpoints.push(endpoint);
  return endpoint;
}
async function whoAnswers(): Promise<unknown> {
  const link = await transportOf().dial(transportOf().leaderAddress, 1000);
  const outcome = await link.request(heartbeat(String(Math.random())), 1000);
  link.close();
  return outcome.kind === "answered" ? outcome.ack.result : outcome.kind;
}

test("protocol §2.6: pipes are named by the agent folder, the profile and the instance", () => {
  expect(transportOf().leaderAddress).toBe(pipeName(agentDir, "bus"));
  expect(transportOf("work").leaderAddress).toBe(pipeName(agentDir, "bus-work"));
  expect(leaderPipe(agentDir, "a b")).toBe(pipeName(agentDir, "bus-a_b"));
  const me = instanceId("4711:1750000000000");
  expect(transportOf().followerAddress(me)).toBe(pipeName(agentDir, "follower-4711_1750000000000"));
  expect(followerPipe(agentDir, "work", me)).toBe(pipeName(agentDir, "follower-work-4711_1750000000000"));
});

test("protocol §2.7: on Windows an address that is no pipe stands for one, and a pipe for itself", () => {
  const resolved = resolvedPipe("C:\\state\\bus.sock");
  expect(resolved).toBe(pipeName("C:\\state", "bus.sock"));
  expect(resolvedPipe(resolved)).toBe(resolved);
  expect(pathsOf("C:\\state\\bus.sock", "C:\\tmp", true)).toEqual([resolved]);
});

test("protocol/O-21 a pipe is listened to inside the owner's commit, needs no folder, and cannot vanish", async () => {
  const listening = (): number => readdirSync(folder).length;
  const seen: number[] = [];
  const endpoint = await serve("ours", async (commit) => {
    seen.push(listening());
    commit();
    commit();
    return true;
  });
  expect(seen).toEqual([0]);
  expect(readdirSync(folder)).toHaveLength(1);
  expect(await whoAnswers()).toBe("ours");
  expect(await endpoint.ensure()).toBe(false);
});

test("protocol/O-21 whoever is not the owner any more listens to nothing", async () => {
  for (const publish of [async () => false, async () => true, () => Promise.reject(new Error("store is busy"))])
    await expect(serve("ours", publish)).rejects.toThrow(/lost transport ownership|store is busy/);
  await expect(
    serve("ours", async (commit) => {
      commit();
      return false;
    }),
  ).rejects.toThrow("lost transport ownership");
  await vi.waitFor(() => expect(readdirSync(folder)).toEqual([]), waiting);
});

test("protocol/O-21 a pipe that the former owner still has is asked for again, each time as the owner", async () => {
  const former = await serve("former");
  const asked = vi.fn(asOwner);
  const next = serve("next", asked);
  await vi.waitFor(() => expect(clock.pending).toBe(1), waiting);
  expect(await whoAnswers()).toBe("former");
  await former.close();
  clock.advance(100);
  await next;
  expect(asked).toHaveBeenCalledTimes(2);
  expect(await whoAnswers()).toBe("next");
});

test("protocol/O-21 a pipe that stays taken is given up after 20 tries, at once when the ownership went meanwhile", async () => {
  await serve("former");
  const asked = vi.fn(asOwner);
  let failure: unknown = null;
  void serve("next", asked).catch((error: unknown) => (failure = error));
  await vi.waitFor(() => {
    clock.advance(100);
    if (failure === null) throw new Error("still trying");
  }, waiting);
  expect(failure).toMatchObject({ code: "EADDRINUSE" });
  expect(asked).toHaveBeenCalledTimes(20);

  const owners = [true, false].values();
  const lost = serve("next", async (commit) => {
    const isOwner = owners.next().value ?? false;
    if (isOwner) commit();
    return isOwner;
  });
  lost.catch(() => undefined);
  await vi.waitFor(() => expect(clock.pending).toBe(1), waiting);
  clock.advance(100);
  await expect(lost).rejects.toThrow("lost transport ownership");
});

test("protocol §2.5: an operation on a pipe has three attempts, 100 ms apart; on a socket one", async () => {
  const pipe = transportOf().leaderAddress;
  expect(operationPolicy(pipe)).toEqual({ attemptsMax: 3, delayMs: 100, timeoutMs: 1000 });
  expect(operationPolicy("/run/bus.sock")).toEqual({ attemptsMax: 1, delayMs: 0, timeoutMs: 1000 });
  const failures: unknown[] = [];
  let failure: unknown = null;
  const client = { timers: clock, tmpFolder: folder, isWindows: true, pipePlace };
  const told = { ...client, onFailure: (each: unknown) => void failures.push(each) };
  void requestOnce(pipe, heartbeat("a"), operationPolicy(pipe), told).catch((error: unknown) => (failure = error));
  await vi.waitFor(() => {
    if (clock.pending > 0) clock.advance(100);
    if (failure === null) throw new Error("still trying");
  }, waiting);
  expect(failures).toEqual(
    [true, true, false].map((isRetried) => ({ requestId: "a", transport: "pipe", kind: "connect", isRetried })),
  );
});
