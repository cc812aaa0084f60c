/**
 * What each instance asks just now and has no answer to: polls, heartbeats, registrations.
 *
 * Owns: counting them. Does not own: what follows from it (`judge.ts`).
 */
import type { MessageBody } from "../frames.ts";

const counted: ReadonlySet<string> = new Set(["getUpdates", "follower.heartbeat", "follower.register"]);

export class Asked {
  readonly #open = new Map<string, Set<string>>();

  /** True when it is one of those that count. The other side's word of the same request says nothing new. */
  hear({ by, way, name, id, phase }: MessageBody): boolean {
    if (way === "in" || !counted.has(name)) return false;
    const key = `${by} ${name}`;
    const open = this.#open.get(key) ?? new Set();
    this.#open.set(key, open);
    if (phase === "begin") open.add(id);
    else open.delete(id);
    return true;
  }

  count(by: string, name: string): number {
    return this.#open.get(`${by} ${name}`)?.size ?? 0;
  }

  /** Another instance that polls. */
  otherPoller(by: string): string | undefined {
    const ends = " getUpdates";
    const others = [...this.#open].filter(
      ([key, open]) => open.size > 0 && key.endsWith(ends) && key !== `${by}${ends}`,
    );
    return others[0]?.[0].slice(0, -ends.length);
  }

  /** Of one instance, or of all: their ends may be what was left out. */
  forget(by?: string): void {
    for (const key of this.#open.keys()) if (by === undefined || key.startsWith(`${by} `)) this.#open.delete(key);
  }
}
