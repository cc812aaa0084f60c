/**
 * Whether a place is one where somebody may try us out: serving takes its folder for itself (0700) and replaces what stands
 * at the path.
 */
import { lstatSync, statSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { isPipe, resolvedPath } from "../../../adapters/transport/unix/address.ts";

/** Why we do not serve at `socket`, in words; null = we may. */
export function faultOfPlace(socket: string): string | null {
  if (process.platform === "win32" || isPipe(socket)) return null;
  const place = resolvedPath(socket, os.tmpdir());
  const folder = path.dirname(place);
  const mode = (statSync(folder, { throwIfNoEntry: false })?.mode ?? 0) & 0o777;
  if ((mode & 0o077) !== 0)
    return `${folder} is open to others (${mode.toString(8)}), and an endpoint's folder is its owner's alone: name one that is, or that is not there yet`;
  const there = lstatSync(place, { throwIfNoEntry: false });
  return there === undefined || there.isSocket() || there.isSymbolicLink()
    ? null
    : `${place} is there, and is no socket`;
}
