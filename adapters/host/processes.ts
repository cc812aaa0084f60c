/**
 * Birth identities of processes, and whether they still run.
 *
 * Owns: what this host can prove. Linux: boot id, pid namespace and start time from /proc. macOS: the boot session and
 * a digest of `ps -o lstart`. Elsewhere only that a pid is not in use.
 * Does not own: what follows from a death.
 *
 * Invariants:
 * 1. `dead` only on proof, `alive` only on an equal start, `unverifiable` for everything else; a failed look throws.
 * 2. An unknown fact (empty text) equals nothing.
 * 3. Another boot id proves death because the store that brought the incarnation here is a SQLite file, which is never
 *    shared between hosts: the holder ran on this host, before it started anew.
 * 4. Pids of another namespace are not looked up: the number means somebody else here.
 *
 * Not guaranteed: telling two instances of one live process apart. They share everything but the counter.
 */
import { createHash } from "node:crypto";
import { threadId } from "node:worker_threads";
import type { Incarnation, Liveness } from "../../machines/ids.ts";
import { unknownFact } from "../../machines/incarnation.rules.ts";
import type { Processes } from "../../services/ports.ts";
import { systemProcessTable, type ProcessTable, type Read } from "./process-table.ts";

/** This host's processes. */
export function systemProcesses(): Processes {
  return processesFrom(systemProcessTable());
}

/** The namespace of platforms that have none. */
const oneNamespace = "none";
const pidMax = 0x7fff_ffff;
/** Field 22 of `/proc/<pid>/stat`, counted from field 3, which follows the last `)`. */
const startTicksIndex = 22 - 3;

/** What one look at a pid showed. `running` with an unknown start: it is there, and that is all. */
type Sighting = { readonly kind: "gone" } | { readonly kind: "running"; readonly startTicks: string };

export function processesFrom(table: ProcessTable): Processes {
  const bootId = bootIdOf(table);
  const pidNamespace = namespaceOf(table);
  const birthOf = (pid: number): Incarnation => {
    const seen = look(table, pid);
    return {
      bootId,
      pidNamespace,
      pid,
      startTicks: seen.kind === "running" ? seen.startTicks : unknownFact,
      counter: 0,
    };
  };
  // A birth does not change; the parent's is read now, before it can be gone. Pid 0 is no process: its starter lives in
  // another namespace, and the process stands for itself (protocol v1, seat owner).
  const self = birthOf(table.pid);
  const parent = table.parentPid > 0 ? birthOf(table.parentPid) : self;

  return {
    own: () => ({ ...self, counter: nextCounter() }),
    parent: () => parent,
    liveness(who) {
      if (!Number.isSafeInteger(who.pid) || who.pid < 1 || who.pid > pidMax) return "unverifiable";
      if (who.bootId !== unknownFact && bootId !== unknownFact && who.bootId !== bootId) return "dead";
      if (pidNamespace === unknownFact || who.pidNamespace !== pidNamespace) return "unverifiable";
      return verdict(table, who, look(table, who.pid));
    },
  };
}

function verdict(table: ProcessTable, who: Incarnation, seen: Sighting): Liveness {
  if (seen.kind === "gone") return "dead";
  if (seen.startTicks === unknownFact || who.startTicks === unknownFact) return "unverifiable";
  if (seen.startTicks === who.startTicks) return "alive";
  // A v1 peer on macOS (no boot id) took its digest in its own time zone and locale: ours may match, another proves nothing.
  if (table.platform !== "darwin" || who.bootId !== unknownFact) return "dead";
  const inherited = table.psStart(who.pid, "inherited");
  return inherited.kind === "text" && startDigest(inherited.text) === who.startTicks ? "alive" : "unverifiable";
}

function look(table: ProcessTable, pid: number): Sighting {
  if (table.platform === "linux") return lookLinux(table, pid);
  if (table.platform === "darwin") return lookDarwin(table, pid);
  return table.exists(pid) ? { kind: "running", startTicks: unknownFact } : { kind: "gone" };
}

function lookLinux(table: ProcessTable, pid: number): Sighting {
  const stat = table.file(`/proc/${pid}/stat`);
  if (stat.kind === "text") return parseStat(pid, stat.text);
  // Mounted with `hidepid`, /proc leaves out the processes of other users: only signal 0 tells those from the dead.
  if (stat.kind === "absent" && !table.exists(pid)) return { kind: "gone" };
  return { kind: "running", startTicks: unknownFact };
}

function parseStat(pid: number, stat: string): Sighting {
  // The name in field 2 may hold anything, spaces and parentheses included: count from behind it.
  const fields = stat
    .slice(stat.lastIndexOf(")") + 1)
    .trim()
    .split(/\s+/);
  const state = fields[0] ?? "";
  const startTicks = fields[startTicksIndex] ?? "";
  if (!stat.includes(")") || !/^[A-Za-z]$/.test(state) || !/^\d+$/.test(startTicks)) {
    throw new Error(`/proc/${pid}/stat is not in the form proc(5) describes; nothing can be said about this process.`);
  }
  return /^[ZXx]$/.test(state) ? { kind: "gone" } : { kind: "running", startTicks };
}

function lookDarwin(table: ProcessTable, pid: number): Sighting {
  const start = table.psStart(pid, "fixed");
  if (start.kind === "text" && start.text.trim() !== "")
    return { kind: "running", startTicks: startDigest(start.text) };
  return table.exists(pid) ? { kind: "running", startTicks: unknownFact } : { kind: "gone" };
}

/** First 16 hex digits of the SHA-256 of the trimmed `ps -o lstart` output (protocol v1, process birth). */
export function startDigest(lstart: string): string {
  return createHash("sha256").update(lstart.trim(), "utf8").digest("hex").slice(0, 16);
}

function bootIdOf(table: ProcessTable): string {
  if (table.platform === "linux") return factOf(table.file("/proc/sys/kernel/random/boot_id"));
  if (table.platform === "darwin") return factOf(table.bootSession());
  return unknownFact;
}

/** The number in `pid:[4026531836]`. */
function namespaceOf(table: ProcessTable): string {
  if (table.platform !== "linux") return oneNamespace;
  return /\[(\d+)\]/.exec(factOf(table.link("/proc/self/ns/pid")))?.[1] ?? unknownFact;
}

const factOf = (read: Read): string => (read.kind === "text" ? read.text.trim() : unknownFact);

const counterKey = Symbol.for("partyline.incarnation.counter");

/**
 * Counts instances of this process. On the global object, because a process may load this file twice (two versions of
 * the package, a bundle beside the source); from a number of its own in each worker thread, which share the pid.
 */
function nextCounter(): number {
  const last: unknown = Reflect.get(globalThis, counterKey);
  const next = (typeof last === "number" ? last : threadId * 1_000_000) + 1;
  Reflect.set(globalThis, counterKey, next);
  return next;
}
