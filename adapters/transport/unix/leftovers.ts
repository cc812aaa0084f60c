/**
 * Removes private sockets and unpublished links of processes that were killed.
 *
 * Owns: only names that no one publishes (`.pt-<hex>.sock`, `<name>.link.<hex>`). Does not own: stable paths.
 * Invariants: nothing that accepts a connection is removed, and nothing younger than `leftoverAgeMs`, so that a start in
 * progress is not disturbed. Removal says nothing about who leads.
 */
import { lstat, readdir, rm } from "node:fs/promises";
import path from "node:path";
import { isReachable } from "./connect.ts";
import type { PublicationContext } from "./publication.ts";

const leftoverAgeMs = 60_000;
/** Looked at in one pass; the rest waits for the next start. */
const leftoversMax = 64;
const probeTimeoutMs = 250;

const leftoverName = /^\.pt-[0-9a-f]{16}\.sock$|\.sock\.link\.[0-9a-f]{16}$/;

/** Never rejects: a leftover that stays is counted, and harmless. */
export async function removeLeftovers(folder: string, context: PublicationContext): Promise<void> {
  const { clock, counters, tmpFolder } = context;
  try {
    const names = (await readdir(folder)).filter((name) => leftoverName.test(name)).slice(0, leftoversMax);
    for (const name of names) {
      const candidate = path.join(folder, name);
      const { mtimeMs } = await lstat(candidate);
      if (clock.nowMs() - mtimeMs < leftoverAgeMs) continue;
      if (await isReachable(candidate, probeTimeoutMs, { timers: clock, tmpFolder })) continue;
      await rm(candidate, { force: true });
      counters.count("leftover-removed");
    }
  } catch (error) {
    // Another process may be clearing the same folder.
    counters.count("leftover-kept", error);
  }
}
