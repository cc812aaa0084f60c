/**
 * What is said again and again, and need not be.
 *
 * Owns: which of several equal words in a row is worth a line of the log. Does not own: the log.
 */
import type { Clock } from "./ports.ts";

/** While nothing changes, a line each two minutes. */
const sayAgainMs = 2 * 60_000;

export class Repeats {
  private readonly clock: Clock;
  private last: { readonly words: string; readonly atMs: number } | null = null;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Whether this is to be said: it is another word than the last one, or that was a while ago. */
  isNews(words: string): boolean {
    const atMs = this.clock.elapsedMs();
    if (this.last?.words === words && atMs - this.last.atMs < sayAgainMs) return false;
    this.last = { words, atMs };
    return true;
  }

  /** It is over: the same word is news again. */
  end(): void {
    this.last = null;
  }
}
