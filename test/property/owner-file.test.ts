/** Random requests to the real v1 owner file, its slots and its guard, with all kinds of damage, judged after every step. */
import { randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openOwnerStore } from "../../adapters/store/v1-owner/index.ts";
import type { PidLook } from "../../adapters/store/v1-owner/pids.ts";
import { judgeOf } from "../../machines/invariants.ts";
import type { OwnerFilesView, OwnerFileStepView } from "../../machines/invariants.ts";
import type { Clock } from "../../services/ports.ts";
import { ownerRecord } from "../support/charts/owner-samples.ts";
import { fixedSeed, freshSeed } from "../support/property/walks.ts";
import { ownerFileParts } from "./wire-parts.ts";

const judge = judgeOf(ownerFileParts);
const deadPid = 4_000_001;
/** Waits pass at once. */
const clock: Clock = {
  nowMs: () => Date.now(),
  elapsedMs: () => performance.now(),
  setTimeout: (fn) => setImmediate(fn),
  clearTimeout: () => undefined,
};
const pids: PidLook = { isRunning: (pid) => pid !== deadPid, startedAtMs: () => null };

const requests = ["take", "refresh", "release", "commit", "read"] as const;
const slots = ["default", "work", "home"] as const;
/** By another program, an older writer, a full drive. */
const files = {
  cut: '{"default": {"pid"',
  empty: "",
  list: "[1]",
  foreign: '{"work": {"pid": 9, "extra": [1, {"deep": null}]}, "odd": 4}',
};
const guards = ["none", "ofTheDead", "ofTheLiving", "empty", "foreign", "twofold", "plain"] as const;
type Guard = (typeof guards)[number];

class OwnerFileWorld {
  readonly counts = { changed: 0, failed: 0, onDamage: 0, underBadGuard: 0 };
  private readonly folder = mkdtempSync(path.join(os.tmpdir(), "pl-owners-"));
  private readonly file = path.join(this.folder, "owners.json");
  private readonly guard = `${this.file}.transaction`;
  private planted: Guard = "none";
  private takes = 0;

  plantFile(kind: keyof typeof files): void {
    writeFileSync(this.file, files[kind]);
  }

  plantGuard(kind: Guard): void {
    rmSync(this.guard, { recursive: true, force: true });
    this.planted = kind;
    if (kind === "none") return;
    if (kind === "plain") {
      writeFileSync(this.guard, "{}");
      return;
    }
    mkdirSync(this.guard);
    const generation = randomUUID();
    const pid = kind === "ofTheLiving" ? process.pid : deadPid;
    const text = JSON.stringify({ pid, acquiredAtMs: Date.now(), generation });
    const names = { ofTheDead: 1, ofTheLiving: 1, twofold: 2, foreign: 0, empty: 0 }[kind];
    for (let n = 0; n < names; n += 1)
      writeFileSync(path.join(this.guard, `owner.${n === 0 ? generation : randomUUID()}.json`), text);
    if (kind === "foreign") writeFileSync(path.join(this.guard, "owner.json"), text);
  }

  /** Judged; the names of what is broken. */
  async ask(request: (typeof requests)[number], slot: string): Promise<readonly string[]> {
    const before = this.look();
    const wasReadable = before.file === null || before.slots !== null;
    const wasGuardUnverifiable = !["none", "ofTheDead", "ofTheLiving"].includes(this.planted);
    await this.perform(request, slot).catch((error: unknown) => {
      expect(String(error)).toMatch(/Timed out acquiring|no JSON object/);
      this.counts.failed += 1;
    });
    const after = this.look();
    if (after.guard === null) this.planted = "none";
    if (before.file !== after.file) this.counts.changed += 1;
    if (!wasReadable) this.counts.onDamage += 1;
    if (wasGuardUnverifiable) this.counts.underBadGuard += 1;
    const step: OwnerFileStepView = { slot, before, after, wasReadable, wasGuardUnverifiable };
    return judge({ ownerFileSteps: [step] });
  }

  dispose(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async perform(request: (typeof requests)[number], slot: string): Promise<void> {
    const { folder } = this;
    const store = openOwnerStore({ folder, slot, clock, pids });
    this.takes += 1;
    const { takes } = this;
    if (request === "read") await store.read();
    else if (request === "commit")
      await store.commitIf(
        (record) => record !== null,
        () => Promise.resolve(true),
      );
    else
      await store.change((record) => {
        if (request === "release") return record === null ? { kind: "keep" } : { kind: "remove" };
        if (request === "take") return { kind: "write", record: ownerRecord({ leaderEpoch: `e${takes}` }) };
        return record === null ? { kind: "keep" } : { kind: "write", record: { ...record, heartbeatMs: takes } };
      });
  }

  private look(): OwnerFilesView {
    const file = existsSync(this.file) ? readFileSync(this.file, "utf8") : null;
    return { file, guard: this.guardText(), slots: slotsIn(file) };
  }

  private guardText(): string | null {
    if (!existsSync(this.guard)) return null;
    if (!statSync(this.guard).isDirectory()) return readFileSync(this.guard, "utf8");
    return readdirSync(this.guard)
      .map((name) => `${name}: ${readFileSync(path.join(this.guard, name), "utf8")}`)
      .join("\n");
  }
}

/** Read without the code that is looked at. */
function slotsIn(text: string | null): ReadonlyMap<string, string> | null {
  if (text === null) return new Map();
  if (!text.startsWith("{") || !text.trimEnd().endsWith("}")) return null;
  const owners: unknown = JSON.parse(text);
  if (typeof owners !== "object" || owners === null) return null;
  return new Map(Object.entries(owners).map(([slot, value]) => [slot, JSON.stringify(value)]));
}

const acts = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({ request: fc.constantFrom(...requests), slot: fc.constantFrom(...slots) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ file: fc.constantFrom("foreign", "foreign", "foreign", "cut", "empty", "list") }),
    },
    { weight: 1, arbitrary: fc.record({ guard: fc.constantFrom("none", "none", ...guards) }) },
  ),
  { maxLength: 25, size: "max" },
);

describe("the v1 owner file", { timeout: 120_000 }, () => {
  it.each([
    ["of a fixed seed", fixedSeed],
    ["of a fresh seed", freshSeed],
  ])("protocol/P-6, P-7: no walk %s touches another slot, or what is damaged", async (_, seed) => {
    const met = { changed: 0, failed: 0, onDamage: 0, underBadGuard: 0 };
    await fc.assert(
      fc.asyncProperty(acts, async (steps) => {
        const world = new OwnerFileWorld();
        try {
          for (const step of steps) {
            if ("file" in step) world.plantFile(step.file);
            else if ("guard" in step) world.plantGuard(step.guard);
            else expect(await world.ask(step.request, step.slot)).toEqual([]);
          }
        } finally {
          world.dispose();
        }
        for (const [kind, times] of Object.entries(world.counts)) met[kind as keyof typeof met] += times;
      }),
      { numRuns: 40, seed },
    );
    // Else this says little.
    for (const [kind, times] of Object.entries(met)) expect(times, kind).toBeGreaterThan(5);
  });
});
