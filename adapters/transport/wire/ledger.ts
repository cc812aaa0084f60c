/**
 * The request ledger of a server (protocol §2.4).
 *
 * Owns: which requests ran, and their answers. Does not own: what an answer is, authentication (W-28: the presented secret
 * is part of the key, so a wrong one cannot reach what a right one stored).
 * Invariants (P-19 to P-22):
 *  - one key runs at most once while it is remembered; an entry in flight is never evicted;
 *  - at capacity the oldest settled entry goes, by insertion order (W-25); so it does while the stored answers weigh more
 *    than allowed: what peers make us remember is bounded in bytes, not only in number;
 *  - every operation is O(1), amortised; only an entry that settled after younger ones were evicted costs O(log n).
 */
import { MinHeap } from "./min-heap.ts";

interface Entry<Answer> {
  readonly key: string;
  readonly order: number;
  readonly fingerprint: string;
  answer: Promise<Answer>;
  settled: boolean;
  weight: number;
  /** Eviction looked at it while it was in flight and moved on. */
  passed: boolean;
  next: Entry<Answer> | null;
}

export type Admission<Answer> =
  { readonly kind: "new" | "repeated"; readonly answer: Promise<Answer> } | { readonly kind: "collision" | "full" };

export interface LedgerLimits<Answer> {
  /** At least 1. */
  readonly entriesMax: number;
  /** Of all stored answers together. */
  readonly weightMax: number;
  readonly weigh: (answer: Answer) => number;
}

export class RequestLedger<Answer> {
  readonly #entriesMax: number;
  readonly #limits: LedgerLimits<Answer>;
  readonly #entries = new Map<string, Entry<Answer>>();
  /** Entries that were passed in flight and have settled since: older than everything from the cursor on. */
  readonly #late = new MinHeap<Entry<Answer>>((entry) => entry.order);
  #cursor: Entry<Answer> | null = null;
  #newest: Entry<Answer> | null = null;
  #order = 0;
  #weight = 0;

  constructor(limits: LedgerLimits<Answer>) {
    this.#limits = limits;
    this.#entriesMax = Math.max(1, limits.entriesMax);
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The stored answer of a known request, or that of `run`, which is called on a later microtask (W-26). */
  admit(key: string, fingerprint: string, run: () => Promise<Answer>): Admission<Answer> {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      return known.fingerprint === fingerprint ? { kind: "repeated", answer: known.answer } : { kind: "collision" };
    }
    if (this.#entries.size >= this.#entriesMax && !this.#evictOldestSettled()) return { kind: "full" };
    const answer = Promise.resolve().then(run);
    const entry: Entry<Answer> = {
      key,
      order: (this.#order += 1),
      fingerprint,
      answer,
      settled: false,
      weight: 0,
      passed: false,
      next: null,
    };
    this.#append(entry);
    const settle = (weight: number) => {
      entry.settled = true;
      if (this.#entries.get(key) !== entry) return;
      if (entry.passed) this.#late.push(entry);
      entry.weight = weight;
      this.#weight += weight;
      while (this.#weight > this.#limits.weightMax && this.#evictOldestSettled());
    };
    answer.then(
      (given) => {
        settle(this.#limits.weigh(given));
      },
      () => {
        settle(0);
      },
    );
    return { kind: "new", answer };
  }

  /** Forgets everything (W-27): what is in flight still answers its own connection. */
  clear(): void {
    this.#entries.clear();
    this.#late.clear();
    this.#cursor = null;
    this.#newest = null;
    this.#weight = 0;
  }

  #append(entry: Entry<Answer>): void {
    this.#entries.set(entry.key, entry);
    if (this.#cursor === null) this.#cursor = entry;
    else if (this.#newest !== null) this.#newest.next = entry;
    this.#newest = entry;
  }

  #evictOldestSettled(): boolean {
    let oldest = this.#late.pop();
    while (oldest === null && this.#cursor !== null) {
      const entry: Entry<Answer> = this.#cursor;
      this.#cursor = entry.next;
      // Cut, so that an entry that stays in flight does not keep all younger ones in memory.
      entry.next = null;
      if (entry.settled) oldest = entry;
      else entry.passed = true;
    }
    if (oldest === null) return false;
    this.#weight -= oldest.weight;
    return this.#entries.delete(oldest.key);
  }
}
