/**
 * What the emulator tells its watchers (the chat page, tests).
 *
 * Owns: the event types and the list of listeners. Does not own: history; a watcher that (re)connects reads the state.
 * Invariant: listeners are called in order, synchronously, after the change they describe.
 */
import type { TranscriptEntry } from "./transcript.ts";
import type { ThreadView, VisibleMessage } from "./views.ts";

export type EmulatorEvent =
  | { readonly type: "message"; readonly message: VisibleMessage }
  | { readonly type: "messageDeleted"; readonly chatId: number; readonly messageId: number }
  | { readonly type: "thread"; readonly thread: ThreadView }
  | { readonly type: "chatAction"; readonly chatId: number; readonly threadId: number | null; readonly action: string }
  | { readonly type: "callbackAnswered"; readonly queryId: string; readonly text: string }
  | { readonly type: "call"; readonly call: TranscriptEntry }
  | { readonly type: "stateChanged" };

export type Unsubscribe = () => void;

export class EventHub {
  readonly #listeners = new Set<(event: EmulatorEvent) => void>();

  emit(event: EmulatorEvent): void {
    for (const listener of [...this.#listeners]) listener(event);
  }

  subscribe(listener: (event: EmulatorEvent) => void): Unsubscribe {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
