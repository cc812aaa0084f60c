/** A Telegram that answers what a test tells it, and remembers every call. */
import type { CallOutcome, TelegramApi, UploadFile } from "../../../services/ports.ts";

export interface SeenCall {
  readonly method: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

type Answer = CallOutcome | Promise<CallOutcome>;

export class ScriptedTelegram implements TelegramApi {
  readonly calls: SeenCall[] = [];
  /** Polls that were open at once, at most. */
  pollsAtOnce = 0;
  private polls = 0;
  private lastThread = 40;
  private lastMessage = 900;
  private hasTopics = true;
  private readonly answers = new Map<string, (call: SeenCall) => Answer>();
  private updates: { readonly update_id: number }[] = [];
  private wake: (() => void) | null = null;

  /** From now on a method is answered by this; `null` = as by itself. */
  answer(method: string, by: ((call: SeenCall) => Answer) | null): void {
    if (by === null) this.answers.delete(method);
    else this.answers.set(method, by);
  }

  setTopics(hasTopics: boolean): void {
    this.hasTopics = hasTopics;
  }

  /** The next poll gives it. */
  give(update: { readonly update_id: number }): void {
    this.updates.push(update);
    this.wake?.();
  }

  of(method: string): readonly SeenCall[] {
    return this.calls.filter((call) => call.method === method);
  }

  async call(
    method: string,
    payload: SeenCall["payload"],
    limits: { readonly signal: AbortSignal },
  ): Promise<CallOutcome> {
    const call = { method, payload };
    if (method === "getUpdates") return this.poll(call, limits.signal);
    this.calls.push(call);
    const scripted = this.answers.get(method);
    return scripted === undefined ? this.byItself(call) : scripted(call);
  }

  /** What reading the token again comes to; by default it is the same. */
  renewal: () => "changed" | "same" = () => "same";
  renewToken(): Promise<"changed" | "same"> {
    return Promise.resolve(this.renewal());
  }

  /** The file stands in its field, as it was named. */
  upload(
    method: string,
    payload: SeenCall["payload"],
    file: UploadFile,
    limits: { readonly signal: AbortSignal },
  ): Promise<CallOutcome> {
    return this.call(method, { ...payload, [file.field]: file }, limits);
  }

  download(fileId: string, suggestedName: string, limits: { readonly signal: AbortSignal }): Promise<CallOutcome> {
    return this.call("download", { fileId, suggestedName }, limits);
  }

  private byItself({ method, payload }: SeenCall): CallOutcome {
    const ok = (result: unknown): CallOutcome => ({ kind: "ok", result });
    if (method === "getMe") return ok({ id: 1, is_bot: true, has_topics_enabled: this.hasTopics });
    if (method === "createForumTopic") return ok({ message_thread_id: (this.lastThread += 1), name: payload["name"] });
    if (!method.startsWith("send") || method === "sendChatAction") return ok(true);
    return ok({
      message_id: (this.lastMessage += 1),
      chat: { id: payload["chat_id"] },
      ...(payload["message_thread_id"] === undefined ? {} : { message_thread_id: payload["message_thread_id"] }),
    });
  }

  private async poll(call: SeenCall, signal: AbortSignal): Promise<CallOutcome> {
    this.polls += 1;
    this.pollsAtOnce = Math.max(this.pollsAtOnce, this.polls);
    try {
      const scripted = this.answers.get("getUpdates");
      if (scripted !== undefined) return await scripted(call);
      const offset = Number(call.payload["offset"] ?? 0);
      this.updates = this.updates.filter((update) => update.update_id >= offset);
      if (this.updates.length > 0) return { kind: "ok", result: this.updates };
      return await new Promise<CallOutcome>((resolve) => {
        this.wake = () => resolve({ kind: "ok", result: this.updates });
        signal.addEventListener("abort", () => resolve({ kind: "notSent", reason: "aborted" }), { once: true });
      });
    } finally {
      this.polls -= 1;
    }
  }
}
