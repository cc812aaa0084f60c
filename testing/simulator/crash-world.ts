/**
 * Two instances, L and F, and a story about their threads in which L, the leader, dies at one chosen effect and is started
 * again.
 *
 * Owns: telling the story, the death, who starts again, what the chat must look like when everything has come to rest.
 * Does not own: the stories (their tests), counting effects (`crash-points.ts`), the charts, the services.
 * Checked at rest: the bot's threads at Telegram are exactly the bound ones, exactly the seats that the story says have one, every
 * instance that runs has joined, and nothing is half done: no creation in doubt, no deletion due, no leftover.
 */
import { MemoryDatabase, openMemoryStore } from "../../adapters/store/memory/index.ts";
import type { SeatKey, ThreadTarget, UpdateId } from "../../machines/ids.ts";
import type { Store } from "../../services/ports.ts";
import { createCallLedger } from "./bus-calls.ts";
import { ExchangeNotes } from "./bus-exchanges.ts";
import { startBusInstance, type BusInstance } from "./bus-instance.ts";
import { createUpdateLedger, type UpdateLedger } from "./bus-updates.ts";
import { asTimerless, type HostClock } from "./clock.ts";
import { createCrashPoints, storeAt, telegramAt, type CrashPoint, type CrashPoints } from "./crash-points.ts";
import { createNetwork } from "./network.ts";
import { vanishMaxMs } from "./process-table.ts";
import { createStagehand, type Stagehand } from "./stagehand.ts";
import { createTelegramWorld, type TelegramWorld } from "./telegram.ts";

export type PlaceName = "L" | "F";

export interface CrashWorld {
  readonly telegram: TelegramWorld;
  readonly database: MemoryDatabase;
  readonly store: Store;
  readonly nowMs: () => number;
  /** Starts the place's next process; nothing when one runs. */
  readonly boot: (name: PlaceName) => void;
  readonly kill: (name: PlaceName) => void;
  /** F is asked to stop; `leave` also gives its thread up. */
  readonly stop: (name: PlaceName, leave: boolean) => void;
  readonly has: (name: PlaceName) => boolean;
  /** Its host writes into its thread by itself. */
  readonly say: (name: PlaceName) => void;
  /** Runs until it holds, at most so many simulated milliseconds; whether it does. */
  readonly until: (holds: () => boolean, limitMs: number) => Promise<boolean>;
  /** What hosts were given, in order. */
  readonly handed: readonly Handed[];
  readonly seatOf: (name: PlaceName) => SeatKey;
  readonly threadOf: (name: PlaceName) => ThreadTarget;
}

export interface Handed {
  readonly updateId: UpdateId;
  readonly to: PlaceName;
  readonly redelivered: boolean;
}

export interface CrashStory {
  /** Before effects count. */
  readonly before: (world: CrashWorld) => Promise<void>;
  /** Effects of L count from here on. */
  readonly told: (world: CrashWorld) => Promise<void>;
  /** Who has a thread in the end; the others must not run. */
  readonly ends: readonly PlaceName[];
  /** How long a thread outlives its process. */
  readonly threadGraceMs: number;
}

export interface CrashOptions {
  readonly story: CrashStory;
  /** Null = nobody dies: the names of the effects are what is wanted. */
  readonly at: CrashPoint | null;
  /** Whether F dies together with L, as where the host goes down. */
  readonly together: boolean;
}

export interface CrashResult {
  readonly effects: readonly string[];
  /** What is wrong at rest; empty = nothing. */
  readonly faults: readonly string[];
  /** The last lines of the trace. */
  readonly tail: readonly string[];
}

const restartMs = vanishMaxMs + 100;
/** Longer than a creation in doubt holds its seat back, and than the grace time. */
const restMaxMs = 17 * 60_000;
/** So long nothing may change any more. */
const quietMs = 10_000;
/** Looking at everything costs more than what happens between two looks. */
const lookEveryMs = 250;

interface Place {
  readonly host: HostClock;
  /** Somebody starts it again when it has died. */
  isWanted: boolean;
  instance: BusInstance | null;
}

class World implements CrashWorld {
  readonly hand: Stagehand = createStagehand({ seed: 1 });
  readonly database = new MemoryDatabase("crashes");
  readonly store: Store;
  readonly telegram: TelegramWorld;
  readonly points: CrashPoints;
  readonly handed: Handed[] = [];
  readonly #places: Readonly<Record<PlaceName, Place>>;
  readonly #network: ReturnType<typeof createNetwork>;
  readonly #shared: Pick<Parameters<typeof startBusInstance>[0], "gate" | "calls" | "exchanges" | "threadGraceMs">;
  readonly #ledger: UpdateLedger;
  readonly #seats = new Map<PlaceName, SeatKey>();

  constructor({ story, at, together }: CrashOptions) {
    const { hand, database } = this;
    this.store = openMemoryStore({ database, clock: asTimerless(hand.newHost()) });
    const isAlive = (id: Parameters<typeof hand.table.isInstanceAlive>[0]) => hand.table.isInstanceAlive(id);
    const { nowMs } = hand.scheduler;
    const calls = createCallLedger({ nowMs, isAlive, threadNow: (id) => id });
    this.telegram = createTelegramWorld(hand.scheduler, calls.seen);
    this.#ledger = createUpdateLedger({ database, telegram: this.telegram, isAlive, nowMs });
    const exchanges = new ExchangeNotes({
      database,
      writes: () => 0,
      steps: hand.recorder.steps,
      isThreadGone: (id) => this.telegram.isGone(id),
    });
    this.#shared = { gate: { throttledUntilMs: 0 }, calls, exchanges, threadGraceMs: story.threadGraceMs };
    this.#network = createNetwork({ ...hand, random: hand.random.split("network") });
    const place = (): Place => ({ host: hand.newHost(), isWanted: false, instance: null });
    this.#places = { L: place(), F: place() };
    this.points = createCrashPoints(at, () => {
      const dying: readonly PlaceName[] = together ? ["L", "F"] : ["L"];
      for (const name of dying) {
        const { isWanted } = this.#places[name];
        this.kill(name);
        if (isWanted) this.#bootLater(name);
      }
    });
  }

