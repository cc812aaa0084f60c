/**
 * One direction of an in-memory connection.
 *
 * Owns: the order of what travels in it. Does not own: when anything arrives (the simulator), what it is.
 * Invariants: what arrives, arrives in the order it was pushed, like in a stream: an item that is due waits for those
 * before it. Nothing arrives inside the call that pushed it, unless the scheduler delivers at once.
 */

interface Item {
  readonly arrive: () => void;
  isDue: boolean;
}

export class Channel {
  readonly #schedule: (deliver: () => void) => void;
  #queue: Item[] = [];

  constructor(schedule: (deliver: () => void) => void) {
    this.#schedule = schedule;
  }

  /** `delay` runs its argument when the item may be handed to the scheduler. */
  push(arrive: () => void, delay: (then: () => void) => void = (then) => then()): void {
    const item: Item = { arrive, isDue: false };
    this.#queue.push(item);
    delay(() =>
      this.#schedule(() => {
        item.isDue = true;
        this.#drain();
      }),
    );
  }

  #drain(): void {
    while (this.#queue[0]?.isDue === true) this.#queue.shift()?.arrive();
  }
}
