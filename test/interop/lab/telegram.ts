/**
 * The Bot API of a recorded session: fixed answers, and the updates that the test lets it have.
 *
 * Owns: the answers. Does not own: judging calls; whatever gets here was allowed.
 */
import type { CallOutcome, TelegramApi } from "../../../services/ports.ts";

export interface Made {
  readonly method: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

export interface ScriptedTelegram extends TelegramApi {
  readonly made: readonly Made[];
  /** The next poll gets these. */
  give(updates: readonly unknown[]): void;
}

/**
 * `answer` decides first; what it leaves open (`undefined`) is answered as a bot with topics would be: threads counted up
 * from `firstThread`, everything else `true`.
 */
export function scriptedTelegram(firstThread: number, answer: (made: Made) => unknown): ScriptedTelegram {
  const made: Made[] = [];
  let thread = firstThread - 1;
  let waiting: unknown[] = [];
  let wake: () => void = () => undefined;

  const usual = ({ method, payload }: Made): unknown => {
    if (method === "getMe") return { id: 1, is_bot: true, first_name: "B", username: "b", has_topics_enabled: true };
    if (method === "createForumTopic") {
      thread += 1;
      return { message_thread_id: thread, name: payload["name"], icon_color: 7_322_096 };
    }
    return true;
  };

  const poll = async (signal: AbortSignal): Promise<CallOutcome> => {
    if (waiting.length === 0)
      await new Promise<void>((resolve) => {
        wake = resolve;
        signal.addEventListener("abort", () => resolve());
      });
    const result = waiting;
    waiting = [];
    return { kind: "ok", result };
  };

  return {
    made,
    give(updates) {
      waiting.push(...updates);
      wake();
    },
    async call(method, payload, { signal }) {
      if (method === "getUpdates") return poll(signal);
      const one = { method, payload };
      made.push(one);
      return { kind: "ok", result: answer(one) ?? usual(one) };
    },
    renewToken: () => Promise.resolve("same"),
    upload: () => Promise.resolve({ kind: "notSent", reason: "no file was recorded" }),
    download: () => Promise.resolve({ kind: "notSent", reason: "no file was recorded" }),
  };
}
