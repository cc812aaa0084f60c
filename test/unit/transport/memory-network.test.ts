import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { createMemoryNetwork, type MemoryNetwork } from "../../../adapters/transport/memory/network.ts";
import type { Inbound, Link, RequestHandler } from "../../../services/ports.ts";
import { heartbeat, okAck } from "./support/envelopes.ts";
import { asOwner, Counts, echo } from "./support/harness.ts";
import { ManualClock } from "./support/manual-clock.ts";

/** Deliveries wait here until a test lets them go. */
let waiting: (() => void)[];
let network: MemoryNetwork;
let clock: ManualClock;
let counts: Counts;

beforeEach(() => {
  waiting = [];
  clock = new ManualClock();
  counts = new Counts();
  network = createMemoryNetwork({ clock, counters: counts, schedule: (deliver) => void waiting.push(deliver) });
});

const turn = async () => {
  for (let count = 0; count < 20; count += 1) await Promise.resolve();
};

async function settle(pick: (length: number) => number = () => 0): Promise<void> {
  await turn();
  while (waiting.length > 0) {
    waiting.splice(pick(waiting.length), 1)[0]?.();
    await turn();
  }
}

const listen = (handle: RequestHandler = echo, name = "server") => {
  const transport = network.transport(name);
  return transport.listen({ address: transport.leaderAddress, handle, publish: asOwner });
};

async function dial(name = "client"): Promise<Link> {
  const transport = network.transport(name);
  const link = transport.dial(transport.leaderAddress, 1000);
  await settle();
  return link;
}

/** What a request came to, or null while it waits. */
function watch(link: Link, id: string, timeoutMs = 1000) {
  const seen: { kind: string | null } = { kind: null };
  void link.request(heartbeat(id), timeoutMs).then((outcome) => (seen.kind = outcome.kind));
  return seen;
}

const isClosed = async (end: { closed: Promise<void> }): Promise<boolean> =>
  Promise.race([end.closed.then(() => true), turn().then(() => false)]);

describe("memory network", () => {
  test("nothing arrives before the simulator delivers it", async () => {
    await listen();
    const link = await dial();
    const outcome = watch(link, "a");
    await turn();
    expect([outcome.kind, waiting.length]).toEqual([null, 1]);
    await settle();
    expect(outcome.kind).toBe("answered");
  });
  test("whatever the simulator picks, each direction of a connection keeps its order", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(100), { minLength: 1, maxLength: 60 }), async (picks) => {
        const order: string[] = [];
        await listen(async (request) => {
          order.push(request.requestId);
          return okAck(request);
        });
        const link = await dial();
        const ids = Array.from({ length: 8 }, (_, index) => `${String(index)} ${String(picks)}`);
        const outcomes = ids.map((id) => watch(link, id));
        let step = 0;
        await settle((length) => (picks[(step += 1) % picks.length] ?? 0) % length);
        expect(order).toEqual(ids);
        expect(outcomes.every((outcome) => outcome.kind === "answered")).toBe(true);
      }),
      { numRuns: 50 },
    );
  });
  test("a dropped request and a dropped answer are lost by time-out; the second ran", async () => {
    let runs = 0;
    await listen(async (request) => okAck(request, (runs += 1)));
    const link = await dial();
    for (const kind of ["request", "answer"]) {
      network.setFate((frame) => ({ kind: frame.kind === kind ? "drop" : "deliver" }));
      const outcome = watch(link, kind);
      await settle();
      expect(outcome.kind).toBeNull();
      clock.advance(1000);
      await turn();
      expect(outcome.kind).toBe("lost");
    }
    expect(runs).toBe(1);
  });
  test("a duplicated request runs once, its second answer matches nothing", async () => {
    let runs = 0;
    await listen(async (request) => okAck(request, (runs += 1)));
    const link = await dial();
    network.setFate(() => ({ kind: "duplicate" }));
    const outcome = watch(link, "a");
    await settle();
    expect([outcome.kind, runs]).toEqual(["answered", 1]);
    expect(counts.of).toEqual({ "request-repeated": 1, "answer-unmatched": 3 });
  });
  test("a delayed frame holds those behind it in its direction", async () => {
    const order: string[] = [];
    await listen(async (request) => {
      order.push(request.requestId);
      return okAck(request);
    });
    const link = await dial();
    network.setFate((frame) => (frame.line.includes('"a"') ? { kind: "delay", delayMs: 50 } : { kind: "deliver" }));
    watch(link, "a");
    watch(link, "b");
    await settle();
    expect(order).toEqual([]);
    clock.advance(50);
    await settle();
    expect(order).toEqual(["a", "b"]);
  });
  test("a partition loses frames and times dials out; healed, it tells of closes", async () => {
    const inbounds: Inbound[] = [];
    await listen(async (request, from) => {
      inbounds.push(from);
      return okAck(request);
    });
    const link = await dial();
    watch(link, "a");
    await settle();
    network.partition("client", "server");
    const cut = watch(link, "b", 100);
    const dialled = network.transport("client").dial(network.transport("client").leaderAddress, 100);
    const failed = expect(dialled).rejects.toMatchObject({ code: "ETIMEDOUT" });
    await settle();
    clock.advance(100);
    await failed;
    expect(cut.kind).toBe("lost");
    link.close();
    await settle();
    expect(await isClosed(inbounds[0] ?? link)).toBe(false);
    network.heal("server", "client");
    await settle();
    expect(await isClosed(inbounds[0] ?? link)).toBe(true);
  });
  test("a killed server: links close after what was sent before, dials are refused, its old transport is dead", async () => {
    const old = network.transport("server");
    await listen();
    const link = await dial();
    const answered = watch(link, "a");
    await turn();
    waiting.shift()?.();
    await turn();
    network.kill("server");
    const lost = watch(link, "b");
    await settle();
    expect([answered.kind, lost.kind]).toEqual(["answered", "lost"]);
    expect(await isClosed(link)).toBe(true);
    const refused = expect(dial()).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await settle();
    await refused;
    await expect(old.listen({ address: old.leaderAddress, handle: echo, publish: asOwner })).rejects.toThrow(
      "lost transport",
    );
    await listen();
    expect((await dial()).closed).toBeInstanceOf(Promise);
  });
  test("a killed client: its end is closed at once, the server learns of it", async () => {
    const inbounds: Inbound[] = [];
    await listen(async (request, from) => {
      inbounds.push(from);
      return okAck(request);
    });
    const link = await dial();
    watch(link, "a");
    await settle();
    network.kill("client");
    expect(await isClosed(link)).toBe(true);
    expect(await isClosed(inbounds[0] ?? link)).toBe(false);
    await settle();
    expect(await isClosed(inbounds[0] ?? link)).toBe(true);
  });
});
