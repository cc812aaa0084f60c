/**
 * The marker beside the database: proof that there was a store here.
 *
 * Owns: the marker file. Does not own: the backup whose generation it names (`backup.ts`; 0 = none yet).
 * Invariant: the marker is written after the schema is committed and never removed, so a missing or empty database
 * beside a marker is damage, never a first start.
 */
import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import path from "node:path";
import { codeOf } from "./file-system.ts";

export interface Marker {
  readonly schema: number;
  readonly createdAtMs: number;
  /** Generation of the last backup, 0 before the first. */
  readonly backupGeneration: number;
}

/** `unreadable` still proves that there was a store. */
export type MarkerState = Marker | "none" | "unreadable";

export const markerFile = (folder: string): string => path.join(folder, "store.marker.json");

export function readMarker(folder: string): MarkerState {
  let text: string;
  try {
    text = readFileSync(markerFile(folder), "utf8");
  } catch (error) {
    return codeOf(error) === "ENOENT" ? "none" : "unreadable";
  }
  return parseMarker(text) ?? "unreadable";
}

function parseMarker(text: string): Marker | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  if (typeof value !== "object" || value === null) return null;
  const { schema, createdAtMs, backupGeneration } = value as Partial<Record<keyof Marker, unknown>>; // checked below
  if (typeof schema !== "number" || typeof createdAtMs !== "number" || typeof backupGeneration !== "number")
    return null;
  return { schema, createdAtMs, backupGeneration };
}

/** Replaces the marker; on disk when it returns. */
export function writeMarker(folder: string, marker: Marker): void {
  const temporary = `${markerFile(folder)}.${randomBytes(6).toString("hex")}`;
  const file = openSync(temporary, "w", 0o600);
  try {
    writeSync(file, `${JSON.stringify(marker)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, markerFile(folder));
  if (process.platform === "win32") return; // A folder cannot be opened there; the rename is journaled by NTFS.
  const directory = openSync(folder, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** Generation of the last backup as far as the marker tells; 0 where it does not. */
export const backupGenerationOf = (marker: MarkerState): number =>
  typeof marker === "object" ? marker.backupGeneration : 0;

/** Notes that the backup was replaced; its generation. Where there is no marker that can be read, none is made: 0. */
export function countBackup(folder: string): number {
  const marker = readMarker(folder);
  if (typeof marker === "string") return 0;
  const backupGeneration = marker.backupGeneration + 1;
  writeMarker(folder, { ...marker, backupGeneration });
  return backupGeneration;
}
