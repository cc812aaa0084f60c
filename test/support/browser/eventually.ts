/** Waiting on what a page shows, which can only be asked for, not subscribed to. */
import { ceilingMs } from "../line/waiting.ts";

const lookEveryMs = 20;

/** Resolves with the first value that is right; rejects at the ceiling with what was waited for and the last value. */
export async function eventually<Value>(
  what: string,
  read: () => Promise<Value>,
  isRight: (value: Value) => boolean,
): Promise<Value> {
  const startedAt = performance.now();
  for (;;) {
    const value = await read();
    if (isRight(value)) return value;
    if (performance.now() - startedAt > ceilingMs)
      throw new Error(`${what}: not within ${ceilingMs} ms; last seen: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
}
