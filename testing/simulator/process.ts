/**
 * A simulated process: when its code may run.
 *
 * Owns: its timers and its inbox of deliveries, holding both while it is paused, dropping both when it is killed.
 * Does not own: what runs in it (the worlds), the truth that others see about it (`process-table.ts`).
 * Invariants: nothing runs in a paused or dead process; deliveries keep their order; of two due timers the one with the
 * earlier deadline fires first, each in a step of its own; a timer never fires before its deadline by the host's clock.
 */
import type { Clock } from "../../services/ports.ts";
import type { HostClock } from "./clock.ts";
import type { Random } from "./random.ts";
import type { Planned, Scheduler } from "./scheduler.ts";

export type ProcessState = "running" | "paused" | "dead";

export interface SimulatedProcess {
  readonly name: string;
  readonly pid: number;
  readonly clock: Clock;
  readonly host: HostClock;
  state(): ProcessState;
  /** True time of death in milliseconds; null while it lives. */
  diedAtMs(): number | null;
  /** How often it was paused so far. */
  pauses(): number;
  /** Runs `job` in the process: at once, after what waits already, when it resumes, or never. */
  deliver(what: string, job: () => void): void;
  /** `suspended`: the whole host sleeps, and its timers do not count the while. */
  pause(how: "stopped" | "suspended"): void;
  resume(): void;
  kill(): void;
}

interface Timer {
  deadlineMs: number;
  readonly seq: number;
  readonly fn: () => void;
}

export interface ProcessTraits {
  readonly name: string;
  readonly pid: number;
  readonly scheduler: Scheduler;
  readonly host: HostClock;
  readonly random: Random;
  /** How late a wake-up may come, in milliseconds of true time. */
  readonly lagMaxMs: () => number;
}

/** Timers in the order in which they fire. */
function createTimers() {
  const timers: Timer[] = [];
  let seq = 0;
  return {
    first: () => timers[0],
    add(deadlineMs: number, fn: () => void): Timer {
      seq += 1;
      const timer = { deadlineMs, seq, fn };
      let index = timers.length;
      for (; index > 0; index -= 1) {
        const earlier = timers[index - 1];
        if (earlier !== undefined && earlier.deadlineMs <= deadlineMs) break;
      }
      timers.splice(index, 0, timer);
      return timer;
    },
    remove(handle: unknown) {
      const index = timers.findIndex((timer) => timer === handle);
      if (index >= 0) timers.splice(index, 1);
    },
    shift: (byMs: number) => {
      for (const timer of timers) timer.deadlineMs += byMs;
    },
    clear: () => {
      timers.length = 0;
    },
  };
}

export const createProcess = (traits: ProcessTraits): SimulatedProcess => new Process(traits);

class Process implements SimulatedProcess {
  readonly name: string;
  readonly pid: number;
  readonly host: HostClock;
  readonly clock: Clock;
  readonly #traits: ProcessTraits;
  readonly #timers = createTimers();
  readonly #inbox: { readonly what: string; readonly job: () => void }[] = [];
  #state: ProcessState = "running";
  #diedAtMs: number | null = null;
  #suspendedSinceMs: number | null = null;
  #pauses = 0;
  #wake: (Planned & { readonly atUs: number }) | null = null;

  constructor(traits: ProcessTraits) {
    const { host } = traits;
    this.#traits = traits;
    this.name = traits.name;
    this.pid = traits.pid;
    this.host = host;
    this.clock = {
      nowMs: () => host.nowMs(),
      elapsedMs: () => host.elapsedMs(),
      setTimeout: (fn, delayMs) => this.#setTimeout(fn, delayMs),
      clearTimeout: (handle) => this.#timers.remove(handle),
    };
  }

  state(): ProcessState {
    return this.#state;
  }

  diedAtMs(): number | null {
    return this.#diedAtMs;
  }

  pauses(): number {
    return this.#pauses;
  }

  deliver(what: string, job: () => void): void {
    if (this.#state === "dead") return;
    if (this.#state === "running" && this.#inbox.length === 0) {
      job();
      return;
    }
    this.#inbox.push({ what, job });
    this.#arm();
  }

  pause(how: "stopped" | "suspended"): void {
    if (this.#state !== "running") return;
    this.#state = "paused";
    this.#pauses += 1;
    this.#suspendedSinceMs = how === "suspended" ? this.host.elapsedMs() : null;
    this.#disarm();
  }

  resume(): void {
    if (this.#state !== "paused") return;
    this.#state = "running";
    if (this.#suspendedSinceMs !== null) this.#timers.shift(this.host.elapsedMs() - this.#suspendedSinceMs);
    this.#suspendedSinceMs = null;
    this.#arm();
  }

  kill(): void {
    if (this.#state === "dead") return;
    this.#state = "dead";
    this.#diedAtMs = this.#traits.scheduler.nowMs();
    this.#disarm();
    this.#timers.clear();
    this.#inbox.length = 0;
  }

  #setTimeout(fn: () => void, delayMs: number): Timer | null {
    if (this.#state === "dead") return null;
    // Node's own floor: no timer fires within the same millisecond.
    const timer = this.#timers.add(this.host.elapsedMs() + Math.max(1, delayMs), fn);
    this.#arm();
    return timer;
  }

  /** Runs one thing that is due: timers and deliveries wait beside each other, and which goes first is a choice. */
  #runOne(): string | null {
    this.#wake = null;
    if (this.#state !== "running") return null;
    const timer = this.#timers.first();
    const isTimerDue = timer !== undefined && timer.deadlineMs <= this.host.elapsedMs();
    if (isTimerDue && (this.#inbox.length === 0 || this.#traits.random.chance(0.5))) {
      this.#timers.remove(timer);
      timer.fn();
      this.#arm();
      return "timer";
    }
    const delivery = this.#inbox.shift();
    delivery?.job();
    this.#arm();
    return delivery?.what ?? null;
  }

  #disarm(): void {
    this.#wake?.cancel();
    this.#wake = null;
  }

  /** Plans the next wake-up, unless an earlier one is planned already. */
  #arm(): void {
    if (this.#state !== "running") return;
    const { scheduler, random, lagMaxMs } = this.#traits;
    const timer = this.#timers.first();
    const hasMail = this.#inbox.length > 0;
    if (!hasMail && timer === undefined) return;
    const nowUs = scheduler.nowUs();
    const dueUs = hasMail || timer === undefined ? nowUs : Math.ceil(this.host.trueUsAt(timer.deadlineMs)) + 1;
    const atUs = Math.max(nowUs, dueUs);
    if (this.#wake !== null && this.#wake.atUs <= atUs) return;
    this.#disarm();
    const lagUs = dueUs > nowUs ? Math.round(random.between(0, lagMaxMs()) * 1000) : 0;
    const { cancel } = scheduler.at(atUs + lagUs, this.name, () => this.#runOne());
    this.#wake = { atUs, cancel };
  }
}
