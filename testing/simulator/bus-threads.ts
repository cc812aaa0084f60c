/**
 * Whether the threads of the chat are those that the line has, when everything has come to rest.
 *
 * Owns: having every instance say something; the comparison.
 * Does not own: what users do (`bus-faults.ts`), when it is compared (`bus-world.ts`).
 * A thread may be there that no seat has: a leftover, one that is to be deleted, one whose creation is in doubt.
 */
import { keyOfThread } from "../../adapters/store/memory/database.ts";
import { chatId, threadId } from "../../machines/ids.ts";
import type { BusInstance } from "./bus-instance.ts";
import type { BusWorld } from "./bus-line.ts";
import { simulatedChatId, type SimulatedThread } from "./telegram.ts";

/** Between two attempts to say something. */
const againMs = 5_000;

/** Users open what they closed. */
export function reopenAll({ telegram }: BusWorld): void {
  for (const { id, isClosed } of telegram.threads()) if (isClosed) telegram.meddle(id, { kind: "reopen" });
}

/**
 * Has every instance write into its thread, again and again until that stands there; who has not been heard so far. By it
 * a thread is noticed that a user has deleted.
 */
export function rollCall({ hand, places }: BusWorld): () => readonly BusInstance[] {
  const missing = new Set(places.map(({ instance }) => instance));
  let nextAtMs: number | null = null;
  return () => {
    const nowMs = hand.scheduler.nowMs();
    if (nextAtMs !== null) for (const instance of missing) if (instance.wasHeard()) missing.delete(instance);
    if (nextAtMs === null || nowMs >= nextAtMs) {
      nextAtMs = nowMs + againMs;
      for (const instance of missing) instance.say();
    }
    return [...missing];
  };
}

function isExplained({ database }: BusWorld, { id, name }: SimulatedThread): boolean {
  const key = keyOfThread({ chatId: chatId(simulatedChatId), threadId: threadId(id) });
  const made = [...database.provisions.values()].some((begun) => begun.threadName === name);
  return database.leftovers.has(key) || database.cleanups.has(key) || made;
}

/** What does not agree; empty = Telegram's threads are the bound ones. */
export function threadFaults(world: BusWorld): readonly string[] {
  const { database, telegram, places } = world;
  const joined = new Set(places.filter(({ instance }) => instance.isJoined()).map(({ instance }) => instance.seat()));
  const living = new Map(telegram.threads().flatMap((each) => (each.isGone ? [] : [[each.id, each] as const])));
  const bindings = [...database.bindings.values()];
  const faults: string[] = [];
  for (const { seat, thread } of bindings) {
    const id = Number(thread.target.threadId);
    const there = living.get(id);
    living.delete(id);
    // Nobody looks at the thread of a seat that nobody has.
    if (!joined.has(seat)) continue;
    if (there === undefined) faults.push(`${seat} is bound to thread ${String(id)}, which is gone`);
    else if (there.name !== thread.threadName)
      faults.push(`thread ${String(id)} is called "${there.name}", known as "${thread.threadName}"`);
  }
  for (const thread of living.values())
    if (!isExplained(world, thread)) faults.push(`thread ${String(thread.id)} "${thread.name}" is nobody's`);
  return faults;
}
