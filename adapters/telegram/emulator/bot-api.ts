/**
 * `/bot<TOKEN>/<method>` over HTTP, with scripted faults and the transcript.
 *
 * Owns: the token check, one transcript entry per call, playing out faults, noticing a client that went away.
 * Does not own: methods, the fault queue, control routes.
 * Invariants: a call is performed at most once; its transcript entry ends in exactly one outcome; only calls with the
 * right token are performed or take a fault.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Core } from "./core.ts";
import { NOT_FOUND, TelegramError, tooManyRequests, UNAUTHORIZED } from "./errors.ts";
import type { Fault } from "./faults.ts";
import { BODY_BYTES_MAX, readBody, sendJson, sendText, type JsonReply } from "./http-io.ts";
import { findMethod } from "./methods.ts";
import { Params, readParams } from "./params.ts";
import type { CallOutcome } from "./transcript.ts";

export interface BotApiRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly token: string;
  readonly method: string;
  readonly query: URLSearchParams;
  readonly connectionId: number;
}

interface OpenCall {
  readonly core: Core;
  readonly method: string;
  readonly params: Params;
  readonly signal: AbortSignal;
  readonly response: ServerResponse;
  end(outcome: CallOutcome): void;
}

export async function handleBotApi(core: Core, route: BotApiRequest): Promise<void> {
  const read = await readCall(route);
  const accepted = route.token === core.settings.token;
  const fault = accepted && read instanceof Params ? core.faults.take(route.method, read) : undefined;
  const call = openCall(core, route, read instanceof Params ? read : new Params({}), fault);
  if (!accepted) answer(call, errorReply(new TelegramError(401, UNAUTHORIZED)));
  else if (read instanceof TelegramError) answer(call, errorReply(read));
  else if (fault === undefined) answer(call, await perform(call));
  else await playFault(call, fault);
}

async function readCall({ request, query }: BotApiRequest): Promise<Params | TelegramError> {
  const body = await readBody(request, BODY_BYTES_MAX);
  if (body === null) return new TelegramError(413, "Request Entity Too Large");
  try {
    return readParams(query, request.headers["content-type"] ?? "", body);
  } catch (error) {
    if (error instanceof TelegramError) return error;
    throw error;
  }
}

function openCall(core: Core, route: BotApiRequest, params: Params, fault: Fault | undefined): OpenCall {
  const { response } = route;
  const entry = core.transcript.open({
    atMs: core.nowMs,
    method: route.method,
    payload: params.record,
    files: params.files,
    connectionId: route.connectionId,
    fault: fault?.kind ?? null,
  });
  core.hub.emit({ type: "call", call: entry });
  const gone = new AbortController();
  const end = (outcome: CallOutcome): void => {
    const settled = core.transcript.close(entry.seq, outcome, core.nowMs);
    if (settled !== undefined) core.hub.emit({ type: "call", call: settled });
  };
  const onClose = (): void => {
    if (response.writableFinished) return;
    end({ kind: "aborted" });
    gone.abort();
  };
  response.once("close", onClose);
  if (response.destroyed) onClose();
  return { core, method: route.method, params, signal: gone.signal, response, end };
}

/** Performs the call once. Refusals become answers; anything else is a bug and is answered as a 500 that says so. */
async function perform(call: OpenCall): Promise<JsonReply> {
  const method = findMethod(call.method);
  if (method === undefined) return errorReply(new TelegramError(404, NOT_FOUND));
  try {
    const result = await method({ core: call.core, params: call.params, signal: call.signal });
    return { status: 200, body: { ok: true, result } };
  } catch (error) {
    if (error instanceof TelegramError) return errorReply(error);
    return errorReply(
      new TelegramError(500, `Internal Server Error: emulator bug in ${call.method}: ${String(error)}`),
    );
  }
}

function errorReply(error: TelegramError): JsonReply {
  const retryAfter = error.parameters?.retry_after;
  return {
    status: error.code,
    body: error.body(),
    ...(retryAfter === undefined ? {} : { headers: { "Retry-After": String(retryAfter) } }),
  };
}

function answer(call: OpenCall, reply: JsonReply): void {
  if (call.signal.aborted) return;
  call.end({ kind: "answered", status: reply.status, body: reply.body });
  sendJson(call.response, reply);
}

function answerText(call: OpenCall, status: number, text: string, headers: Readonly<Record<string, string>>): void {
  if (call.signal.aborted) return;
  call.end({ kind: "answered", status, body: text });
  sendText(call.response, status, text, headers);
}

function lose(call: OpenCall, performed: boolean): void {
  call.end({ kind: "lost", performed });
  call.response.socket?.destroy();
}

async function playFault(call: OpenCall, fault: Fault): Promise<void> {
  switch (fault.kind) {
    case "http": {
      const text = typeof fault.body === "string" ? fault.body : JSON.stringify(fault.body ?? "");
      const contentType = fault.contentType ?? (typeof fault.body === "string" ? "text/html" : "application/json");
      answerText(call, fault.status, text, { "Content-Type": contentType, ...fault.headers });
      return;
    }
    case "error":
      answer(call, errorReply(new TelegramError(fault.error_code, fault.description, fault.parameters)));
      return;
    case "retryAfter":
      answer(call, errorReply(tooManyRequests(fault.seconds)));
      return;
    case "lostBefore":
      lose(call, false);
      return;
    case "lost":
      await perform(call);
      lose(call, true);
      return;
    case "hang":
      call.end({ kind: "hang" });
      return;
    case "latencyMs":
      answer(call, await performLate(call, fault.ms, fault.when ?? "after"));
      return;
    case "truncatedJson": {
      const reply = await perform(call);
      const text = JSON.stringify(reply.body);
      answerText(call, reply.status, text.slice(0, Math.ceil(text.length / 2)), { "Content-Type": "application/json" });
      return;
    }
    case "emptyOk":
      await performIfAsked(call, fault.perform);
      answer(call, { status: 200, body: fault.shape === "emptyObject" ? { ok: true, result: {} } : { ok: true } });
      return;
    case "result":
      await performIfAsked(call, fault.perform);
      answer(call, { status: 200, body: { ok: true, result: fault.result } });
      return;
  }
}

async function performLate(call: OpenCall, ms: number, when: "before" | "after"): Promise<JsonReply> {
  const wait = (): Promise<void> => new Promise((resolve) => void call.core.settings.clock.setTimer(resolve, ms));
  if (when === "before") await wait();
  const reply = await perform(call);
  if (when === "after") await wait();
  return reply;
}

async function performIfAsked(call: OpenCall, asked: boolean | undefined): Promise<void> {
  if (asked ?? call.method.toLowerCase() !== "getupdates") await perform(call);
}
