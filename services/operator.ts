/**
 * Asking the leader for what evidence cannot decide, from any process.
 *
 * Owns: the request on disk, waiting for its answer. Does not own: what comes of it (`reconciliation.ts`, under the epoch).
 */
import type { OperatorWish as StoredWish } from "../machines/reconciliation.types.ts";
import type { Clock, Ids, Store } from "./ports.ts";

interface ThreadOfLine {
  readonly chatId: number;
  readonly threadId: number;
}

/** What an operator may ask the leader for; seats and threads as the line's status tells them. */
export type OperatorWish =
  | { readonly kind: "adopt"; readonly seat: string; readonly target: ThreadOfLine }
  | { readonly kind: "release" | "forgetThread"; readonly target: ThreadOfLine }
  | { readonly kind: "forgetCreation" | "forgetSeat" | "leave"; readonly seat: string };

export interface OperatorReply {
  readonly kind: "done" | "refused";
  readonly text: string;
}

/** Between two looks for the answer, in milliseconds. */
const lookMs = 50;

/** Null = nobody has answered within `patienceMs`; the request stays, and whoever leads next carries it out. */
export async function requestOfOperator(
  { store, clock, ids }: { readonly store: Store; readonly clock: Clock; readonly ids: Ids },
  wish: OperatorWish,
  patienceMs: number,
): Promise<OperatorReply | null> {
  const id = `operator:${ids.secret()}`;
  // The same wish under the store's brands: the leader compares it with what it knows, and refuses what it does not.
  await store.cleanups.ask({ id, wish: wish as StoredWish, atMs: clock.nowMs() });
  const startedAtMs = clock.elapsedMs();
  for (;;) {
    const answer = await store.cleanups.answerTo(id);
    if (answer !== null) return { kind: answer.kind, text: answer.text };
    if (clock.elapsedMs() - startedAtMs >= patienceMs) return null;
    await new Promise<void>((resolve) => {
      clock.setTimeout(resolve, lookMs);
    });
  }
}
