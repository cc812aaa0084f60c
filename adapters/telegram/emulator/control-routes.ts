/**
 * The control API over HTTP: `/control/...`.
 *
 * Owns: routes, reading their input, who may call (loopback Host, no foreign Origin), the event stream. Does not own: what
 * an operation does (control.ts).
 * Invariants: every answer is JSON (the event stream carries JSON); a request from a foreign web page gets a 403 and
 * changes nothing; bad input gets a 400 that says what to send.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { EmulatorControl } from "./control.ts";
import { ControlError, ControlInput, withDefined } from "./control-input.ts";
import type { ChatSeed, MessageRef, Sender, ThreadRef } from "./control-types.ts";
import { readFault } from "./fault-input.ts";
import { readBody, sendJson } from "./http-io.ts";
import { parseJson } from "./params.ts";

const CONTROL_BODY_BYTES_MAX = 1024 * 1024;
const SECURITY_HEADERS = {
  "Cache-Control": "no-store",
  "Cross-Origin-Resource-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
};

type Operation = (control: EmulatorControl, input: ControlInput) => unknown;

/** POST operations by path. `refuse-connections` is apart: it must answer before it acts. */
const POSTS: Readonly<Record<string, Operation>> = {
  "user-text": (control, input) =>
    control.userSends(
      withDefined(
        { text: input.text("text") },
        {
          chatId: input.optionalInteger("chatId"),
          threadId: input.optionalInteger("threadId"),
          from: sender(input),
          replyToMessageId: input.optionalInteger("replyToMessageId"),
        },
      ),
    ),
  "user-edits": (control, input) => control.userEdits({ ...messageRef(input), text: input.text("text") }),
  "user-deletes-message": (control, input) => control.userDeletesMessage(messageRef(input)),
  "user-creates-thread": (control, input) =>
    control.userCreatesThread(
      withDefined(
        { name: input.text("name") },
        {
          chatId: input.optionalInteger("chatId"),
          threadId: input.optionalInteger("threadId"),
          from: sender(input),
        },
      ),
    ),
  "user-deletes-thread": (control, input) => control.userDeletesThread(threadRef(input)),
  "user-renames-thread": (control, input) =>
    control.userRenamesThread({ ...threadRef(input), name: input.text("name") }),
  "user-closes-thread": (control, input) => control.userClosesThread(threadRef(input)),
  "user-reopens-thread": (control, input) => control.userReopensThread(threadRef(input)),
  "user-presses-button": (control, input) =>
    control.userPressesButton(withDefined({ ...messageRef(input), data: input.text("data") }, { from: sender(input) })),
  "user-reacts": (control, input) =>
    control.userReacts(
      withDefined({ ...messageRef(input), emoji: input.optionalText("emoji") ?? null }, { from: sender(input) }),
    ),
  "raw-update": (control, input) => control.rawUpdate({ update: input.object("update") }),
  chat: (control, input) => control.addChat(chatSeed(input)),
  "user-upgrades-group": (control, input) =>
    control.userUpgradesGroup(
      withDefined(
        { chatId: input.integer("chatId"), to: input.integer("to") },
        { isForum: input.optionalFlag("isForum") },
      ),
    ),
  fault: (control, input) => control.fault(readFault(input)),
  "clear-faults": (control) => control.clearFaults(),
  "restart-ids": (control, input) => control.restartIds({ next: input.integer("next") }),
  "topics-enabled": (control, input) => control.setTopicsEnabled({ enabled: input.flag("enabled") }),
  "topic-cache": (control, input) => control.setTopicCache({ ms: input.integer("ms") }),
  "next-message-id": (control, input) =>
    control.setNextMessageId(withDefined({ next: input.integer("next") }, { chatId: input.optionalInteger("chatId") })),
};

const GETS: Readonly<Record<string, (control: EmulatorControl, query: URLSearchParams) => object>> = {
  state: (control) => control.state(),
  transcript: (control, query) => ({
    calls: control.transcript(withDefined({}, { since: queryInteger(query, "since") })),
  }),
  messages: (control, query) => ({
    messages: control.messages(withDefined({}, { chatId: queryInteger(query, "chatId") })),
  }),
};

