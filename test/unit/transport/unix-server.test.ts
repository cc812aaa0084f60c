import { rmSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { requestOnce } from "../../../adapters/transport/unix/one-shot.ts";
import { encodeEnvelope } from "../../../adapters/transport/wire/parse.ts";
import type { RequestHandler } from "../../../services/ports.ts";
import { callApi, heartbeat, okAck } from "./support/envelopes.ts";
import { gate, UnixHarness, waiting, type RawPeer } from "./support/harness.ts";

const malformed = '{"kind":"bus.ack","requestId":"invalid","ok":false,"message":"Invalid Telegram bus envelope."}';
const answerTo = (requestId: string) => encodeEnvelope(okAck(heartbeat(requestId))).trimEnd();
const line = (requestId: string) => encodeEnvelope(heartbeat(requestId));

// A busy machine is slow; what these tests wait for is a condition.
vi.setConfig({ testTimeout: 30_000 });

let harness: UnixHarness;
beforeEach(() => (harness = new UnixHarness()));
afterEach(() => harness.dispose());

describe("framing at a live endpoint", () => {
  test("protocol/W-9, W-5, W-29: malformed and empty lines are answered and not stored, the connection stays open", async () => {
    await harness.serve();
    const peer = harness.raw();
    peer.write(`nonsense\n\n{"kind":"x","requestId":"a"}\n{"kind":"x","requestId":"a"}\n${line("a")}`);
    expect(await peer.linesWhen(5)).toEqual(
      expect.arrayContaining([malformed, malformed, malformed, malformed, answerTo("a")]),
    );
    peer.write(line("b"));
    expect((await peer.linesWhen(6))[5]).toBe(answerTo("b"));
    expect(harness.counts.of["line-malformed"]).toBe(4);
  });
  test("protocol/W-4: text without a final LF is never processed, not even on FIN", async () => {
    const handled = vi.fn<RequestHandler>(async (request) => okAck(request));
    await harness.serve(handled);
    const peer = harness.raw();
    peer.socket.end(line("a").trimEnd());
    await vi.waitFor(() => expect(peer.isClosed).toBe(true), waiting);
    const other = harness.raw();
    other.write(line("b"));
    await other.linesWhen(1);
    expect(handled.mock.calls.map(([request]) => request.requestId)).toEqual(["b"]);
    expect(peer.text).toBe("");
  });
  test("protocol/W-1, W-3: characters split across writes, and CR before LF", async () => {
    await harness.serve(async (request) => okAck(request, "args" in request ? request.args[0] : null));
    const peer = harness.raw();
    const bytes = Buffer.from(encodeEnvelope(callApi("a", ["漢👍"])).replace("\n", "\r\n"));
    const middle = bytes.indexOf("漢") + 1;
    peer.socket.write(bytes.subarray(0, middle), () => peer.write(bytes.subarray(middle)));
    expect((await peer.linesWhen(1))[0]).toContain("漢👍");
  });
  test("protocol/S-10, W-6: two lines in one write, the first slow: the second answer comes first", async () => {
    const slow = gate();
    await harness.serve(async (request) => {
      if (request.requestId === "slow") await slow.promise;
      return okAck(request);
    });
    const peer = harness.raw();
    peer.write(line("slow") + line("fast"));
    expect(await peer.linesWhen(1)).toEqual([answerTo("fast")]);
    slow.open();
    expect((await peer.linesWhen(2))[1]).toBe(answerTo("slow"));
  });
  test("protocol/S-9, W-8: after the client's FIN the handler still runs, no answer arrives, the server ends its side", async () => {
    const completed = gate();
    const finished = vi.fn();
    await harness.serve(async (request) => {
      await completed.promise;
      finished();
      return okAck(request);
    });
    const peer = harness.raw();
    peer.socket.end(line("a"));
    await vi.waitFor(() => expect(peer.isClosed).toBe(true), waiting);
    completed.open();
    await vi.waitFor(() => expect(finished).toHaveBeenCalled(), waiting);
    expect(peer.text).toBe("");
  });
  test("protocol/W-10: no answer writes nothing and keeps the connection", async () => {
    await harness.serve(async (request) => (request.requestId === "never" ? new Promise(() => {}) : okAck(request)));
    const peer = harness.raw();
    peer.write(line("never") + line("a"));
    expect(await peer.linesWhen(1)).toEqual([answerTo("a")]);
  });
  test("protocol/W-21, W-28: an ack sent as a request reaches the handler, which knows the order of refusals, with its secret", async () => {
    const handled = vi.fn<RequestHandler>(async (request) => okAck(request));
    await harness.serve(handled);
    const peer = harness.raw();
    const ack = { kind: "bus.ack", requestId: "a", ok: true, auth: "s" } as const;
    peer.write(encodeEnvelope(ack));
    peer.write(encodeEnvelope(ack));
    expect((await peer.linesWhen(2)).map((each) => JSON.parse(each) as unknown)).toEqual([okAck(ack), okAck(ack)]);
    expect(handled).toHaveBeenCalledExactlyOnceWith(ack, expect.anything());
  });
  test("protocol/W-13: a megabyte of answer arrives whole", async () => {
    const big = "é".repeat(500_000);
    await harness.serve(async (request) => okAck(request, big));
    const outcome = await (await harness.dial()).request(heartbeat("a"), 1000);
    expect(outcome).toEqual({ kind: "answered", ack: okAck(heartbeat("a"), big) });
  });
});

describe("protocol/W-12 with the limits of O-24 in its place", () => {
  test("a line above 16 MiB destroys its connection, is counted, and no neighbour notices", async () => {
    await harness.serve();
    const link = await harness.dial();
    const peer = harness.raw();
    const chunk = "x".repeat(1024 * 1024);
    for (let count = 0; count < 17; count += 1) peer.write(chunk);
    expect((await link.request(heartbeat("a"), 1000)).kind).toBe("answered");
    await vi.waitFor(() => expect(peer.isClosed).toBe(true), waiting);
    expect(harness.counts.of["line-too-long"]).toBe(1);
    expect((await link.request(heartbeat("b"), 1000)).kind).toBe("answered");
  });
  test("a line below 16 MiB is served; a link does not send a longer one", async () => {
    await harness.serve(async (request) => okAck(request, "args" in request ? String(request.args[0]).length : 0));
    const link = await harness.dial();
    const length = 16 * 1024 * 1024 - 1024;
    expect(await link.request(callApi("a", ["x".repeat(length)]), 1000)).toMatchObject({ ack: { result: length } });
    expect((await link.request(callApi("b", ["x".repeat(length + 1024)]), 1000)).kind).toBe("notSent");
  });
  test("of 1024 connections each is served; one more is closed at once, and has the place of the next that ends", async () => {
    const handled = vi.fn<RequestHandler>(async (request) => okAck(request));
    const endpoint = await harness.serve(handled);
    const peers: RawPeer[] = [];
    while (peers.length < 1024) {
      // More at once than a listener keeps waiting, and the system turns the rest away.
      const some = Array.from({ length: 256 }, () => harness.raw());
      for (const [index, peer] of some.entries()) peer.write(line(`peer ${String(peers.length + index)}`));
      for (const peer of some) await peer.linesWhen(1);
      peers.push(...some);
    }
    expect(harness.counts.of["connection-excess"]).toBeUndefined();

    // Closed without a word, whether it has said something or not: nothing of it was read, and it may come again.
    const excess = [harness.raw(), harness.raw()];
    excess[0]?.write(line("excess"));
    for (const peer of excess) await vi.waitFor(() => expect(peer.isClosed).toBe(true), waiting);
    expect(excess.map(({ text }) => text)).toEqual(["", ""]);
    expect(harness.counts.of["connection-excess"]).toBe(2);
    const link = await harness.dial();
    expect((await link.request(heartbeat("linked"), 1000)).kind).toMatch(/lost|notSent/);
    expect(handled).toHaveBeenCalledTimes(1024);

    // Neighbours do not notice, the first and the last of them.
    for (const peer of [peers[0], peers[1023]]) {
      peer?.write(line("again"));
      await peer?.linesWhen(2);
    }

    // A recovery makes no room: those who were connected still are.
    rmSync(harness.leaderPath);
    expect(await endpoint.ensure()).toBe(true);
    const another = harness.raw();
    await vi.waitFor(() => expect(another.isClosed).toBe(true), waiting);

    peers[500]?.socket.destroy();
    await vi.waitFor(async () => {
      const later = harness.raw();
      later.write(line("later"));
      await vi.waitFor(() => expect(later.isClosed || later.lines.length > 0).toBe(true), waiting);
      expect(later.lines).toEqual([answerTo("later")]);
    }, waiting);
  });
  test("a peer that stops in the middle of a line is cut off after a minute, a silent one is not", async () => {
    await harness.serve();
    const [silent, stalled] = [harness.raw(), harness.raw()];
    silent.write(line("a"));
    await silent.linesWhen(1);
    stalled.write("{");
    await vi.waitFor(() => expect(harness.clock.pending).toBe(1), waiting);
    harness.clock.advance(60_000);
    await vi.waitFor(() => expect(stalled.isClosed).toBe(true), waiting);
    expect(harness.counts.of["connection-stalled"]).toBe(1);
    silent.write(line("b"));
    await silent.linesWhen(2);
  });
  test("one connection has a bounded number of requests in flight, and loses none", async () => {
    const open = gate();
    let running = 0;
    await harness.serve(async (request) => {
      running += 1;
      await open.promise;
      return okAck(request);
    });
    const link = await harness.dial();
    const outcomes = Array.from({ length: 3000 }, (_, index) => link.request(heartbeat(String(index)), 1000));
    await vi.waitFor(() => expect(harness.counts.of["connection-paused"]).toBe(1), waiting);
    expect(running).toBeLessThan(1000);
    open.open();
    expect((await Promise.all(outcomes)).every((outcome) => outcome.kind === "answered")).toBe(true);
  });
  test("one connection has a bounded amount of requests in flight, however few they are", async () => {
    const open = gate();
    let running = 0;
    await harness.serve(async (request) => {
      running += 1;
      await open.promise;
      return okAck(request);
    });
    const peer = harness.raw();
    const huge = "x".repeat(12 * 1024 * 1024);
    for (const id of ["a", "b", "c", "d"]) peer.write(encodeEnvelope(callApi(id, [huge])));
    await vi.waitFor(() => expect(harness.counts.of["connection-paused"]).toBe(1), waiting);
    expect(running).toBe(3);
    open.open();
    await peer.linesWhen(4);
    expect(running).toBe(4);
  });
  test("answers are remembered up to 32 Mi characters: ids of megabytes, which they repeat, fill no memory", async () => {
    let runs = 0;
    await harness.serve(async (request) => {
      runs += 1;
      return okAck(request);
    });
    const link = await harness.dial();
    const idOf = (index: number): string => `${String(index)}${"i".repeat(1024 * 1024)}`;
    const ask = (index: number) => link.request(heartbeat(idOf(index)), 1000);
    for (let index = 0; index < 40; index += 1) expect((await ask(index)).kind).toBe("answered");
    await ask(39);
    expect(runs).toBe(40);
    await ask(0);
    expect(runs).toBe(41);
  });
  test("a peer that does not read its answers is not read from, and gets them all in the end", async () => {
    const big = "x".repeat(20_000);
    let runs = 0;
    await harness.serve(async (request) => {
      runs += 1;
      return okAck(request, big);
    });
    const peer = harness.raw();
    peer.socket.pause();
    const count = 1500;
    for (let index = 0; index < count; index += 1) peer.write(line(String(index)));
    await vi.waitFor(() => expect(harness.counts.of["connection-paused"]).toBeGreaterThan(0), waiting);
    const link = await harness.dial();
    await link.request(heartbeat("neighbour"), 1000);
    expect(runs).toBeLessThan(count);
    peer.socket.resume();
    await vi.waitFor(() => expect(peer.text.length).toBeGreaterThan(count * big.length), waiting);
    expect(runs).toBe(count + 1);
  });
});

describe("both kinds of client at one endpoint", () => {
  test("protocol/W-7: a link and connection-per-request peers are served at the same time, from one ledger", async () => {
    let runs = 0;
    await harness.serve(async (request) => {
      runs += 1;
      return okAck(request);
    });
    const link = await harness.dial();
    const dialing = { timers: harness.clock, tmpFolder: harness.tmpFolder };
    const policy = { attemptsMax: 1, delayMs: 0, timeoutMs: 1000 };
    const once = (id: string) => requestOnce(harness.transport.leaderAddress, heartbeat(id), policy, dialing);
    const rounds = Array.from({ length: 50 }, (_, index) => String(index));
    const answers = await Promise.all(
      rounds.flatMap((id) => [link.request(heartbeat(id), 1000), once(id), once(`own ${id}`)]),
    );
    for (const answer of answers)
      expect(answer).toMatchObject(answer?.kind === "answered" ? { ack: { ok: true } } : { ok: true });
    expect(runs).toBe(100);
  });
});
