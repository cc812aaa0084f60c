/**
 * The way to the simulated Telegram: the `TelegramApi` port of one process.
 *
 * Owns: latency, calls not sent, answers lost after the commit, server errors, hangs, the bot-wide 429, time-outs by the
 * process's own clock, aborts.
 * Does not own: what Telegram does (`telegram.ts`).
 * Invariants: a call that left is carried out whatever happens to its sender; the port never rejects and answers once;
 * what may have been carried out and was not answered is `ambiguous`.
 */
import { setMaxListeners } from "node:events";
import type { CallOutcome, TelegramApi } from "../../services/ports.ts";
import type { Swarm } from "./faults.ts";
import type { RequestPath } from "./requests.ts";
import type { Caller, Payload, TelegramWorld } from "./telegram.ts";

export interface TelegramGate {
  /** True time until which the bot is throttled; 0 = not. */
  throttledUntilMs: number;
}

export interface TelegramPath extends RequestPath {
  readonly world: TelegramWorld;
  readonly gate: TelegramGate;
}

type Fate = "sent" | "notSent" | "answerLost" | "serverError" | "hang";

function fateOf({ random, swarm, faults }: TelegramPath): Fate {
  const options: Swarm = swarm();
  const draws: readonly (readonly [Fate, number])[] = [
    ["notSent", options.telegramNotSent],
    ["serverError", options.telegramServerError],
    ["answerLost", options.telegramAnswerLost],
    ["hang", options.telegramHang],
  ];
  for (const [fate, probability] of draws)
    if (random.chance(probability)) {
      faults.count(`telegram.${fate}`);
      return fate;
    }
  return "sent";
}

const ambiguous = (reason: string): CallOutcome => ({ kind: "ambiguous", reason });

/** One call under way: answers once, whatever happens first. */
class Call {
  readonly caller: Caller;
  readonly #path: TelegramPath;
  readonly #method: string;
  readonly #resolve: (outcome: CallOutcome) => void;
  #isOver = false;
  #release: () => void = () => undefined;

  constructor(path: TelegramPath, method: string, resolve: (outcome: CallOutcome) => void) {
    const { process } = path;
    const pausesBefore = process.pauses();
    this.#path = path;
    this.#method = method;
    this.#resolve = resolve;
    this.caller = {
      name: process.name,
      couldAct: () => process.state() === "running" && process.pauses() === pausesBefore && !this.#isOver,
    };
  }

  /** Ends the call by itself when its time is up or its caller cuts it. */
  limit({ timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal }): void {
    const { clock } = this.#path.process;
    const onAbort = () => this.#cut("aborted");
    const timer = clock.setTimeout(() => this.#cut("timed out"), timeoutMs);
    // All calls of a leadership share its signal.
    setMaxListeners(0, signal);
    signal.addEventListener("abort", onAbort);
    this.#release = () => {
      clock.clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    };
  }

  isOver(): boolean {
    return this.#isOver;
  }

  /** Sends an answer on its way back. */
  reply(outcome: CallOutcome): void {
    const { scheduler, process } = this.#path;
    scheduler.after(this.latencyMs(), process.name, () => {
      const label = `${this.#method} ${outcome.kind}`;
      process.deliver(label, () => this.#finish(outcome));
      return label;
    });
  }

  latencyMs(): number {
    return this.#path.random.between(1, this.#path.swarm().telegramLatencyMaxMs);
  }

  #finish(outcome: CallOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#release();
    this.#resolve(outcome);
  }

  #cut(reason: string): void {
    this.#finish(ambiguous(reason));
    const { scheduler, world, process } = this.#path;
    // The end of a connection travels faster than a call is answered, but it travels.
    scheduler.after(this.latencyMs() / 4, "telegram", () => {
      world.hangUp(this.caller);
      return `${process.name} hangs up on ${this.#method}`;
    });
  }
}

/** The bot-wide 429, while it lasts. */
function refusalBy(gate: TelegramGate, nowMs: number): CallOutcome | null {
  const leftMs = gate.throttledUntilMs - nowMs;
  if (leftMs <= 0) return null;
  const retryAfterS = Math.ceil(leftMs / 1000);
  const description = `Too Many Requests: retry after ${retryAfterS}`;
  const error = { error_code: 429, description, parameters: { retry_after: retryAfterS } };
  return { kind: "throttled", retryAfterMs: retryAfterS * 1000, error };
}

export function createTelegramPort(path: TelegramPath): TelegramApi {
  const { scheduler, process, world, gate } = path;
  const arrive = (call: Call, fate: Fate, method: string, payload: Payload): string => {
    if (fate === "serverError") {
      call.reply(ambiguous("502"));
      return `${method} 502`;
    }
    const refusal = refusalBy(gate, scheduler.nowMs());
    if (refusal !== null) {
      call.reply(refusal);
      return `${method} 429`;
    }
    // A poll whose caller is gone or has cut it waits on a closed connection: the server drops it at once.
    if (method === "getUpdates" && (process.state() === "dead" || call.isOver())) return `${method} of nobody`;
    world.perform({ method, payload, caller: call.caller }, (outcome) => {
      if (fate === "answerLost") call.reply(ambiguous("the answer was lost"));
      else if (fate === "sent") call.reply(outcome);
    });
    return `${method} arrives from ${process.name}`;
  };
  const send: TelegramApi["call"] = (method, payload, limits) =>
    new Promise<CallOutcome>((resolve) => {
      if (limits.signal.aborted) {
        resolve({ kind: "notSent", reason: "aborted" });
        return;
      }
      const call = new Call(path, method, resolve);
      call.limit(limits);
      const fate = fateOf(path);
      if (fate === "notSent") call.reply({ kind: "notSent", reason: "simulated: no connection" });
      else scheduler.after(call.latencyMs(), "telegram", () => arrive(call, fate, method, payload));
    });
  return {
    call: send,
    renewToken: () => Promise.resolve("same"),
    // What a file holds is of no consequence here; that it is sent once is.
    upload: (method, payload, file, limits) => send(method, { ...payload, [file.field]: file.name }, limits),
    download: () => Promise.resolve({ kind: "notSent", reason: "simulated: there are no files" }),
  };
}
