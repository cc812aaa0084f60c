/**
 * Records by their thread: one look-up however many there are, without making a text of both ids each time.
 *
 * Of several records of one thread the last counts.
 */
import type { ChatId, ThreadId, ThreadTarget } from "./ids.ts";

export class ThreadMap<Value> {
  readonly #chats = new Map<ChatId, Map<ThreadId, Value>>();

  /** The records that name a thread, each by it; `targetOf` says `null` for those that are left out. */
  static of<Value>(records: readonly Value[], targetOf: (record: Value) => ThreadTarget | null): ThreadMap<Value> {
    const map = new ThreadMap<Value>();
    for (const record of records) {
      const target = targetOf(record);
      if (target !== null) map.#add(target, record);
    }
    return map;
  }

  get({ chatId, threadId }: ThreadTarget): Value | undefined {
    return this.#chats.get(chatId)?.get(threadId);
  }

  has({ chatId, threadId }: ThreadTarget): boolean {
    return this.#chats.get(chatId)?.has(threadId) ?? false;
  }

  #add({ chatId, threadId }: ThreadTarget, value: Value): void {
    const threads = this.#chats.get(chatId);
    if (threads === undefined) this.#chats.set(chatId, new Map([[threadId, value]]));
    else threads.set(threadId, value);
  }
}