  nowMs(): number {
    return this.hand.scheduler.nowMs();
  }

  boot(name: PlaceName): void {
    const place = this.#places[name];
    place.isWanted = true;
    if (this.#isRunning(name)) return;
    const { hand } = this;
    place.instance = startBusInstance({
      hand,
      name,
      isNamed: true,
      ack: "explicit",
      userHost: null,
      host: place.host,
      store: name === "L" ? storeAt(this.points, this.store) : this.store,
      telegram: name === "L" ? telegramAt(this.points, this.telegram) : this.telegram,
      network: this.#network,
      serve: (handle) => handle,
      // What is judged here is how the story ends.
      isReady: () => true,
      ledger: this.#ledgerOf(name),
      ...this.#shared,
    });
  }

  #ledgerOf(to: PlaceName): UpdateLedger {
    const handed: UpdateLedger["handed"] = (updateId, id, redelivered) => {
      this.handed.push({ updateId, to, redelivered });
      this.#ledger.handed(updateId, id, redelivered);
    };
    return { ...this.#ledger, handed };
  }

  kill(name: PlaceName): void {
    const place = this.#places[name];
    place.isWanted = false;
    place.instance?.process.kill();
    this.#network.kill(name);
  }

  stop(name: PlaceName, leave: boolean): void {
    this.#places[name].isWanted = false;
    this.#places[name].instance?.stop(leave);
  }

  say(name: PlaceName): void {
    this.#places[name].instance?.say();
  }

  has(name: PlaceName): boolean {
    const { instance } = this.#places[name];
    if (instance === null || !this.#isRunning(name) || !instance.isJoined()) return false;
    this.#seats.set(name, instance.seat());
    return this.#bindingOf(instance.seat()) !== undefined;
  }

  async until(holds: () => boolean, limitMs: number): Promise<boolean> {
    await this.hand.scheduler.runUntil(this.nowMs() + limitMs, holds);
    return holds();
  }

  seatOf(name: PlaceName): SeatKey {
    const seat = this.#seats.get(name);
    if (seat === undefined) throw new Error(`${name} never had a seat`);
    return seat;
  }

  threadOf(name: PlaceName): ThreadTarget {
    const binding = this.#bindingOf(this.seatOf(name));
    if (binding === undefined) throw new Error(`${name} has no thread`);
    return binding.thread.target;
  }

  /** What is not as it must be when everything has come to rest. */
  faults(ends: readonly PlaceName[]): readonly string[] {
    const { database, telegram } = this;
    // What the user made is theirs: whether it goes is the story's own matter.
    const living = telegram.threads().flatMap(({ id, isGone, isUsers }) => (isGone || isUsers ? [] : [id]));
    const bound = [...database.bindings.values()].map(({ thread }) => Number(thread.target.threadId));
    const list = (ids: readonly number[]): string => [...ids].sort((a, b) => a - b).join(", ") || "none";
    const left = [
      ["creations in doubt", database.provisions.size],
      ["deletions due", database.cleanups.size],
      ["leftovers", database.leftovers.size],
    ] as const;
    return [
      ...(list(living) === list(bound) ? [] : [`Telegram has threads ${list(living)}, bound are ${list(bound)}`]),
      ...(bound.length === ends.length ? [] : [`${bound.length} bound threads for ${ends.length} seats`]),
      ...ends.filter((name) => !this.has(name)).map((name) => `${name} has no thread or has not joined`),
      ...left.filter(([, count]) => count > 0).map(([what, count]) => `${what}: ${count}`),
      ...this.hand.violations.map(({ name, detail }) => `${name}: ${detail}`),
    ];
  }

  #bindingOf(seat: SeatKey) {
    return [...this.database.bindings.values()].find((binding) => binding.seat === seat);
  }

  #isRunning(name: PlaceName): boolean {
    const state = this.#places[name].instance?.process.state() ?? "dead";
    return state !== "dead";
  }

  #bootLater(name: PlaceName): void {
    this.#places[name].isWanted = true;
    this.hand.scheduler.after(restartMs, name, () => {
      if (!this.#places[name].isWanted) return null;
      this.boot(name);
      return "starts again";
    });
  }
}

/** Tells the story to its end, with or without the death. */
export async function playCrash(options: CrashOptions): Promise<CrashResult> {
  const { story } = options;
  const world = new World(options);
  await story.before(world);
  world.points.arm();
  await story.told(world);
  let look = { atMs: -lookEveryMs, isAtRest: false };
  const isAtRest = (): boolean => {
    const nowMs = world.nowMs();
    if (nowMs - look.atMs >= lookEveryMs) look = { atMs: nowMs, isAtRest: world.faults(story.ends).length === 0 };
    return look.isAtRest;
  };
  const untilMs = world.nowMs() + restMaxMs;
  // It may come to rest and then die of the last effect.
  while (await world.until(isAtRest, untilMs - world.nowMs()))
    if (!(await world.until(() => !isAtRest(), quietMs))) break;
  return {
    effects: world.points.seen(),
    faults: world.faults(story.ends),
    tail: world.hand.recorder.tail(),
  };
}
