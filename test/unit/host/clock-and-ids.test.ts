import { describe, expect, it } from "vitest";
import { clockFrom, systemClock } from "../../../adapters/host/clock.ts";
import { systemIds } from "../../../adapters/host/ids.ts";

function clockAt(step = 20) {
  const at = { wallMs: 1_750_000_000_000, monotonicMs: 5000, uptimeMs: 90_000 };
  const clock = clockFrom({
    wallMs: () => at.wallMs,
    monotonicMs: () => at.monotonicMs,
    uptimeMs: () => at.uptimeMs,
    uptimeStepMs: step,
  });
  return { at, clock };
}

describe("elapsed time", () => {
  it("is the monotonic clock's while the host runs", () => {
    const { at, clock } = clockAt();
    at.monotonicMs += 1234.5;
    at.uptimeMs += 1230;
    expect(clock.elapsedMs()).toBe(1234.5);
  });

  it("counts a suspension, during which only the uptime moves", () => {
    const { at, clock } = clockAt();
    at.uptimeMs += 60_000;
    expect(clock.elapsedMs()).toBe(60_000);
    at.monotonicMs += 100;
    at.uptimeMs += 100;
    expect(clock.elapsedMs()).toBe(60_100);
  });

  it("adds up suspensions that are each shorter than the uptime's step", () => {
    const { at, clock } = clockAt(1000);
    for (let i = 0; i < 5; i++) at.uptimeMs += 600;
    expect(clock.elapsedMs()).toBe(3000);
  });

  it("does not jerk with an uptime in whole seconds", () => {
    const { at, clock } = clockAt(1000);
    at.monotonicMs += 100;
    at.uptimeMs += 1000;
    expect(clock.elapsedMs()).toBe(100);
  });

  it("never goes back, whatever the sources do", () => {
    const { at, clock } = clockAt();
    at.monotonicMs += 500;
    at.uptimeMs += 500;
    expect(clock.elapsedMs()).toBe(500);
    at.monotonicMs -= 300;
    at.uptimeMs -= 50_000;
    at.wallMs -= 1e9;
    expect(clock.elapsedMs()).toBe(500);
  });

  it("moves on this host", () => {
    const clock = systemClock();
    const before = clock.elapsedMs();
    while (clock.elapsedMs() === before) continue;
    expect(clock.elapsedMs()).toBeGreaterThan(before);
    expect(Math.abs(clock.nowMs() - Date.now())).toBeLessThan(1000);
  });
});

describe("timers", () => {
  it("fire, can be taken back, and do not fire at once for a delay beyond Node's maximum", async () => {
    const clock = systemClock();
    const fired: string[] = [];
    const far = clock.setTimeout(() => fired.push("far"), 3e9);
    const cancelled = clock.setTimeout(() => fired.push("cancelled"), 0);
    clock.clearTimeout(cancelled);
    await new Promise<void>((resolve) => clock.setTimeout(resolve, 5));
    clock.clearTimeout(far);
    expect(fired).toEqual([]);
  });
});

describe("ids", () => {
  it("never gives one process the same instance id twice, not even in the same millisecond", () => {
    const minted = [systemIds(), systemIds()].flatMap((ids) => [ids.instanceId(7, 1000), ids.instanceId(7, 1000)]);
    expect(new Set(minted).size).toBe(4);
    for (const id of minted) expect(id).toMatch(/^7:\d+$/);
  });

  it("counts generations and requests up under their instance", () => {
    const ids = systemIds();
    const me = ids.instanceId(7, Date.now());
    const minted = [ids.generation(me), ids.generation(me), ids.requestId(me), systemIds().requestId(me)];
    expect(new Set(minted).size).toBe(4);
    for (const id of minted) expect(id.startsWith(`${me}:`)).toBe(true);
  });

  it("protocol/A-1: mints secrets of 32 bytes, in 43 characters, and fresh acquisitions", () => {
    const ids = systemIds();
    expect(Buffer.from(ids.secret(), "base64url")).toHaveLength(32);
    expect(ids.secret()).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(ids.secret()).not.toBe(ids.secret());
    expect(ids.acquisition()).not.toBe(ids.acquisition());
  });

  it("mints the acquisitions of one process in order, so that the store's index takes them side by side", () => {
    const minted = Array.from({ length: 300 }, () => systemIds().acquisition());
    expect(minted.toSorted()).toEqual(minted);
  });

  it("digests UTF-8", () => {
    expect(systemIds().sha256Hex("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect(systemIds().sha256Hex("é")).toBe("4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c");
  });
});