function sender(input: ControlInput): Sender | undefined {
  const from = input.optionalObject("from");
  if (from === undefined) return undefined;
  const fields = new ControlInput(from);
  return { id: fields.integer("id"), first_name: fields.text("first_name") };
}

function threadRef(input: ControlInput): ThreadRef {
  return withDefined({ threadId: input.integer("threadId") }, { chatId: input.optionalInteger("chatId") });
}

function messageRef(input: ControlInput): MessageRef {
  return withDefined({ messageId: input.integer("messageId") }, { chatId: input.optionalInteger("chatId") });
}

function chatSeed(input: ControlInput): ChatSeed {
  const type = input.text("type");
  if (type !== "private" && type !== "group" && type !== "supergroup") {
    throw new ControlError('"type" must be private, group or supergroup');
  }
  const base = { id: input.integer("id"), type, title: input.text("title") } as const;
  return withDefined(base, { isForum: input.optionalFlag("isForum") });
}

function queryInteger(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new ControlError(`"${name}" in the query must be an integer`);
  return value;
}

/** Null when the request may use the control API and the page; else why not. */
export function refusalReason(request: IncomingMessage): string | null {
  const host = request.headers.host ?? "";
  const name = host.replace(/:\d+$/, "").toLowerCase();
  if (!["127.0.0.1", "localhost", "[::1]"].includes(name)) {
    return "the control API answers on loopback addresses only: use http://127.0.0.1:PORT";
  }
  const origin = request.headers.origin;
  if (origin !== undefined && origin !== `http://${host}`) return "requests of other web pages are refused";
  const site = request.headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") return "requests of other web pages are refused";
  return null;
}

export async function handleControl(
  control: EmulatorControl,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  const refused = refusalReason(request);
  if (refused !== null) {
    reply(response, 403, { ok: false, error: refused });
    return;
  }
  try {
    await route(control, request, response, url);
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    reply(response, 400, { ok: false, error: error.message });
  }
}

async function route(
  control: EmulatorControl,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  const name = url.pathname.slice("/control/".length);
  const get = Object.hasOwn(GETS, name) ? GETS[name] : undefined;
  const post = Object.hasOwn(POSTS, name) ? POSTS[name] : undefined;
  const isPost = name === "refuse-connections" || post !== undefined;
  if (name !== "events" && get === undefined && !isPost) {
    reply(response, 404, { ok: false, error: `there is no control operation "${name}": see docs/emulator.md` });
    return;
  }
  const method = isPost ? "POST" : "GET";
  if (request.method !== method) {
    reply(response, 405, { ok: false, error: `use ${method} for /control/${name}` });
    return;
  }
  if (name === "events") streamEvents(control, response);
  else if (get !== undefined) reply(response, 200, { ok: true, ...get(control, url.searchParams) });
  else {
    const input = await readInput(request);
    if (post === undefined) refuseConnections(control, response, input.integer("ms"));
    else reply(response, 200, { ok: true, ...asObject(post(control, input)) });
  }
}

/** Operations answer with an object or with nothing. */
function asObject(result: unknown): object {
  return typeof result === "object" && result !== null ? result : {};
}

async function readInput(request: IncomingMessage): Promise<ControlInput> {
  const body = await readBody(request, CONTROL_BODY_BYTES_MAX);
  if (body === null) throw new ControlError("the request body is larger than 1 MiB");
  return new ControlInput(body.length === 0 ? {} : parseJson(body.toString("utf8")));
}

function refuseConnections(control: EmulatorControl, response: ServerResponse, ms: number): void {
  response.once("finish", () => control.refuseConnections({ ms }));
  reply(response, 200, { ok: true }, { Connection: "close" });
}

function streamEvents(control: EmulatorControl, response: ServerResponse): void {
  response.writeHead(200, { "Content-Type": "text/event-stream", ...SECURITY_HEADERS });
  response.write(": connected\n\n");
  const unsubscribe = control.onEvent((event) => response.write(`data: ${JSON.stringify(event)}\n\n`));
  response.once("close", unsubscribe);
}

function reply(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  sendJson(response, { status, body, headers: { ...SECURITY_HEADERS, ...headers } });
}
