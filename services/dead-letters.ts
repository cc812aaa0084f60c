/**
 * Dead letters as an operator sees them, and what the operator makes of them. Any process may do it, leading or not.
 *
 * Owns: what is told of a letter. Does not own: the words shown to people (`cli/dead.ts`); what happens to a retried one: the
 * leader finds it in the journal like any other.
 */
import { sameTarget } from "../machines/ids.ts";
import type { JournalSeq, ThreadTarget } from "../machines/ids.ts";
import { fieldsOf } from "../machines/fields.rules.ts";
import { readUpdate } from "../machines/updates.rules.ts";
import type { Clock, DeadLetter as StoredLetter, Store, StoreStatus } from "./ports.ts";

export interface DeadLetter {
  /** The id that its handler was or would have been given. */
  readonly id: string;
  readonly updateId: number;
  /** `message`, `callback_query`, … */
  readonly kind: string;
  readonly chatId: number | null;
  /** The thread it belongs to; null when it belongs to none, or names none. */
  readonly threadId: number | null;
  /** Null when nobody has that thread. */
  readonly threadName: string | null;
  /** The beginning of its text; null when it has none. */
  readonly text: string | null;
  readonly reason: string;
  /** Failures of its handler before it was set aside, and what the last one said. */
  readonly tries: number;
  readonly lastFailure: string | null;
  /** Since its admission, and since it was set aside, in milliseconds. */
  readonly ageMs: number;
  readonly deadForMs: number;
}

/** What became of each id. `full`: the journal has no room; `missing`: there is no such letter, or somebody was faster. */
export interface DeadLetterOutcome {
  readonly id: string;
  readonly kind: "retried" | "discarded" | "missing" | "full";
}

export interface DeadLetters {
  /** Oldest first; all that the journal may hold. */
  list(): Promise<readonly DeadLetter[]>;
  /** Back into the journal: each is handled like a new update, once. */
  retry(ids: readonly string[]): Promise<readonly DeadLetterOutcome[]>;
  /** Ended for good. */
  discard(ids: readonly string[]): Promise<readonly DeadLetterOutcome[]>;
  close(): Promise<void>;
}

const listedMax = 100_000;
const textMax = 80;

function textOf(update: unknown): string | null {
  const fields = fieldsOf(update);
  const carrier = Object.entries(fields ?? {}).find(([key]) => key !== "update_id")?.[1];
  const said = fieldsOf(carrier);
  const text = said?.["text"] ?? said?.["caption"] ?? said?.["data"];
  return typeof text === "string" ? text.slice(0, textMax) : null;
}

function describe(letter: StoredLetter, bindings: StoreStatus["bindings"], nowMs: number): DeadLetter {
  const update: unknown = JSON.parse(letter.body);
  const facts = readUpdate(update);
  const target: ThreadTarget | null =
    facts === null || facts.chat === null || facts.thread === null
      ? null
      : { chatId: facts.chat, threadId: facts.thread };
  const bound = target === null ? undefined : bindings.find(({ thread }) => sameTarget(thread.target, target));
  return {
    id: String(letter.seq),
    updateId: letter.updateId,
    kind: facts?.kind ?? "nothing",
    chatId: facts?.chat ?? null,
    threadId: target?.threadId ?? null,
    threadName: bound?.thread.threadName ?? null,
    text: textOf(update),
    reason: letter.reason,
    tries: letter.attempts,
    lastFailure: letter.lastFailure,
    ageMs: Math.max(0, nowMs - letter.admittedAtMs),
    deadForMs: Math.max(0, nowMs - letter.deadAtMs),
  };
}

export function deadLettersOf({ store, clock }: { readonly store: Store; readonly clock: Clock }): DeadLetters {
  const each = async (
    ids: readonly string[],
    act: (seq: JournalSeq) => Promise<Pick<DeadLetterOutcome, "kind">>,
  ): Promise<readonly DeadLetterOutcome[]> => {
    const known = new Map((await store.deadLetters.list(listedMax)).map(({ seq }) => [String(seq), seq]));
    const outcomes: DeadLetterOutcome[] = [];
    for (const id of ids) {
      const seq = known.get(id);
      outcomes.push({ id, kind: seq === undefined ? "missing" : (await act(seq)).kind });
    }
    return outcomes;
  };
  return {
    list: async () => {
      const [letters, status] = await Promise.all([store.deadLetters.list(listedMax), store.status.read()]);
      const nowMs = clock.nowMs();
      return letters.map((letter) => describe(letter, status.bindings, nowMs));
    },
    retry: (ids) => each(ids, (seq) => store.deadLetters.retry({ seq, nowMs: clock.nowMs() })),
    discard: (ids) => each(ids, (seq) => store.deadLetters.discard({ seq, nowMs: clock.nowMs() })),
    close: () => store.close(),
  };
}
