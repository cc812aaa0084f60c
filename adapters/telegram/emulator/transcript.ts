/**
 * Every Bot API call in order of arrival, with its answer.
 *
 * Owns: sequence numbers and the bounded log. Does not own: the token, which is never written here.
 * Invariants: `seq` grows by one per call; an entry's outcome is set once; the oldest entries go at `entriesMax`.
 */
import type { UploadedFile } from "./multipart.ts";

export type CallOutcome =
  | { readonly kind: "pending" }
  | { readonly kind: "answered"; readonly status: number; readonly body: unknown }
  /** The connection was closed without a reply; `performed` says whether the call took effect. */
  | { readonly kind: "lost"; readonly performed: boolean }
  /** Accepted and never answered (a `hang` fault), until the client closes. */
  | { readonly kind: "hang" }
  /** The client went away before the answer. */
  | { readonly kind: "aborted" };

export interface TranscriptEntry {
  readonly seq: number;
  readonly atMs: number;
  /** When the outcome was known; null while pending. */
  readonly endedAtMs: number | null;
  readonly method: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly files: readonly UploadedFile[];
  /** Number of the TCP connection that carried the call: calls of one client agent share it while kept alive. */
  readonly connectionId: number;
  /** The kind of the scripted fault that was applied, if any. */
  readonly fault: string | null;
  readonly outcome: CallOutcome;
}

export type NewCall = Pick<TranscriptEntry, "atMs" | "method" | "payload" | "files" | "connectionId" | "fault">;

export class Transcript {
  readonly #entries: TranscriptEntry[] = [];
  readonly #entriesMax: number;
  #nextSeq = 1;

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  get lastSeq(): number {
    return this.#nextSeq - 1;
  }

  open(call: NewCall): TranscriptEntry {
    const entry: TranscriptEntry = { ...call, seq: this.#nextSeq, endedAtMs: null, outcome: { kind: "pending" } };
    this.#nextSeq += 1;
    this.#entries.push(entry);
    if (this.#entries.length > this.#entriesMax) this.#entries.shift();
    return entry;
  }

  /** Settles an open entry; returns the settled one (the last known one when it had already been settled). */
  close(seq: number, outcome: CallOutcome, endedAtMs: number): TranscriptEntry | undefined {
    const index = seq - (this.#entries[0]?.seq ?? seq);
    const entry = this.#entries[index];
    if (entry === undefined || entry.outcome.kind !== "pending") return entry;
    const settled = { ...entry, outcome, endedAtMs };
    this.#entries[index] = settled;
    return settled;
  }

  /** Entries with a sequence number above `seq`, oldest first. */
  since(seq: number): readonly TranscriptEntry[] {
    return this.#entries.filter((entry) => entry.seq > seq);
  }
}
