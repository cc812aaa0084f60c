/**
 * Scripted misbehaviour of single Bot API calls.
 *
 * Owns: the fault types and the queue of faults waiting for their call. Does not own: how a fault is played out (bot-api.ts).
 * Invariants: one call takes at most one fault, the oldest that matches; a fault is used up after `times` calls.
 */
import type { ErrorParameters } from "./errors.ts";
import type { Params } from "./params.ts";

export type FaultAction =
  /** Any HTTP answer; the call is not performed. A string body is sent as it is, anything else as JSON. */
  | {
      readonly kind: "http";
      readonly status: number;
      readonly body?: unknown;
      readonly contentType?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** A refusal in the Bot API's shape; the call is not performed. */
  | {
      readonly kind: "error";
      readonly error_code: number;
      readonly description: string;
      readonly parameters?: ErrorParameters;
    }
  /** 429 with `parameters.retry_after` and the Retry-After header; the call is not performed. */
  | { readonly kind: "retryAfter"; readonly seconds: number }
  /** The connection is closed; the call is not performed. */
  | { readonly kind: "lostBefore" }
  /** The call is performed, then the connection is closed without a reply. */
  | { readonly kind: "lost" }
  /** The call is not performed and never answered; it ends when the client closes. */
  | { readonly kind: "hang" }
  /** The call is performed at once and answered `ms` later; with `when: "before"` it is also performed `ms` later. */
  | { readonly kind: "latencyMs"; readonly ms: number; readonly when?: "before" | "after" }
  /** The call is performed and half of its JSON answer is sent, as a whole HTTP response. */
  | { readonly kind: "truncatedJson" }
  /** `{"ok":true}`, or `{"ok":true,"result":{}}` with `shape: "emptyObject"`. See `perform`. */
  | { readonly kind: "emptyOk"; readonly shape?: "noResult" | "emptyObject"; readonly perform?: boolean }
  /** `{"ok":true,"result":…}` with this result. `perform` says whether the call takes effect (default: yes, but for getUpdates no). */
  | { readonly kind: "result"; readonly result: unknown; readonly perform?: boolean };

export type Fault = FaultAction & {
  /** A Bot API method, or `*` for every method. */
  readonly method: string;
  /** How many calls it takes; default 1. */
  readonly times?: number | "forever";
  /** Only calls whose arguments equal these (compared as text), such as `{ "message_thread_id": 41 }`. */
  readonly where?: Readonly<Record<string, string | number | boolean>>;
};

interface QueuedFault {
  readonly fault: Fault;
  left: number;
}

const FAULTS_MAX = 1000;

export class FaultQueue {
  #queue: QueuedFault[] = [];
  #applied = 0;

  get applied(): number {
    return this.#applied;
  }

  get pending(): { method: string; kind: Fault["kind"]; left: number | "forever" }[] {
    return this.#queue.map(({ fault, left }) => ({
      method: fault.method,
      kind: fault.kind,
      left: left === Infinity ? "forever" : left,
    }));
  }

  /** Returns false when the queue is full. */
  add(fault: Fault): boolean {
    if (this.#queue.length >= FAULTS_MAX) return false;
    this.#queue.push({ fault, left: fault.times === "forever" ? Infinity : (fault.times ?? 1) });
    return true;
  }

  clear(): number {
    const cleared = this.#queue.length;
    this.#queue = [];
    return cleared;
  }

  /** The fault for this call, counted as used; undefined when the call is to be played straight. */
  take(method: string, params: Params): Fault | undefined {
    const queued = this.#queue.find(({ fault }) => matches(fault, method, params));
    if (queued === undefined) return undefined;
    queued.left -= 1;
    this.#applied += 1;
    if (queued.left <= 0) this.#queue = this.#queue.filter((other) => other !== queued);
    return queued.fault;
  }
}

function matches(fault: Fault, method: string, params: Params): boolean {
  if (fault.method !== "*" && fault.method.toLowerCase() !== method.toLowerCase()) return false;
  return Object.entries(fault.where ?? {}).every(([name, value]) => params.text(name) === String(value));
}
