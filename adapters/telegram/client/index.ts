/**
 * The Bot API client: grammY's `Api` behind the `TelegramApi` port.
 *
 * Owns: one call's budget, abort and connection; that no outcome holds the token.
 * Does not own: retries, rate limits, order (the scheduler's), which calls may be made (the leader's).
 *
 * Invariants:
 * 1. `call` never rejects, and sends at most one request: no retries, no redirects followed, no throttling.
 * 2. It ends within `timeoutMs` or at once on abort. The connection of a call that was cut is closed, never used again.
 * 3. The token is in no outcome but an `ok` whose result is somebody's own text. Of errors only codes are read;
 *    Telegram's descriptions, and the result of `getFile` (a local server's paths hold the token), are cleaned.
 * 4. Nothing of a call is left behind on the caller's signal.
 */
import { setMaxListeners } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import os from "node:os";
import path from "node:path";
import { Api, type ApiClientOptions, type Transformer } from "grammy";
import type { CallLimits, CallOutcome, TelegramApi } from "../../../services/ports.ts";
import { outcomeOfAnswer, outcomeOfFailure, unanswered } from "./classify.ts";
import { faultOfUpload, fetchFile, withFile } from "./files.ts";
import { watchRequest } from "./watch.ts";

export interface TelegramClientOptions {
  readonly token: string;
  /** Default `https://api.telegram.org`. A trailing slash is dropped. */
  readonly apiRoot?: string;
  /**
   * Makes the connections; a proxy is an agent. Its protocol must be the API root's. By default connections are kept
   * open and closed after 20 s without a call, before the server would.
   */
  readonly agent?: HttpAgent;
  /** Asked when the token may have changed; null = it has not. By default it never does. */
  readonly renew?: () => Promise<string | null>;
  /** Where fetched files are kept. Default: a new folder among the temporary ones, made with the first file. */
  readonly filesFolder?: string;
}

export interface TelegramClient extends TelegramApi {
  /** Closes the connections, those of running calls included. */
  close(): void;
}

const idleMs = 20_000;
const timerMsMax = 2_147_483_647;

/** Throws when `apiRoot` is no http or https address; makes no connection yet. */
export function createTelegramClient(options: TelegramClientOptions): TelegramClient {
  const apiRoot = checkRoot(options.apiRoot ?? "https://api.telegram.org");
  const agent =
    options.agent ??
    (apiRoot.startsWith("https:")
      ? new HttpsAgent({ keepAlive: true, timeout: idleMs })
      : new HttpAgent({ keepAlive: true, timeout: idleMs }));
  let connect = { token: options.token, apiRoot, agent };
  // A call under way, and Telegram's answer to it, may still hold an earlier one.
  const tokens = [options.token];
  let filesFolder: Promise<string> | null = null;
  const folder = (): Promise<string> =>
    (filesFolder ??=
      options.filesFolder === undefined
        ? mkdtemp(path.join(os.tmpdir(), "partyline-files-"))
        : Promise.resolve(options.filesFolder));
  const call = async (method: string, payload: Payload, limits: CallLimits): Promise<CallOutcome> =>
    withoutTokens(await callOnce(connect, { method, payload }, limits), method, tokens);
  return {
    call,
    renewToken: async () => {
      const token = (await options.renew?.()) ?? connect.token;
      if (token === connect.token) return "same";
      connect = { ...connect, token };
      tokens.push(token);
      return "changed";
    },
    upload: async (method, payload, file, limits) => {
      const fault = await faultOfUpload(file);
      return fault === null ? call(method, withFile(payload, file), limits) : { kind: "notSent", reason: fault };
    },
    download: async (fileId, suggestedName, limits) =>
      withoutTokens(await download({ connect, folder }, { fileId, suggestedName }, limits), "download", tokens),
    close: () => agent.destroy(),
  };
}

type Payload = Readonly<Record<string, unknown>>;

async function download(
  at: { readonly connect: Connect; readonly folder: () => Promise<string> },
  file: { readonly fileId: string; readonly suggestedName: string },
  limits: CallLimits,
): Promise<CallOutcome> {
  const { token, apiRoot, agent } = at.connect;
  const signal = AbortSignal.any([limits.signal, AbortSignal.timeout(Math.min(limits.timeoutMs, timerMsMax))]);
  const found = await callOnce(at.connect, { method: "getFile", payload: { file_id: file.fileId } }, limits);
  // Asking where a file lies changes nothing.
  if (found.kind === "ambiguous") return { kind: "notSent", reason: found.reason };
  if (found.kind !== "ok") return found;
  const filePath = pathOf(found.result);
  if (filePath === null) return { kind: "notSent", reason: "Telegram does not say where the file lies" };
  const source = { address: `${apiRoot}/file/bot${token}`, agent, folder: at.folder };
  return fetchFile(source, { filePath, suggestedName: file.suggestedName }, signal);
}

