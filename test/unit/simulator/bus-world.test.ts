/**
 * The world of whole instances: it is deterministic, it runs clean where nothing fails, it catches what is planted.
 */
import { describe, expect, test, vi } from "vitest";
import { simulateBus } from "../../../testing/simulator/bus-world.ts";
import { calm } from "../../../testing/simulator/faults.ts";

// Simulated minutes cost real seconds where the machine is busy.
vi.setConfig({ testTimeout: 60_000 });

describe("the world of whole instances", () => {
  test("does the same for the same seed, byte for byte", async () => {
    const run = async () => {
      const lines: string[] = [];
      const options = { seed: 5, hours: 0.02, instances: 3, sink: (line: string) => void lines.push(line) };
      const { traceHash } = await simulateBus(options);
      return { traceHash, text: lines.join("\n") };
    };
    const [first, second] = [await run(), await run()];
    expect(second.text).toBe(first.text);
    expect(second.traceHash).toBe(first.traceHash);
  });

  test("without faults everything written is settled once, in order, and one instance leads throughout", async () => {
    const { violations, figures } = await simulateBus({ seed: 1, hours: 0.04, instances: 3, force: calm });
    expect(violations).toEqual([]);
    expect(figures["grants"]).toBe(1);
    expect(figures["conflicts"]).toBe(0);
    expect(figures["settled"]).toBeGreaterThan(50);
  });

  test("survives processes that are killed and paused, the order of redelivered updates aside", async () => {
    const force = { ...calm, pauseEveryMs: 15_000, pauseMaxMs: 3_000, killEveryMs: 20_000 };
    const options = { seed: 2, hours: 0.04, instances: 3, force, ignore: ["delivery/threadOrder"] };
    const { violations, faults } = await simulateBus(options);
    expect(violations).toEqual([]);
    expect(faults["kill"]).toBeGreaterThan(0);
  });

  // Expected to fail: the two tests below show faults in the services. Whoever mends one turns `fails` off.
  test.fails("an update given back by a dead process is not overtaken by the next of its thread", async () => {
    const force = { ...calm, pauseEveryMs: 15_000, pauseMaxMs: 3_000, killEveryMs: 20_000 };
    const { violations } = await simulateBus({ seed: 2, hours: 0.04, instances: 3, force });
    expect(violations).toEqual([]);
  });

  test.fails("an update whose claim was not observed is handed out all the same", async () => {
    const force = { ...calm, storeAnswerLost: 0.2 };
    const { violations } = await simulateBus({ seed: 3, hours: 0.04, instances: 3, force });
    expect(violations).toEqual([]);
  });
});
