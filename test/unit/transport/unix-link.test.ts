import { mkdirSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { classify } from "../../../adapters/transport/unix/errors.ts";
import {
  oneShotPolicy,
  requestOnce,
  type FailedAttempt,
  type OneShotPolicy,
} from "../../../adapters/transport/unix/one-shot.ts";
import { encodeEnvelope } from "../../../adapters/transport/wire/parse.ts";
import { forwardMessage, heartbeat, okAck } from "./support/envelopes.ts";
import { gate, UnixHarness, waiting } from "./support/harness.ts";

// A busy machine is slow; what these tests wait for is a condition.
vi.setConfig({ testTimeout: 30_000 });

let harness: UnixHarness;
let servers: net.Server[];
beforeEach(() => {
  harness = new UnixHarness();
  servers = [];
});
afterEach(async () => {
  for (const server of servers) server.close();
  await harness.dispose();
});

/** A server of another make at the leader's address: a bound stable path, as older peers have it. */
async function foreign(onLine: (socket: net.Socket, text: string) => void): Promise<net.Socket[]> {
  mkdirSync(harness.folder, { recursive: true });
  const sockets: net.Socket[] = [];
  const server = net.createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk) => onLine(socket, chunk.toString()));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(harness.leaderPath, resolve));
  return sockets;
}

const ack = (id: string) => encodeEnvelope(okAck(heartbeat(id)));

describe("link", () => {
  test("protocol/O-8: answers to unknown ids, requests and W-9 answers are counted and ignored", async () => {
    await foreign((socket) =>
      socket.write(`${ack("other")}${ack("invalid")}${encodeEnvelope(forwardMessage("x"))}${ack("a")}`),
    );
    const link = await harness.dial();
    expect((await link.request(heartbeat("a"), 1000)).kind).toBe("answered");
    expect(harness.counts.of).toEqual({ "answer-unmatched": 2, "request-on-link": 1 });
    link.close();
  });
  test("a line that is no envelope breaks the link: all in flight are lost", async () => {
    await foreign((socket) => socket.write("nonsense\n"));
    const link = await harness.dial();
    const outcomes = await Promise.all([link.request(heartbeat("a"), 1000), link.request(heartbeat("b"), 1000)]);
    expect(outcomes.map((outcome) => outcome.kind)).toEqual(["lost", "lost"]);
    await link.closed;
    expect(harness.counts.of["answer-malformed"]).toBe(1);
  });
  test("protocol/O-24: an answer that never ends breaks the link", async () => {
    await foreign((socket) => {
      for (let count = 0; count < 17; count += 1) socket.write("x".repeat(1024 * 1024));
    });
    const link = await harness.dial();
    expect((await link.request(heartbeat("a"), 1000)).kind).toBe("lost");
    expect(harness.counts.of["line-too-long"]).toBe(1);
  });
  test("a request that is closed before its write is not sent", async () => {
    const received: string[] = [];
    await foreign((_, text) => void received.push(text));
    const link = await harness.dial();
    const outcome = link.request(heartbeat("a"), 1000);
    link.close();
    expect((await outcome).kind).toBe("notSent");
    await link.closed;
    expect(received).toEqual([]);
    expect(harness.clock.pending).toBe(0);
  });
  test("the peer's FIN closes the link", async () => {
    const sockets = await foreign((socket) => void socket.end());
    const link = await harness.dial();
    const outcome = link.request(heartbeat("a"), 1000);
    expect(await outcome).toMatchObject({ kind: "lost", how: "closed" });
    await link.closed;
    expect(sockets).toHaveLength(1);
  });
});

