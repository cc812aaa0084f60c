/**
 * The scheduler: true time, and every choice of what happens next.
 *
 * Owns: the heap of happenings, the order of those that fall on one moment (drawn, not insertion order), running all
 * promise continuations between two steps.
 * Does not own: the clocks that processes see (`clock.ts`), whether a process may run (`process.ts`).
 * Invariants: true time never goes back; one happening at a time; no promise is left to run when the next one starts.
 */
import type { Random } from "./random.ts";
import type { Recorder } from "./recorder.ts";

/** What ran, for the trace; null = nothing worth a line (a wake-up that came to nothing). */
export type Happening = () => string | null;

export interface Planned {
  readonly cancel: () => void;
}

export interface Scheduler {
  /** True time since the start, in whole microseconds. */
  readonly nowUs: () => number;
  /** True time in milliseconds. */
  readonly nowMs: () => number;
  at(atUs: number, who: string, run: Happening): Planned;
  /** After a while of true time, at least one microsecond. */
  after(delayMs: number, who: string, run: Happening): Planned;
  readonly note: (text: string) => void;
  /** Runs happenings up to a moment, `onStep` after each; ends early when `onStep` says so. True time ends at `untilMs`. */
  runUntil(untilMs: number, onStep: () => boolean): Promise<void>;
}

interface Entry {
  readonly atUs: number;
  readonly tie: number;
  readonly seq: number;
  readonly who: string;
  run: Happening | null;
}

const before = (a: Entry, b: Entry): boolean =>
  a.atUs !== b.atUs ? a.atUs < b.atUs : a.tie !== b.tie ? a.tie < b.tie : a.seq < b.seq;

/** Binary heap, smallest first. */
function createHeap() {
  const entries: Entry[] = [];
  const get = (index: number): Entry => {
    const entry = entries[index];
    if (entry === undefined) throw new Error("the heap of happenings is broken");
    return entry;
  };
  const swap = (a: number, b: number) => {
    const held = get(a);
    entries[a] = get(b);
    entries[b] = held;
  };
  const sink = () => {
    for (let index = 0; ;) {
      let least = index;
      for (const child of [2 * index + 1, 2 * index + 2])
        if (child < entries.length && before(get(child), get(least))) least = child;
      if (least === index) return;
      swap(index, least);
      index = least;
    }
  };
  return {
    peek: () => entries[0],
    push(entry: Entry) {
      entries.push(entry);
      for (let index = entries.length - 1; index > 0;) {
        const parent = (index - 1) >> 1;
        if (!before(get(index), get(parent))) return;
        swap(index, parent);
        index = parent;
      }
    },
    pop() {
      const last = entries.pop();
      if (last === undefined || entries.length === 0) return;
      entries[0] = last;
      sink();
    },
  };
}

/** Immediates that are asked for at once. More gain nothing. */
const immediatesAtOnce = 64;

/**
 * Resolves when promises have nothing more to do. An immediate runs after all microtasks, also one that another immediate has
 * made, and in a simulation nothing but microtasks is pending: complete, and the same every time. They are asked for many at
 * once, because a turn of the event loop for each would be a fifth of the whole time.
 */
function createSettling(): () => Promise<void> {
  let coming = 0;
  let waiting: (() => void) | null = null;
  const pass = (): void => {
    coming -= 1;
    const resume = waiting;
    waiting = null;
    resume?.();
  };
  return () =>
    new Promise((resolve) => {
      waiting = resolve;
      if (coming > 0) return;
      coming = immediatesAtOnce;
      for (let count = 0; count < immediatesAtOnce; count += 1) setImmediate(pass);
    });
}

export function createScheduler({
  random,
  recorder,
}: {
  readonly random: Random;
  readonly recorder: Recorder;
}): Scheduler {
  const heap = createHeap();
  const settlePromises = createSettling();
  let nowUs = 0;
  let seq = 0;
  const at = (atUs: number, who: string, run: Happening): Planned => {
    seq += 1;
    const entry: Entry = { atUs: Math.max(nowUs, Math.ceil(atUs)), tie: random.next(), seq, who, run };
    heap.push(entry);
    return {
      cancel: () => {
        entry.run = null;
      },
    };
  };
  return {
    nowUs: () => nowUs,
    nowMs: () => nowUs / 1000,
    at,
    after: (delayMs, who, run) => at(nowUs + Math.max(1, Math.round(delayMs * 1000)), who, run),
    note: recorder.note,
    async runUntil(untilMs, onStep) {
      const untilUs = Math.round(untilMs * 1000);
      for (let next = heap.peek(); next !== undefined && next.atUs <= untilUs; next = heap.peek()) {
        heap.pop();
        const run = next.run;
        if (run === null) continue;
        next.run = null;
        nowUs = next.atUs;
        const what = run();
        if (what === null) continue;
        await settlePromises();
        recorder.step(nowUs, next.who, what);
        if (onStep()) return;
      }
      nowUs = Math.max(nowUs, untilUs);
    },
  };
}
