/**
 * Giving a thread to a seat by somebody's word: the operator's, or the user's who answered whose it shall be.
 *
 * Owns: the order of the two writes. Does not own: who may have it, when the seat's holder moves (`registration.machine.ts`).
 */
import { sameTarget } from "../machines/ids.ts";
import type { Epoch, ThreadTarget } from "../machines/ids.ts";
import type { Observation } from "../machines/reconciliation.types.ts";
import type { Binding } from "../machines/threads.rules.ts";
import type { Runtime } from "./runtime.ts";

/** The name that Telegram has told of a thread; null = it has told none. */
export const nameSeen = (observations: readonly Observation[], target: ThreadTarget): string | null =>
  observations.find((each) => sameTarget(each.target, target))?.name ?? null;

/** A name that a person gave a thread is never undone. */
export const isNamedByPerson = (observations: readonly Observation[], target: ThreadTarget): boolean =>
  observations.some((each) => sameTarget(each.target, target) && each.isNamedByPerson);

/** What the seat had before in that chat is left over. */
export async function giveThread(
  { ports: { store } }: Runtime,
  request: { readonly epoch: Epoch; readonly provisionId: string | null; readonly binding: Binding },
) {
  const { epoch, binding } = request;
  // What was to become of it before is overtaken by this word.
  const cancelled = await store.cleanups.cancel({ epoch, target: binding.thread.target });
  return cancelled.kind === "noted" ? store.threads.bind(request) : cancelled;
}
