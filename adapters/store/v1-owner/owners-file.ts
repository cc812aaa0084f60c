/**
 * `owners.json`: one JSON object, one key for each profile (protocol §5.1, §5.6 T-7, T-8).
 *
 * Owns: reading and replacing the file whole. Does not own: the guard, what a record means.
 * Invariants: the file changes by one rename of a synced file beside it; mode 0600; keys that are not ours are written back
 * as they were read.
 */
import { randomUUID } from "node:crypto";
import { open, readFile, rename, rm } from "node:fs/promises";
import type { Clock } from "../../../services/ports.ts";
import { isAbsent, isSharing } from "./errors.ts";

const replaceTriesMax = 5;
const replacePauseMs = 25;

export type OwnersFile =
  | { readonly kind: "owners"; readonly owners: Readonly<Record<string, unknown>> }
  | { readonly kind: "damaged"; readonly reason: string };

export async function readOwners(file: string): Promise<OwnersFile> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if (isAbsent(error)) return { kind: "owners", owners: {} };
    throw error;
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return { kind: "owners", owners: { ...value } };
  } catch {
    // Told below, in words that name the file and not its content, which holds secrets.
  }
  return { kind: "damaged", reason: `the v1 owner store ${file} is no JSON object (${text.length} characters)` };
}

export async function replaceOwners(
  file: string,
  owners: Readonly<Record<string, unknown>>,
  clock: Clock,
): Promise<void> {
  const next = `${file}.${randomUUID()}.tmp`;
  try {
    const handle = await open(next, "wx", 0o600);
    try {
      await handle.writeFile(`${JSON.stringify(owners, null, 2)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await renameShared(next, file, clock);
  } finally {
    // Renamed, it is there no longer.
    await rm(next, { force: true });
  }
}

async function renameShared(from: string, to: string, clock: Clock): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await rename(from, to);
      return;
    } catch (error) {
      if (!isSharing(error) || attempt >= replaceTriesMax) throw error;
      await new Promise<void>((resolve) => void clock.setTimeout(resolve, replacePauseMs * attempt));
    }
  }
}
