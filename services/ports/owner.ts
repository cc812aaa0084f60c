/**
 * Port of the v1 owner store: the file by which v1 processes agree who leads (protocol §5.1, §5.6).
 *
 * Owns: the contract. Does not own: what a record means (`machines/owner.rules.ts`), when to look (`owner.machine.ts`).
 */
import type { OwnerTimings } from "../../machines/owner.contract.ts";
import type { OwnerRecord, OwnerSelf } from "../../machines/owner.rules.ts";

export type OwnerRead =
  | { readonly kind: "read"; readonly record: OwnerRecord | null }
  /** The file, or the guard of its transactions, is there and not what it must be. */
  | { readonly kind: "damaged"; readonly reason: string };

export type OwnerChange =
  { readonly kind: "keep" } | { readonly kind: "write"; readonly record: OwnerRecord } | { readonly kind: "remove" };

/** One slot of the store: the record of one profile. Every mutation leaves the other slots as they are (P-6). */
export interface OwnerStore {
  /** A plain read, outside any transaction. */
  read(): Promise<OwnerRead>;
  /**
   * One transaction under the guard: `decide` sees the record as it is and says what becomes of it; resolves once that is
   * on disk. Rejects, with nothing changed, when the guard could not be had within 2 s or the file cannot be read (P-7).
   */
  change(decide: (record: OwnerRecord | null) => OwnerChange): Promise<void>;
  /** Runs `commit` inside a transaction if `isOwner` says yes to the record (P-5); false = it did not run, or said no. */
  commitIf(isOwner: (record: OwnerRecord | null) => boolean, commit: () => Promise<boolean>): Promise<boolean>;
  /** Moves a file or guard that is still damaged into `recovery/` beside it; does nothing otherwise (§5.12). */
  setAside(): Promise<void>;
  /** Whether a process with this pid runs on this host; true when that cannot be told. */
  isRunning(pid: number): boolean;
}

/** The v1 fleet that an instance is part of. */
export interface V1Fleet {
  readonly store: OwnerStore;
  readonly self: OwnerSelf;
  readonly timings: OwnerTimings;
  /** A fresh random UUID for each take (P-2). */
  readonly mintEpoch: () => string;
}
