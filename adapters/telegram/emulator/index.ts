/**
 * `partyline/emulator`: a Telegram Bot API server on loopback, to develop and test against.
 *
 * Owns: the HTTP server, its connections, defaults of every option. Does not own: Bot API rules (methods-*.ts, polls.ts),
 * operations (control.ts).
 * Invariants: nothing is kept on disk; after `close()` resolves no socket and no timer of the emulator is left; the token
 * is never written to the transcript.
 * Not guaranteed: anything about load, or methods that methods.ts does not list (they answer 404 like unknown ones).
 */
import type { ServerResponse } from "node:http";
import type { User, UserFromGetMe } from "@grammyjs/types";
import { handleBotApi } from "./bot-api.ts";
import { realClock, type EmulatorClock } from "./clock.ts";
import { seededChat } from "./control-content.ts";
import { handleControl } from "./control-routes.ts";
import type { ChatSeed } from "./control-types.ts";
import { EmulatorControl } from "./control.ts";
import { Core, type EmulatorSettings } from "./core.ts";
import { sendJson, sendText } from "./http-io.ts";
import { Listener, type IncomingRequest } from "./listener.ts";
import { handlePage } from "./page-files.ts";

export type { CancelTimer, EmulatorClock } from "./clock.ts";
export { ControlError } from "./control-input.ts";
export type * from "./control-types.ts";
export { EmulatorControl } from "./control.ts";
export type { ErrorParameters } from "./errors.ts";
export type { EmulatorEvent, Unsubscribe } from "./events.ts";
export type { Fault, FaultAction } from "./faults.ts";
export type { UploadedFile } from "./multipart.ts";
export type { PollStats } from "./polls.ts";
export type { CallOutcome, TranscriptEntry } from "./transcript.ts";
export type { ButtonView, ChatView, FileView, ThreadStatus, ThreadView, VisibleMessage } from "./views.ts";

export interface ThreadSeed {
  /** Default: the owner's private chat. */
  readonly chatId?: number;
  readonly threadId: number;
  readonly name: string;
}

export interface EmulatorOptions {
  /** `<bot id>:<secret>`; the only token that is served. */
  readonly token: string;
  /** 0 (the default) takes a free port. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** The user whose private chat is the default chat; default 5550001, "Owner". */
  readonly owner?: { readonly id: number; readonly first_name: string };
  /** Fields of `getMe` to change. The id defaults to the token's. */
  readonly bot?: Partial<UserFromGetMe>;
  /** Chats besides the owner's private chat. */
  readonly chats?: readonly ChatSeed[];
  /** Threads that exist from the start, made by the bot, with no update about them. */
  readonly threads?: readonly ThreadSeed[];
  /** Default 810000001. */
  readonly firstUpdateId?: number;
  /** Per chat; default 1. */
  readonly firstMessageId?: number;
  /** Whether the bot gets updates for topic service messages it caused itself; default true. */
  readonly serviceMessagesToBot?: boolean;
  /** Whether a repeated offset within 0.5 s forces `limit=1`, as on the server; default true. */
  readonly repeatedOffsetRule?: boolean;
  /** How long a deleted thread still takes messages, into the main chat; default 0, on the server up to 60 000. */
  readonly topicCacheMs?: number;
  /** Default: real time. */
  readonly clock?: EmulatorClock;
  /** Default 100 000; the oldest pending update is dropped (and counted) beyond it. */
  readonly pendingUpdatesMax?: number;
  /** Calls kept in the transcript; default 10 000. */
  readonly transcriptMax?: number;
  /** Messages kept per chat; default 10 000. */
  readonly messagesMax?: number;
}

export interface Emulator {
  /** The address to give a Bot API client as its API root, with no slash at the end. */
  readonly apiRoot: string;
  readonly port: number;
  /** The base of the control API over HTTP, with no slash at the end. */
  readonly controlUrl: string;
  /** The chat page. */
  readonly pageUrl: string;
  readonly control: EmulatorControl;
  /** Closes the listener and every connection, waiting polls included. May be called twice. */
  close(): Promise<void>;
}

