/**
 * Bags: sorted multisets of interned operations, interned themselves.
 *
 * Owns: adding and taking with a memo. Invariants: id 0 is the empty bag; equal bags have equal ids.
 */
import { Interner } from "./data.ts";

export class Bags {
  private readonly bags = new Interner<readonly number[]>();
  private readonly added: number[][] = [];
  private readonly taken: number[][] = [];

  constructor() {
    this.bags.add([]);
  }

  at(bag: number): readonly number[] {
    return this.bags.at(bag);
  }

  of(items: readonly number[]): number {
    return this.bags.add([...items].sort((a, b) => a - b));
  }

  with(bag: number, item: number): number {
    return ((this.added[bag] ??= [])[item] ??= this.of([...this.at(bag), item]));
  }

  without(bag: number, index: number): number {
    return ((this.taken[bag] ??= [])[index] ??= this.of(this.at(bag).filter((_each, at) => at !== index)));
  }
}
