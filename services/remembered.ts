/**
 * The latest of what was dealt with, so that it is dealt with once; the oldest is forgotten.
 *
 * Owns: the bound. Not guaranteed: that something is never dealt with again; only that memory does not grow for it.
 */
export class Remembered<Value> {
  private readonly values = new Set<Value>();
  private readonly max: number;

  /** `max`: how many are remembered at most. */
  constructor(max: number) {
    this.max = max;
  }

  /** False when it was remembered before. */
  add(value: Value): boolean {
    if (this.values.has(value)) return false;
    this.values.add(value);
    const [oldest] = this.values;
    if (this.values.size > this.max && oldest !== undefined) this.values.delete(oldest);
    return true;
  }

  delete(value: Value): void {
    this.values.delete(value);
  }
}
