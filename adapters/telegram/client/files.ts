/**
 * Files of this host that go to Telegram, and files of Telegram's that come here.
 *
 * Owns: putting a file into a call's payload, fetching one, the folder where fetched ones are kept.
 * Does not own: Bot API calls (`index.ts`), which of them may be made.
 *
 * Invariants:
 * 1. A fetched file lies in a folder of its own that only this user can enter, under a name that leads nowhere else.
 * 2. What could not be fetched whole leaves no file behind.
 * 3. The address of a file holds the token; no reason does.
 */
import { randomUUID } from "node:crypto";
import { constants, createWriteStream } from "node:fs";
import { access, copyFile, mkdir, readdir, rm, stat } from "node:fs/promises";
import { get as httpGet, type Agent, type IncomingMessage } from "node:http";
import { get as httpsGet } from "node:https";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { InputFile } from "grammy";
import type { CallOutcome, UploadFile } from "../../../services/ports.ts";

type Payload = Readonly<Record<string, unknown>>;

/** Files that were fetched are kept this long at least. */
const keepMs = 24 * 60 * 60_000;
const nameBytesMax = 200;

const isRecord = (value: unknown): value is Payload =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A structured field of a form comes as JSON text. */
function readField(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value) as unknown; // typed `any`
  } catch {
    // Text that only looks like JSON is a text.
    return value;
  }
}

/** The payload with the file in every place that refers to it, else in the field that it is named after. */
export function withFile(payload: Payload, { field, path: from, name }: UploadFile): Payload {
  const reference = `attach://${field}`;
  const placed: InputFile[] = [];
  const place = (value: unknown): unknown => {
    if (value === reference) {
      const file = new InputFile(from, name);
      placed.push(file);
      return file;
    }
    if (Array.isArray(value)) return value.map(place);
    return isRecord(value) ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, place(each)])) : value;
  };
  const filled = Object.fromEntries(
    Object.entries(payload).map(([key, value]) => {
      const mayRefer = typeof value !== "string" || value.includes(reference);
      return [key, mayRefer ? place(readField(value)) : value];
    }),
  );
  return placed.length > 0 ? filled : { ...filled, [field]: new InputFile(from, name) };
}

/** Why a file cannot be sent; null when it can. */
export async function faultOfUpload({ path: from, name }: UploadFile): Promise<string | null> {
  if (/[\r\n]/.test(name)) return "a file's name cannot hold a line break";
  try {
    await access(from, constants.R_OK);
    return (await stat(from)).isFile() ? null : "what is to be sent is not a file";
  } catch (error) {
    return `the file to send cannot be read: ${codeOf(error)}`;
  }
}

export interface RemoteFile {
  /** Where Telegram keeps it: relative to the token's own address, or absolute on a server of one's own. */
  readonly filePath: string;
  readonly suggestedName: string;
}

export interface FileSource {
  /** The API root with `/file/bot<token>`. */
  readonly address: string;
  readonly agent: Agent;
  readonly folder: () => Promise<string>;
}

/** Fetches a file; its path is the result. Never rejects, never `ambiguous`. */
export async function fetchFile(source: FileSource, file: RemoteFile, signal: AbortSignal): Promise<CallOutcome> {
  try {
    const folder = await source.folder();
    const own = path.join(folder, randomUUID());
    await mkdir(own, { recursive: true, mode: 0o700 });
    await forgetOld(folder, (await stat(own)).mtimeMs);
    const target = path.join(own, safeName(file));
    const status = await receive(source, file.filePath, { target, signal }).catch(async (error: unknown) => {
      await rm(own, { recursive: true, force: true });
      throw error;
    });
    if (status === null) return { kind: "ok", result: target };
    await rm(own, { recursive: true, force: true });
    return { kind: "rejected", error: { error_code: status, description: `HTTP ${status} for the file` } };
  } catch (error) {
    const reason = signal.aborted ? "the file did not come in time" : `the file could not be fetched: ${codeOf(error)}`;
    return { kind: "notSent", reason };
  }
}

/** Resolves with null once the file is there whole, else with the status that came instead. */
async function receive(
  { address, agent }: FileSource,
  filePath: string,
  to: { readonly target: string; readonly signal: AbortSignal },
): Promise<number | null> {
  if (path.isAbsolute(filePath)) {
    await copyFile(filePath, to.target);
    return null;
  }
  const url = new URL(`${address}/${filePath.split("/").map(encodeURIComponent).join("/")}`);
  const get = url.protocol === "https:" ? httpsGet : httpGet;
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { agent, signal: to.signal }, resolve).once("error", reject);
  });
  if (answer.statusCode !== 200) {
    answer.destroy();
    return answer.statusCode ?? 0;
  }
  await pipeline(answer, createWriteStream(to.target, { mode: 0o600, flags: "wx" }), { signal: to.signal });
  return null;
}

/** A plain name: what was suggested, else what Telegram calls it, without anything that leads to another folder. */
function safeName({ suggestedName, filePath }: RemoteFile): string {
  const names = [suggestedName, filePath].map((name) =>
    (name.split(/[/\\]/).at(-1) ?? "").replaceAll(/[\p{Cc}<>:"|?*]/gu, "_").replace(/^\.+/, ""),
  );
  const name = names.find((each) => each.trim() !== "") ?? "file";
  return Buffer.from(name).subarray(0, nameBytesMax).toString("utf8").replaceAll("\uFFFD", "");
}

/** Fetched files are for whoever asked, right away: the old ones go. */
async function forgetOld(folder: string, nowMs: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const each = path.join(folder, name);
    // Another process may have removed it meanwhile.
    const changedMs = await stat(each).then(
      (found) => found.mtimeMs,
      () => Number.POSITIVE_INFINITY,
    );
    if (changedMs < nowMs - keepMs) await rm(each, { recursive: true, force: true });
  }
}

/** The system's code: messages may hold an address, and so the token. */
const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "an unknown fault";
