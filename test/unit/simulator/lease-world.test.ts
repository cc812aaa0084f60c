/**
 * The lease world: determinism, and that what is planted into it is caught.
 */
import { describe, expect, test, vi } from "vitest";
import type { LeaseStore } from "../../../services/ports.ts";
import type { Swarm } from "../../../testing/simulator/faults.ts";
import type { LeasePlant } from "../../../testing/simulator/lease-instance.ts";
import { simulateLease } from "../../../testing/simulator/lease-world.ts";

// Simulated minutes cost real seconds where the machine is busy.
vi.setConfig({ testTimeout: 60_000 });

const seeds = [1, 2, 3, 4, 5, 6];

/** The names of what broke, up to the first seed that shows `expected`. */
async function brokenBy(plant: LeasePlant, expected: string, force: Partial<Swarm> = {}): Promise<readonly string[]> {
  const names = new Set<string>();
  for (const seed of seeds) {
    const { violations } = await simulateLease({ seed, hours: 0.15, instances: 3, plant, force });
    for (const { name } of violations) names.add(name);
    if (names.has(expected)) break;
  }
  return [...names];
}

/** The lease with one method replaced. */
const leaseWith = (change: (real: LeaseStore) => Partial<LeaseStore>): LeasePlant => ({
  lease: (real) => ({ ...real, ...change(real) }),
});

describe("the lease world", () => {
  test("does the same for the same seed, byte for byte", async () => {
    const run = async (seed: number) => {
      const lines: string[] = [];
      const { traceHash } = await simulateLease({ seed, hours: 0.05, instances: 3, sink: (line) => lines.push(line) });
      return { traceHash, text: lines.join("\n") };
    };
    const [first, second, other] = [await run(7), await run(7), await run(8)];
    expect(second.text).toBe(first.text);
    expect(second.traceHash).toBe(first.traceHash);
    expect(other.traceHash).not.toBe(first.traceHash);
  });

  test("keeps every invariant and converges, whatever the faults", async () => {
    const kinds = new Set<string>();
    for (const seed of seeds) {
      const { violations, liveness, faults } = await simulateLease({ seed, hours: 0.05, instances: 3 });
      expect(violations).toEqual([]);
      expect(liveness.checks).toBeGreaterThan(0);
      for (const kind of Object.keys(faults)) kinds.add(kind);
    }
    expect([...kinds]).toEqual(expect.arrayContaining(["kill", "leave", "pause", "storeBusy", "storeAnswerLost"]));
  });

  test("catches a store that ignores the expected epoch", async () => {
    const plant = leaseWith((real) => ({
      acquire: async (request) => {
        const { epoch, renewals } = await real.read();
        return real.acquire({ ...request, expected: { epoch, renewals }, evidence: "holderGone" });
      },
    }));
    expect(await brokenBy(plant, "lease/takenOnlyWithEvidence")).toContain("lease/takenOnlyWithEvidence");
  });

  test("catches a store that renews whoever asks", async () => {
    const plant = leaseWith((real) => ({
      renew: async (request) => real.renew({ ...request, epoch: (await real.read()).epoch }),
    }));
    expect(await brokenBy(plant, "lease/noWriteUnderOldEpoch")).toContain("lease/noWriteUnderOldEpoch");
  });

  test("catches a store that releases whoever asks", async () => {
    const plant = leaseWith((real) => ({
      release: async () => real.release({ epoch: (await real.read()).epoch }),
    }));
    const force = { leaveEveryMs: 3_000, pauseEveryMs: 3_000, pauseMaxMs: 12_000, restartMaxMs: 500 };
    expect(await brokenBy(plant, "lease/noWriteUnderOldEpoch", force)).toContain("lease/noWriteUnderOldEpoch");
  });

  test("catches a gate that never closes by itself", async () => {
    const plant: LeasePlant = {
      gate: (real) => {
        let last: ReturnType<typeof real.permit> = null;
        return { permit: () => (last = real.permit() ?? last) };
      },
    };
    expect(await brokenBy(plant, "gate/outlivesLease")).toContain("gate/outlivesLease");
  });

  test("catches a lease that is never given out again", async () => {
    const plant = leaseWith((real) => {
      let grants = 0;
      return {
        acquire: async (request) => {
          grants += 1;
          return grants > 1 ? { kind: "refused", record: await real.read() } : real.acquire(request);
        },
      };
    });
    expect(await brokenBy(plant, "liveness/somebodyHolds")).toContain("liveness/somebodyHolds");
  });
});