const pathOf = (file: unknown): string | null =>
  typeof file === "object" && file !== null && "file_path" in file && typeof file.file_path === "string"
    ? file.file_path
    : null;

interface Call {
  readonly method: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

interface Connect {
  readonly token: string;
  readonly apiRoot: string;
  readonly agent: HttpAgent;
}

async function callOnce(connect: Connect, what: Call, limits: CallLimits): Promise<CallOutcome> {
  if (limits.signal.aborted) return { kind: "notSent", reason: "aborted before the call" };
  const controller = new AbortController();
  let cut: (reason: string) => void = () => undefined;
  const wasCut = new Promise<CallOutcome>((resolve) => {
    cut = (reason) => {
      // First what is known now, then the end of the connection: from here on no byte leaves.
      resolve(unanswered(reason, watch.facts()));
      controller.abort();
    };
  });
  const watch = watchRequest(connect.agent, () => cut("the connection broke in the middle of the answer"));
  const onAbort = (): void => cut("aborted");
  // Many calls share an instance's signal, each with a listener of its own: more than ten are no leak.
  setMaxListeners(0, limits.signal);
  limits.signal.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(
    () => cut(`no answer within ${limits.timeoutMs} ms`),
    Math.min(limits.timeoutMs, timerMsMax),
  );
  try {
    const answered = request({ ...connect, agent: watch.agent }, what, controller.signal).then(
      (answer) => outcomeOfAnswer(answer, watch.facts()),
      (failure: unknown) => outcomeOfFailure(failure, watch.facts()),
    );
    return await Promise.race([wasCut, answered]);
  } finally {
    clearTimeout(timer);
    limits.signal.removeEventListener("abort", onAbort);
  }
}

/** The answer as Telegram gave it, whatever its shape. Rejects when there was none, or it was no JSON. */
async function request(connect: Connect, what: Call, signal: AbortSignal): Promise<unknown> {
  // An `Api` for each call, which costs microseconds, because the agent is where one request can be watched.
  const api = new Api(connect.token, {
    apiRoot: connect.apiRoot,
    // grammY's own limit stays out of the way: ours ends the call.
    timeoutSeconds: Math.floor(timerMsMax / 1000),
    baseFetchConfig: { compress: true, agent: connect.agent, redirect: "manual" },
  } satisfies ApiClientOptions);
  // A method is a text here, and `raw` treats some of them differently; a transformer gets at the plain call. It wraps
  // the answer as a result, so that a refusal comes back as data instead of a GrammyError.
  const unwrapped = async (prev: AnyCall): Promise<unknown> => ({
    ok: true,
    result: await prev(what.method, what.payload, signal),
  });
  // grammY's types tie the answer to the method's name, which is not known here.
  api.config.use(unwrapped as unknown as Transformer);
  return await api.raw.getMe();
}

type AnyCall = (method: string, payload: object, signal: AbortSignal) => Promise<unknown>;

function withoutTokens(outcome: CallOutcome, method: string, tokens: readonly string[]): CallOutcome {
  const clean = (text: string): string =>
    tokens.reduce((shown, token) => (token === "" ? shown : shown.replaceAll(token, "<redacted-token>")), text);
  switch (outcome.kind) {
    case "ok":
      return method.toLowerCase() === "getfile" ? { kind: "ok", result: cleanPath(outcome.result, clean) } : outcome;
    case "rejected":
    case "throttled":
      return { ...outcome, error: { ...outcome.error, description: clean(outcome.error.description) } };
    default:
      return { ...outcome, reason: clean(outcome.reason) };
  }
}

function cleanPath(file: unknown, clean: (text: string) => string): unknown {
  if (typeof file !== "object" || file === null || !("file_path" in file)) return file;
  return typeof file.file_path === "string" ? { ...file, file_path: clean(file.file_path) } : file;
}

function checkRoot(apiRoot: string): string {
  if (!URL.canParse(apiRoot) || !/^https?:\/\//i.test(apiRoot)) {
    throw new Error("The API root is not an http:// or https:// address, like https://api.telegram.org.");
  }
  return apiRoot.replace(/\/+$/, "");
}
