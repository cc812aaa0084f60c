/**
 * What the emulator's tests share: a started emulator with a hand-moved clock, and plain HTTP calls to it.
 */
import { afterEach, expect } from "vitest";
import { startEmulator, type Emulator, type EmulatorOptions } from "../../../adapters/telegram/emulator/index.ts";

export const TOKEN = "700001:AAFakeFakeFakeFakeFakeFakeFakeFake0";
export const OWNER_CHAT = 5550001;
export const GROUP = -1009990001;

export const FORUM = { id: GROUP, type: "supergroup", title: "Group" } as const;

/** Time that passes only when told to. */
export class HandClock {
  #nowMs = 1_790_000_000_000;
  #timers: { fn: () => void; atMs: number }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  setTimer(fn: () => void, ms: number): () => void {
    const timer = { fn, atMs: this.#nowMs + ms };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  get timers(): number {
    return this.#timers.length;
  }

  advance(ms: number): void {
    this.#nowMs += ms;
    const due = this.#timers.filter((timer) => timer.atMs <= this.#nowMs);
    this.#timers = this.#timers.filter((timer) => timer.atMs > this.#nowMs);
    for (const timer of due) timer.fn();
  }
}

export interface Answer {
  readonly status: number;
  readonly body: ApiBody;
  readonly headers: Headers;
}

export interface ApiBody {
  readonly ok: boolean;
  readonly description?: string;
  readonly error_code?: number;
  readonly parameters?: { readonly retry_after?: number };
  readonly result?: unknown;
}

const running = new Set<Emulator>();

afterEach(async () => {
  await Promise.all([...running].map((emulator) => emulator.close()));
  running.clear();
});

/** Starts an emulator that the end of the test closes. */
export async function start(
  options: Partial<EmulatorOptions> = {},
): Promise<{ emulator: Emulator; clock: HandClock; call: Call }> {
  const clock = new HandClock();
  const emulator = await startEmulator({ token: TOKEN, clock, chats: [FORUM], ...options });
  running.add(emulator);
  return { emulator, clock, call: caller(emulator) };
}

export type Call = (
  method: string,
  payload?: object,
  init?: { token?: string; signal?: AbortSignal },
) => Promise<Answer>;

function caller(emulator: Emulator): Call {
  return async (method, payload = {}, { token = TOKEN, signal } = {}) => {
    const response = await fetch(`${emulator.apiRoot}/bot${token}/${method}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(payload),
      ...(signal === undefined ? {} : { signal }),
    });
    return { status: response.status, body: (await response.json()) as ApiBody, headers: response.headers };
  };
}

/** Waits until a long poll is waiting at the emulator. */
export async function untilWaiting(emulator: Emulator, calls = 1): Promise<void> {
  await expect.poll(() => emulator.control.state().polls).toMatchObject({ waiting: 1, calls });
}

export function updateIds(answer: Answer): number[] {
  return (answer.body.result as { update_id: number }[]).map((update) => update.update_id);
}

export function resultOf<T>(answer: Answer): T {
  expect(answer.body).toMatchObject({ ok: true });
  return answer.body.result as T;
}

export function refusal(code: number, description: string): object {
  return { status: code, body: { ok: false, error_code: code, description } };
}