/** Resolves when the port listens; rejects with the system's error when it cannot. */
export async function startEmulator(options: EmulatorOptions): Promise<Emulator> {
  const core = new Core(settingsOf(options));
  seed(core, options);
  const host = options.host ?? "127.0.0.1";
  const listener = new Listener(host, core.settings.clock);
  const control = new EmulatorControl(core, (ms) => listener.refuse(ms));
  const port = await listener.start(options.port ?? 0, (incoming) => {
    handle(core, control, incoming).catch((error: unknown) => fail(incoming, error));
  });
  const apiRoot = `http://${reachable(host)}:${String(port)}`;
  return {
    apiRoot,
    port,
    controlUrl: `${apiRoot}/control`,
    pageUrl: `${apiRoot}/`,
    control,
    close: () => listener.stop(),
  };
}

/** The host to put into an address: loopback for "every interface", brackets around IPv6. */
function reachable(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}

function settingsOf(options: EmulatorOptions): EmulatorSettings {
  const owner: User = { is_bot: false, ...(options.owner ?? { id: 5550001, first_name: "Owner" }) };
  const bot: UserFromGetMe = {
    id: Number.parseInt(options.token, 10),
    is_bot: true,
    first_name: "Bus",
    username: "bus_test_bot",
    can_join_groups: true,
    can_read_all_group_messages: true,
    supports_guest_queries: false,
    supports_inline_queries: false,
    can_connect_to_business: false,
    has_main_web_app: false,
    has_topics_enabled: true,
    allows_users_to_create_topics: true,
    can_manage_bots: false,
    supports_join_request_queries: false,
    ...options.bot,
  };
  if (!Number.isSafeInteger(bot.id)) throw new Error("the emulator's token must look like 123456:SECRET");
  return {
    token: options.token,
    owner,
    bot,
    clock: options.clock ?? realClock,
    firstUpdateId: options.firstUpdateId ?? 810_000_001,
    firstMessageId: options.firstMessageId ?? 1,
    serviceMessagesToBot: options.serviceMessagesToBot ?? true,
    repeatedOffsetRule: options.repeatedOffsetRule ?? true,
    topicCacheMs: options.topicCacheMs ?? 0,
    pendingUpdatesMax: options.pendingUpdatesMax ?? 100_000,
    transcriptMax: options.transcriptMax ?? 10_000,
    messagesMax: options.messagesMax ?? 10_000,
  };
}

function seed(core: Core, options: EmulatorOptions): void {
  const { owner, botUser } = { owner: core.settings.owner, botUser: core.botUser };
  core.world.addChat({ id: owner.id, type: "private", first_name: owner.first_name });
  for (const chat of options.chats ?? []) core.world.addChat(seededChat(chat));
  for (const { chatId = owner.id, threadId, name } of options.threads ?? []) {
    const chat = core.world.chat(chatId);
    if (chat === undefined)
      throw new Error(`thread ${String(threadId)} is seeded in the unknown chat ${String(chatId)}`);
    core.world.createThread({ chat, from: botUser, name, threadId, iconColor: 7322096, iconCustomEmojiId: null });
  }
}

async function handle(core: Core, control: EmulatorControl, incoming: IncomingRequest): Promise<void> {
  const { request, response } = incoming;
  const url = new URL(request.url ?? "/", "http://emulator");
  const file = /^\/file\/bot([^/]+)\/files\/([A-Za-z0-9-]+)$/.exec(url.pathname);
  const call = /^\/bot([^/]+)\/([A-Za-z0-9_]+)\/?$/.exec(url.pathname);
  if (call !== null) {
    const [, token = "", method = ""] = call;
    await handleBotApi(core, { ...incoming, token: decodeURIComponent(token), method, query: url.searchParams });
  } else if (file !== null && decodeURIComponent(file[1] ?? "") === core.settings.token) {
    serveFile(core, response, file[2] ?? "");
  } else if (url.pathname.startsWith("/control/")) {
    await handleControl(control, request, response, url);
  } else if (!(await handlePage(request, response, url.pathname))) {
    sendJson(response, { status: 404, body: { ok: false, error_code: 404, description: "Not Found" } });
  }
}

function serveFile(core: Core, response: ServerResponse, id: string): void {
  const content = core.files.get(id);
  if (content === undefined)
    sendJson(response, { status: 404, body: { ok: false, error_code: 404, description: "Not Found" } });
  else sendText(response, 200, content, { "Content-Type": "application/octet-stream" });
}

/** A request that broke off is no error of ours; anything else is answered as what it is. */
function fail({ request, response }: IncomingRequest, error: unknown): void {
  if (request.destroyed && !request.complete) {
    response.destroy();
    return;
  }
  sendJson(response, {
    status: 500,
    body: { ok: false, error_code: 500, description: `Emulator error: ${String(error)}` },
  });
}
