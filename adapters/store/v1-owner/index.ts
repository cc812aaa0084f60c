/**
 * The v1 owner store on disk: `<agentDir>/tmp/telegram/owners.json` and the guard of its transactions (protocol §5).
 *
 * Owns: the port over both files, setting damaged ones aside. Does not own: any decision about a record.
 *
 * Nothing blocks the process while the guard is waited for (O-41); the protocol on disk is v1's. A decision is taken and
 * written inside one transaction. Not guaranteed: anything against a writer that ignores the guard.
 */
import { randomUUID } from "node:crypto";
import { mkdir, rename } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { ownerStaleMs, readOwnerRecord, writeOwnerRecord } from "../../../machines/owner.rules.ts";
import type { OwnerRecord } from "../../../machines/owner.rules.ts";
import type { Clock } from "../../../services/ports.ts";
import type { OwnerRead, OwnerStore } from "../../../services/ports/owner.ts";
import { guardTouchedAtMs, TransactionGuard } from "./guard.ts";
import { readOwners, replaceOwners } from "./owners-file.ts";
import { systemPids } from "./pids.ts";
import type { PidLook } from "./pids.ts";

export interface OwnerStoreOptions {
  /** Folder of the bus files, absolute: `<agentDir>/tmp/telegram`. */
  readonly folder: string;
  /** `default`, or the profile's name. */
  readonly slot: string;
  readonly clock: Clock;
  /** Default: this host's. */
  readonly pids?: PidLook;
}

/** Where v1 keeps its bus files under an agent folder. */
export const v1Folder = (agentDir: string): string => path.join(agentDir, "tmp", "telegram");

export function openOwnerStore({ folder, slot, clock, pids = systemPids }: OwnerStoreOptions): OwnerStore {
  const file = path.join(folder, "owners.json");
  const guard = new TransactionGuard(`${file}.transaction`, { clock, pids });

  const readSlot = async (): Promise<{ owners: Readonly<Record<string, unknown>>; record: OwnerRecord | null }> => {
    const read = await readOwners(file);
    if (read.kind === "damaged") throw new Error(`${read.reason}; it is left as it is.`);
    return { owners: read.owners, record: readOwnerRecord(read.owners[slot]) };
  };

  const inTransaction = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return guard.during(work);
  };

  /** A guard that is none stops every transaction of everybody; it is damage once no owner refreshes any more. */
  const damageOfGuard = async (record: OwnerRecord | null): Promise<string | null> => {
    const isLate = (atMs: number): boolean => clock.nowMs() - atMs > ownerStaleMs;
    if (record !== null && (record.heartbeatMs === null || !isLate(record.heartbeatMs))) return null;
    const touchedAtMs = await guardTouchedAtMs(guard.path);
    if (touchedAtMs === null || !isLate(touchedAtMs)) return null;
    const look = await guard.look();
    return look.kind === "unverifiable" ? `the guard ${guard.path} is no guard: ${look.reason}` : null;
  };

  const setAside = async (what: string): Promise<void> => {
    const place = path.join(folder, "recovery", `${clock.nowMs()}-${process.pid}-${randomUUID()}`);
    await mkdir(place, { recursive: true, mode: 0o700 });
    await rename(what, path.join(place, path.basename(what)));
  };

  const read = async (): Promise<OwnerRead> => {
    const found = await readOwners(file);
    if (found.kind === "damaged") return found;
    const record = readOwnerRecord(found.owners[slot]);
    const damage = await damageOfGuard(record);
    return damage === null ? { kind: "read", record } : { kind: "damaged", reason: damage };
  };

  return {
    read,

    change: (decide) =>
      inTransaction(async () => {
        const { owners, record } = await readSlot();
        const change = decide(record);
        if (change.kind === "keep") return;
        const others = Object.fromEntries(Object.entries(owners).filter(([key]) => key !== slot));
        // A key that is there keeps its place in the file.
        const next = change.kind === "remove" ? others : { ...owners, [slot]: writeOwnerRecord(change.record) };
        await replaceOwners(file, next, clock);
      }),

    commitIf: (isOwner, commit) =>
      inTransaction(async () => {
        const { record } = await readSlot();
        return isOwner(record) && (await commit());
      }),

    async setAside() {
      const found = await readOwners(file);
      const record = found.kind === "owners" ? readOwnerRecord(found.owners[slot]) : null;
      if ((await damageOfGuard(record)) !== null) await setAside(guard.path);
      if (found.kind === "owners") return;
      await inTransaction(async () => {
        // Whoever held the guard before us may have mended it.
        if ((await readOwners(file)).kind === "damaged") await setAside(file);
      });
    },

    isRunning: (pid) => pids.isRunning(pid),
  };
}
