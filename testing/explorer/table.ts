/**
 * The set of distinct states: an exact open-addressed hash table over fixed-width rows of integers.
 *
 * Owns: rows, their parents, membership. Does not own: what a row means.
 *
 * Invariants: no two rows are equal (rows are compared in full, a hash alone decides nothing); rows keep their number.
 */
/* eslint-disable @typescript-eslint/no-non-null-assertion -- every index is computed to be within its table */
export class StateTable {
  readonly width: number;
  count = 0;
  private rows: Int32Array;
  private parents: Int32Array;
  private slots: Int32Array;
  private mask: number;

  constructor(width: number, capacity = 1 << 14) {
    this.width = width;
    this.rows = new Int32Array(capacity * width);
    this.parents = new Int32Array(capacity);
    this.slots = new Int32Array(capacity * 2);
    this.mask = capacity * 2 - 1;
  }

  /** Number of the row, or its complement (`~number`, negative) when it is new. */
  add(row: Int32Array, parent: number): number {
    let at = hashOf(row) & this.mask;
    for (;;) {
      const number = this.slots[at]! - 1;
      if (number < 0) break;
      if (this.isAt(number, row)) return number;
      at = (at + 1) & this.mask;
    }
    const added = this.count;
    if (added * this.width >= this.rows.length) {
      this.grow();
      return this.add(row, parent);
    }
    const from = added * this.width;
    for (let index = 0; index < this.width; index += 1) this.rows[from + index] = row[index]!;
    this.parents[added] = parent;
    this.slots[at] = added + 1;
    this.count += 1;
    return ~added;
  }

  /** Number of the row, -1 when it is not in the table. */
  find(row: Int32Array): number {
    for (let at = hashOf(row) & this.mask; ; at = (at + 1) & this.mask) {
      const number = this.slots[at]! - 1;
      if (number < 0 || this.isAt(number, row)) return number;
    }
  }

  read(number: number, into: Int32Array): void {
    const from = number * this.width;
    for (let index = 0; index < this.width; index += 1) into[index] = this.rows[from + index]!;
  }

  parentOf(number: number): number {
    return this.parents[number]!;
  }

  private isAt(number: number, row: Int32Array): boolean {
    const from = number * this.width;
    for (let index = 0; index < this.width; index += 1) if (this.rows[from + index] !== row[index]) return false;
    return true;
  }

  private grow(): void {
    const capacity = this.parents.length * 2;
    const rows = new Int32Array(capacity * this.width);
    rows.set(this.rows);
    this.rows = rows;
    const parents = new Int32Array(capacity);
    parents.set(this.parents);
    this.parents = parents;
    this.slots = new Int32Array(capacity * 2);
    this.mask = capacity * 2 - 1;
    const row = new Int32Array(this.width);
    for (let number = 0; number < this.count; number += 1) {
      this.read(number, row);
      let at = hashOf(row) & this.mask;
      while (this.slots[at] !== 0) at = (at + 1) & this.mask;
      this.slots[at] = number + 1;
    }
  }
}

/** Spreads rows over the slots; equality is never read from it. */
function hashOf(row: Int32Array): number {
  let hash = 0x811c9dc5 | 0;
  for (let index = 0; index < row.length; index += 1) {
    hash = Math.imul(hash ^ row[index]!, 0x01000193);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}
