/**
 * A binary heap that gives the item of the lowest rank first.
 *
 * Owns: the order of its items. Invariants: no item ranks below its parent; `push` and `pop` are O(log n).
 */

export class MinHeap<Item> {
  readonly #rankOf: (item: Item) => number;
  #items: Item[] = [];

  constructor(rankOf: (item: Item) => number) {
    this.#rankOf = rankOf;
  }

  push(item: Item): void {
    let index = this.#items.push(item) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (this.#isOrdered(parent, index)) return;
      this.#swap(parent, index);
      index = parent;
    }
  }

  pop(): Item | null {
    const first = this.#items[0];
    const last = this.#items.pop();
    if (first === undefined || last === undefined) return null;
    if (this.#items.length === 0) return first;
    this.#items[0] = last;
    this.#sink();
    return first;
  }

  clear(): void {
    this.#items = [];
  }

  #sink(): void {
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const lower = left + 1 < this.#items.length && !this.#isOrdered(left, left + 1) ? left + 1 : left;
      if (lower >= this.#items.length || this.#isOrdered(index, lower)) return;
      this.#swap(index, lower);
      index = lower;
    }
  }

  #isOrdered(above: number, below: number): boolean {
    const [first, second] = [this.#items[above], this.#items[below]];
    return first === undefined || second === undefined || this.#rankOf(first) <= this.#rankOf(second);
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.#items[a], this.#items[b]];
    if (first === undefined || second === undefined) return;
    this.#items[a] = second;
    this.#items[b] = first;
  }
}
