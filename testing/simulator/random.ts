/**
 * Seeded chance: the only source of it in a simulation.
 *
 * Owns: the generator (sfc32) and its splitting into independent streams.
 * Does not own: what is drawn (`faults.ts`, `scheduler.ts`).
 * Invariants: the same seed draws the same values on every machine; a split depends on the seed and the label alone, so
 * a new consumer does not shift what the others draw.
 */

export interface Random {
  /** In [0, 1). */
  next(): number;
  /** An integer between `min` and `max`, both included. */
  int(min: number, max: number): number;
  /** A real number in [min, max). */
  between(min: number, max: number): number;
  chance(probability: number): boolean;
  /** Throws on an empty list. */
  pick<Item>(items: readonly Item[]): Item;
  /** An independent stream. */
  split(label: string): Random;
}

/** FNV-1a over the label, started from the seed: 32 bits. */
function mix(seed: number, label: string): number {
  let hash = (seed ^ 0x811c9dc5) >>> 0;
  for (let index = 0; index < label.length; index += 1) {
    hash ^= label.charCodeAt(index);
    hash = Math.imul(hash, 0x01000193) >>> 0;
  }
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d) >>> 0;
  hash ^= hash >>> 12;
  hash = Math.imul(hash, 0x297a2d39) >>> 0;
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** Small fast counter: 128 bits of state, 32 bits a draw. */
function sfc32(seed: number): () => number {
  let a = mix(seed, "a");
  let b = mix(seed, "b");
  let c = mix(seed, "c");
  let counter = 1;
  const draw = () => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return sum >>> 0;
  };
  for (let round = 0; round < 12; round += 1) draw();
  return draw;
}

/** `seed` is an unsigned integer below 2^32; others are folded into it. */
export function createRandom(seed: number): Random {
  const draw = sfc32(seed);
  const next = () => draw() / 0x1_0000_0000;
  const int = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    int,
    between: (min, max) => min + next() * (max - min),
    chance: (probability) => next() < probability,
    pick(items) {
      const item = items[int(0, items.length - 1)];
      if (item === undefined) throw new Error("nothing to pick from");
      return item;
    },
    split: (label) => createRandom(mix(seed, label)),
  };
}
