/**
 * The world of whole instances: it is deterministic, it runs clean where nothing fails, it catches what is planted.
 */
import { describe, expect, test, vi } from "vitest";
import { simulateBus, type BusSimulation } from "../../../testing/simulator/bus-world.ts";
import { calm } from "../../../testing/simulator/faults.ts";

// Simulated minutes cost real seconds where the machine is busy.
vi.setConfig({ testTimeout: 60_000 });

const run = (options: Omit<BusSimulation, "instances">) => simulateBus({ instances: 3, ...options });

describe("the world of whole instances", () => {
  test("does the same for the same seed, byte for byte", async () => {
    const traced = async () => {
      const lines: string[] = [];
      const { traceHash } = await run({ seed: 5, hours: 0.02, sink: (line: string) => void lines.push(line) });
      return { traceHash, text: lines.join("\n") };
    };
    const [first, second] = [await traced(), await traced()];
    expect(second.text).toBe(first.text);
    expect(second.traceHash).toBe(first.traceHash);
  });

  test("without faults everything is settled and answered once, in order, and one instance leads throughout", async () => {
    const { violations, figures } = await run({ seed: 1, hours: 0.03, force: calm });
    expect(violations).toEqual([]);
    expect(figures["grants"]).toBe(1);
    expect(figures["conflicts"]).toBe(0);
    expect(figures["settled"]).toBeGreaterThan(30);
    expect(figures["answersSeen"]).toBe(figures["answers"]);
  });

  test("C42, threads/T-18: users may delete, close and rename threads: in the end the chat has those that are bound, by their names", async () => {
    const users = { userDeletesEveryMs: 8_000, userClosesEveryMs: 8_000, userRenamesEveryMs: 4_000 };
    const { violations, faults, liveness } = await run({ seed: 1, hours: 0.08, force: { ...calm, ...users } });
    expect(violations).toEqual([]);
    for (const deed of ["userDeletes", "userCloses", "userRenames"]) expect(faults[deed]).toBeGreaterThan(3);
    expect(liveness.checks).toBeGreaterThan(1);
  });

  test("without faults nothing is settled and not handed out, where updates are settled first", async () => {
    const { violations, figures } = await run({ seed: 2, hours: 0.03, force: calm });
    expect(violations).toEqual([]);
    expect(figures["settled"]).toBeGreaterThan(30);
    expect(figures["answersSeen"]).toBe(figures["answers"]);
  });
});
