/**
 * What the host of an instance gives it: time, chance, the process table, a place for diagnostics.
 *
 * Owns: these contracts. Does not own: any implementation (`adapters/host/`).
 */
import type { AcquisitionId, Generation, Incarnation, InstanceId, Liveness } from "../../machines/ids.ts";

/** Time. The only source of it: charts get it through `after` delays, rules as `nowMs`. */
export interface Clock {
  /** Wall clock, milliseconds since the Unix epoch. May jump. */
  nowMs(): number;
  /** Time that has passed on this host, in milliseconds from an arbitrary start. Never jumps back; counts suspension. */
  elapsedMs(): number;
  setTimeout(fn: () => void, delayMs: number): unknown;
  clearTimeout(handle: unknown): void;
}

/** Chance and digests. Every minted value is unique across processes and time. */
export interface Ids {
  instanceId(pid: number, nowMs: number): InstanceId;
  generation(instance: InstanceId): Generation;
  acquisition(): AcquisitionId;
  /** 32 random bytes, base64url: the secret that a leader publishes in its lease row. Never logged. */
  secret(): string;
  /** Fresh for each request of this process. */
  requestId(instance: InstanceId): string;
  /** Chance, from 0 to below 1. */
  chance(): number;
  /** Lowercase hex SHA-256 of the UTF-8 bytes. */
  sha256Hex(text: string): string;
}

/** The process table of this host. Synchronous: a look is one read of a small file. */
export interface Processes {
  /** This process; each call counts one instance further. */
  own(): Incarnation;
  /** The process that started this one. */
  parent(): Incarnation;
  /**
   * Whether an incarnation still runs. `dead` only on proof (no such pid, another start time, a zombie, another boot);
   * `unverifiable` when this host cannot tell (another pid namespace, no start time). Throws when the look itself
   * failed: that is no observation.
   */
  liveness(who: Incarnation): Liveness;
}

/** Where diagnostics go. Implementations redact tokens and secrets; nothing they do reaches the caller. */
export interface Log {
  event(level: "debug" | "info" | "warn" | "error", phase: string, fields: Readonly<Record<string, unknown>>): void;
}

/** Counts what went wrong and was dealt with; `status` shows it. Never throws. Reasons are few and fixed. */
export interface Counters {
  count(reason: string): void;
}
