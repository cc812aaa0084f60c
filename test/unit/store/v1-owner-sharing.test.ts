/** The v1 owner file while somebody else has it open, as on Windows: it is replaced a moment later, or not at all. */
import type * as promises from "node:fs/promises";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { openOwnerStore } from "../../../adapters/store/v1-owner/index.ts";
import { ownerRecord } from "../../support/charts/owner-samples.ts";

/** What renames of the owner file meet, in order; nothing once these are used up. */
const met = vi.hoisted(() => ({ codes: [] as string[] }));

vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof promises>();
  return {
    ...real,
    rename: (from: string, to: string) => {
      const code = to.endsWith("owners.json") ? met.codes.shift() : undefined;
      return code === undefined ? real.rename(from, to) : Promise.reject(Object.assign(new Error(code), { code }));
    },
  };
});

function place() {
  const folder = mkdtempSync(path.join(os.tmpdir(), "pl-owners-"));
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const waits: number[] = [];
  const clock = {
    nowMs: () => 1,
    elapsedMs: () => 1,
    setTimeout(fn: () => void, delayMs: number) {
      waits.push(delayMs);
      return setImmediate(fn);
    },
    clearTimeout: () => undefined,
  };
  return { folder, waits, store: openOwnerStore({ folder, slot: "default", clock }) };
}

test("protocol/T-8 a file that is shared for a moment is replaced at the fifth try at the latest, each after a longer wait", async () => {
  const { folder, waits, store } = place();
  met.codes = ["EPERM", "EBUSY", "EACCES", "EPERM"];
  await store.change(() => ({ kind: "write", record: ownerRecord() }));
  expect(waits).toEqual([25, 50, 75, 100]);
  expect(await store.read()).toMatchObject({ record: { pid: 700 } });
  expect(readdirSync(folder)).toEqual(["owners.json"]);
});

test.each([
  ["shared for longer", ["EBUSY", "EBUSY", "EBUSY", "EBUSY", "EBUSY"], [25, 50, 75, 100]],
  ["on a full drive", ["ENOSPC"], []],
])("protocol/T-8 a file that is %s is left as it was, with nothing beside it", async (_, codes, expected) => {
  const { folder, waits, store } = place();
  await store.change(() => ({ kind: "write", record: ownerRecord() }));
  const before = readFileSync(path.join(folder, "owners.json"), "utf8");
  met.codes = [...codes];
  const change = store.change(() => ({ kind: "write", record: ownerRecord({ pid: 701 }) }));
  await expect(change).rejects.toThrow(codes[0] ?? "");
  expect(waits).toEqual(expected);
  expect(readFileSync(path.join(folder, "owners.json"), "utf8")).toBe(before);
  expect(readdirSync(folder)).toEqual(["owners.json"]);
});
