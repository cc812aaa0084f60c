/**
 * Every durable write and every Bot API call of one instance, counted, with a death at a chosen one.
 *
 * Owns: counting, naming, and dying just before an effect is carried out (it is not) or just after (its answer reaches
 * nobody).
 * Does not own: what the effects do, who starts the next process (`crash-world.ts`).
 * Invariant: reading, polling and what is written for `status` alone are no points.
 */
import type { Store } from "../../services/ports.ts";
import type { TelegramWorld } from "./telegram.ts";

/** `before` = the effect is not carried out; `after` = it is, and nobody hears of it. */
export interface CrashPoint {
  readonly index: number;
  readonly side: "before" | "after";
}

export interface CrashPoints {
  /** Effects from here on are points. */
  readonly arm: () => void;
  /** Names of the effects so far, in order. */
  readonly seen: () => readonly string[];
  /** Passes an effect on. `null` = the process died before it. */
  readonly pass: <Value>(what: string, perform: () => Value) => Value | null;
}

export function createCrashPoints(at: CrashPoint | null, die: () => void): CrashPoints {
  const seen: string[] = [];
  let isArmed = false;
  return {
    arm: () => {
      isArmed = true;
    },
    seen: () => seen,
    pass(what, perform) {
      const isPoint = isArmed && seen.length === at?.index;
      if (isArmed) seen.push(what);
      if (!isPoint) return perform();
      // One death is enough: whoever comes next lives.
      isArmed = false;
      if (at.side === "before") {
        die();
        return null;
      }
      const value = perform();
      die();
      return value;
    },
  };
}

const silent = ["getUpdates", "getMe"];

/** Telegram as it hears of the instance. */
export const telegramAt = ({ pass }: CrashPoints, inner: TelegramWorld): TelegramWorld => ({
  ...inner,
  perform(call, answer) {
    const perform = (): true => {
      inner.perform(call, answer);
      return true;
    };
    if (silent.includes(call.method)) perform();
    else pass(call.method, perform);
  },
});

const never = <Value>(): Promise<Value> => new Promise(() => undefined);

/** The store as the instance writes it. */
export function storeAt({ pass }: CrashPoints, inner: Store): Store {
  const point =
    <Request, Answer>(what: string, write: (request: Request) => Promise<Answer>) =>
    (request: Request): Promise<Answer> =>
      pass(what, () => write(request)) ?? never();
  const { seats, registrations, threads, cleanups, journal } = inner;
  return {
    ...inner,
    journal: { ...journal, redirect: point("journal.redirect", (r) => journal.redirect(r)) },
    seats: {
      ...seats,
      claim: point("seats.claim", (r) => seats.claim(r)),
      release: point("seats.release", (r) => seats.release(r)),
      disown: point("seats.disown", (r) => seats.disown(r)),
    },
    registrations: {
      ...registrations,
      commit: point("registrations.commit", (r) => registrations.commit(r)),
      end: point("registrations.end", (r) => registrations.end(r)),
    },
    threads: {
      ...threads,
      intend: point("threads.intend", (r) => threads.intend(r)),
      noteCreated: point("threads.noteCreated", (r) => threads.noteCreated(r)),
      bind: point("threads.bind", (r) => threads.bind(r)),
      giveUp: point("threads.giveUp", (r) => threads.giveUp(r)),
      mark: point("threads.mark", (r) => threads.mark(r)),
      lose: point("threads.lose", (r) => threads.lose(r)),
      addLeftover: point("threads.addLeftover", (r) => threads.addLeftover(r)),
    },
    cleanups: {
      ...cleanups,
      intend: point("cleanups.intend", (r) => cleanups.intend(r)),
      begin: point("cleanups.begin", (r) => cleanups.begin(r)),
      postpone: point("cleanups.postpone", (r) => cleanups.postpone(r)),
      confirm: point("cleanups.confirm", (r) => cleanups.confirm(r)),
      cancel: point("cleanups.cancel", (r) => cleanups.cancel(r)),
      unbind: point("cleanups.unbind", (r) => cleanups.unbind(r)),
      observe: point("cleanups.observe", (r) => cleanups.observe(r)),
      answer: point("cleanups.answer", (r) => cleanups.answer(r)),
    },
  };
}
