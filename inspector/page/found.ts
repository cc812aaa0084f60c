/**
 * What a filter lets through, kept up as more comes: filtering is not done again for each drawing.
 *
 * Owns: positions of what was found. Does not own: what is looked through, which is passed in each time.
 */

export class Found<Item> {
  #key = "";
  #upTo = 0;
  #found: Item[] = [];

  /** Everything from `first` up to `end` that is wanted. `key` names what is wanted: another one begins anew. */
  of(
    key: string,
    range: { readonly first: number; readonly end: number; readonly at: (index: number) => Item | undefined },
    isWanted: (item: Item) => boolean,
  ): readonly Item[] {
    if (key !== this.#key || range.end < this.#upTo) {
      this.#key = key;
      this.#found = [];
      this.#upTo = range.first;
    }
    for (let index = Math.max(this.#upTo, range.first); index < range.end; index += 1) {
      const item = range.at(index);
      if (item !== undefined && isWanted(item)) this.#found.push(item);
    }
    this.#upTo = range.end;
    return this.#found;
  }

  /** Forgets what lies before; answers how many those were. */
  forget(isKept: (item: Item) => boolean): number {
    const gone = this.#found.findIndex(isKept);
    const count = gone === -1 ? this.#found.length : gone;
    if (count > 0) this.#found = this.#found.slice(count);
    return count;
  }
}

/** Position of the last item that is not behind `step`; -1 when all are. */
export function lastUpTo(items: readonly { readonly number: number }[], step: number): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((items[middle]?.number ?? Infinity) <= step) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