describe("one-shot client", () => {
  const policy = (fields: Partial<OneShotPolicy> = {}): OneShotPolicy => ({
    attemptsMax: 1,
    delayMs: 0,
    timeoutMs: 1000,
    ...fields,
  });
  let failures: FailedAttempt[] = [];
  beforeEach(() => (failures = []));
  const send = (fields?: Partial<OneShotPolicy>) =>
    requestOnce(harness.transport.leaderAddress, heartbeat("a"), policy(fields), {
      timers: harness.clock,
      tmpFolder: harness.tmpFolder,
      onFailure: (failure) => void failures.push(failure),
    });
  const failed = (kind: FailedAttempt["kind"], isRetried = false): FailedAttempt => ({
    requestId: "a",
    transport: "socket",
    kind,
    isRetried,
  });

  test("protocol/C-2, C-3: one line out, one line in, then the client destroys the connection", async () => {
    const received: string[] = [];
    const sockets = await foreign((socket, text) => {
      received.push(text);
      socket.write(`${ack("a")}${ack("b")}`);
    });
    expect(await send()).toEqual(okAck(heartbeat("a")));
    expect(received).toEqual([encodeEnvelope(heartbeat("a"))]);
    await vi.waitFor(() => expect(sockets[0]?.destroyed).toBe(true), waiting);
  });
  test("protocol/C-3, C-4, C-8: an unparsable line and a FIN are nothing, and not retried", async () => {
    const replies = ["nonsense\n", ""].values();
    const sockets = await foreign((socket) => void socket.end(replies.next().value ?? ""));
    expect(await send({ attemptsMax: 5 })).toBeNull();
    expect(await send({ attemptsMax: 5 })).toBeNull();
    expect(sockets).toHaveLength(2);
  });
  test("protocol/C-5, S-7: no answer is ETIMEDOUT, which is worth repeating", async () => {
    await foreign(() => harness.clock.advance(1000));
    const error = await send().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "ETIMEDOUT", message: "Timed out waiting for Telegram bus response" });
    expect(classify(error)).toEqual({ kind: "timeout", isRetryable: true });
    expect(failures).toEqual([failed("timeout")]);
    expect(harness.clock.pending).toBe(0);
  });
  test("protocol/C-1: the time of an attempt is for the connection and the answer together", async () => {
    await foreign(() => harness.clock.advance(400));
    const failing = send().catch((reason: unknown) => reason);
    // Before the connection stands.
    harness.clock.advance(600);
    expect(await failing).toMatchObject({ code: "ETIMEDOUT" });
    expect(failures).toEqual([failed("timeout")]);
  });
  test("protocol/C-6: the first outcome counts: an end that comes after the answer is nobody's", async () => {
    const sockets = await foreign((socket) => {
      socket.write(ack("a"), () => socket.destroy());
    });
    expect(await send({ attemptsMax: 3 })).toEqual(okAck(heartbeat("a")));
    harness.clock.advance(10_000);
    expect([failures, harness.clock.pending, sockets.length]).toEqual([[], 0, 1]);
  });
  test("protocol/C-6: the first outcome counts: an answer that comes after the time is nobody's", async () => {
    const sockets = await foreign((socket) => {
      harness.clock.advance(1000);
      socket.write(ack("a"));
    });
    await expect(send()).rejects.toMatchObject({ code: "ETIMEDOUT" });
    await vi.waitFor(() => expect(sockets[0]?.destroyed).toBe(true), waiting);
    expect([failures, harness.clock.pending]).toEqual([[failed("timeout")], 0]);
  });
  test("protocol/C-7, S-11: registration retries until the endpoint is there, with the same bytes, and each retry is told", async () => {
    const received: string[] = [];
    const { attemptsMax, delayMs } = oneShotPolicy.registration;
    const answer = send({ attemptsMax, delayMs });
    await vi.waitFor(() => expect(harness.clock.pending).toBe(1), waiting);
    await foreign((socket, text) => {
      received.push(text);
      // The first attempt gets no answer, and times out.
      if (received.length > 1) socket.write(ack("a"));
    });
    const drive = vi.waitFor(() => {
      harness.clock.advance(150);
      if (received.length < 2) throw new Error("not yet");
    }, waiting);
    expect(await answer).toEqual(okAck(heartbeat("a")));
    await drive;
    expect(received[0]).toBe(received[1]);
    expect(failures[0]).toEqual(failed("connect", true));
    expect(failures.at(-1)).toEqual(failed("timeout", true));
  });
  test("protocol/S-6: nobody there is one failure, told with its kind, request and medium; it is worth repeating", async () => {
    const error = await send({ attemptsMax: 1 }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "ENOENT" });
    expect(classify(error)).toEqual({ kind: "connect", isRetryable: true });
    expect(failures).toEqual([failed("connect")]);
  });
  test("protocol/S-12: an answer to a registration that takes longer than any ordinary request is waited for", async () => {
    const slow = gate();
    const asked = gate();
    await harness.serve(async (request) => {
      asked.open();
      await slow.promise;
      return okAck(request);
    });
    const { timeoutMs } = oneShotPolicy.registration;
    const answer = send({ timeoutMs });
    await asked.promise;
    harness.clock.advance(oneShotPolicy.operation.timeoutMs + 20_000);
    slow.open();
    expect(await answer).toEqual(okAck(heartbeat("a")));
    expect(failures).toEqual([]);
  });
  test("protocol/S-15: the first answer is lost, the second attempt gets the stored one", async () => {
    let runs = 0;
    await harness.serve(async (request) => {
      runs += 1;
      if (runs === 1) harness.clock.advance(1000);
      return okAck(request, runs);
    });
    const answer = send({ attemptsMax: 2, delayMs: 150 });
    await vi.waitFor(() => expect(runs).toBe(1), waiting);
    await vi.waitFor(() => expect(harness.clock.pending).toBe(1), waiting);
    harness.clock.advance(150);
    expect(await answer).toEqual(okAck(heartbeat("a"), 1));
    expect(runs).toBe(1);
  });
});

test("dialling into the overflow folder of somebody else is refused", async () => {
  const long = path.join(harness.folder, "x".repeat(100), "bus.sock");
  const shared = path.join(harness.tmpFolder, `pi-telegram-${String(process.getuid?.() ?? "user")}`);
  mkdirSync(shared, { mode: 0o777 });
  const { chmodSync } = await import("node:fs");
  chmodSync(shared, 0o777);
  await expect(harness.transport.dial(long, 1000)).rejects.toMatchObject({ code: "EACCES" });
});
