/**
 * Round trips over a unix socket, with one handler that answers at once: our pipelined link against a connection for each
 * request, as v1 peers make it. Same frames, same endpoint, same process, alternating.
 */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { systemClock } from "../../adapters/host/clock.ts";
import { requestOnce } from "../../adapters/transport/unix/one-shot.ts";
import { createUnixTransport } from "../../adapters/transport/unix/transport.ts";
import { generation, instanceId } from "../../machines/ids.ts";
import { requestLedgerEntriesMax } from "../../machines/wire/constants.ts";
import type { RequestEnvelope } from "../../machines/wire/envelopes.ts";
import type { Link } from "../../services/ports.ts";
import { resultOf, type Result } from "./figures.ts";

const rounds = 7;
let minted = 0;

const request = (): RequestEnvelope => ({
  kind: "follower.heartbeat",
  requestId: `4711:1:${String((minted += 1))}`,
  auth: "s".repeat(43),
  instanceId: instanceId("4711:1"),
  registrationGeneration: generation("4711:1:1"),
  sentAtMs: 1,
});

type Send = () => Promise<void>;

/** Requests a second, and each one's duration in milliseconds. */
async function run(send: Send, inFlight: number, total: number): Promise<{ perSecond: number; ms: number[] }> {
  const ms: number[] = [];
  let left = total;
  const startedAt = performance.now();
  const worker = async (): Promise<void> => {
    while ((left -= 1) >= 0) {
      const at = performance.now();
      await send();
      ms.push(performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return { perSecond: total / ((performance.now() - startedAt) / 1_000), ms };
}

interface Served {
  readonly ours: Send;
  readonly baseline: Send;
  readonly repeated: () => number;
}

/** Runs `use` at an endpoint of its own, whose ledger is as empty as it was made. */
async function withEndpoint<Value>(use: (served: Served) => Promise<Value>): Promise<Value> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "plb-"));
  const clock = systemClock();
  let repeated = 0;
  const counters = {
    count: (reason: string) => {
      if (reason === "request-repeated") repeated += 1;
    },
  };
  const transport = createUnixTransport({ folder, clock, counters });
  const endpoint = await transport.listen({
    address: transport.leaderAddress,
    handle: ({ requestId }) => Promise.resolve({ kind: "bus.ack", requestId, ok: true }),
    publish: (commit) => {
      commit();
      return Promise.resolve(true);
    },
  });
  const link: Link = await transport.dial(transport.leaderAddress, 1_000);
  const policy = { attemptsMax: 10, delayMs: 5, timeoutMs: 30_000 };
  const dialing = { timers: clock, tmpFolder: os.tmpdir() };
  try {
    return await use({
      repeated: () => repeated,
      ours: async () => {
        const outcome = await link.request(request(), 30_000);
        if (outcome.kind !== "answered") throw new Error(`a request was ${outcome.kind}`);
      },
      baseline: async () => {
        if ((await requestOnce(transport.leaderAddress, request(), policy, dialing)) === null)
          throw new Error("a request got no answer");
      },
    });
  } finally {
    link.close();
    await endpoint.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const note = "one process, an endpoint that answers at once; baseline: a connection for each request, same frames";

async function roundTrips(inFlight: number, total: number): Promise<Result[]> {
  return withEndpoint(async ({ ours, baseline, repeated }) => {
    // Fills the ledger and warms both paths.
    await run(ours, 64, requestLedgerEntriesMax);
    await run(baseline, inFlight, 500);
    const rates: number[][] = [[], []];
    const times: number[][] = [[], []];
    for (let round = 0; round < rounds; round += 1)
      for (const [side, send, count] of [
        [0, ours, total],
        [1, baseline, total / 10],
      ] as const) {
        const { perSecond, ms } = await run(send, inFlight, count);
        rates[side]?.push(perSecond);
        for (const each of ms) times[side]?.push(each);
      }
    const name = `wire, ${String(inFlight)} in flight, ledger full`;
    return [
      resultOf({ name: `${name}, rate`, unit: "requests/s", note }, rates[0] ?? [], rates[1]),
      resultOf({ name: `${name}, round trip`, unit: "ms", note }, times[0] ?? [], times[1]),
      resultOf({ name: `${name}, spurious retries`, unit: "requests", note: "answered twice from the ledger" }, [
        repeated(),
      ]),
    ];
  });
}

/** Each sample at a fresh endpoint, as many requests as the ledger holds; then the same number again with it full. */
async function ledgerCost(): Promise<Result> {
  const [full, empty]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1)
    await withEndpoint(async ({ ours }) => {
      empty.push((await run(ours, 64, requestLedgerEntriesMax)).perSecond);
      full.push((await run(ours, 64, requestLedgerEntriesMax)).perSecond);
    });
  const about = "64 in flight; baseline: the first 4096 requests of an endpoint, whose ledger is filling";
  return resultOf({ name: "wire, a full ledger against an empty one", unit: "requests/s", note: about }, full, empty);
}

export async function benchWire(): Promise<Result[]> {
  return [
    ...(await roundTrips(64, 20_000)),
    ...(await roundTrips(1, 4_000)),
    ...(await roundTrips(512, 20_000)),
    await ledgerCost(),
  ];
}
