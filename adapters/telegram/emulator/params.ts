/**
 * The arguments of one Bot API call, however they were encoded.
 *
 * Owns: reading query string, JSON, urlencoded and multipart bodies into one bag, and typed access to it. Does not own:
 * what a method does with a value, nor HTTP.
 * Invariant: `record` holds every argument as the caller gave it (JSON text in form fields is parsed on access).
 */
import { badRequest, TelegramError } from "./errors.ts";
import { boundaryOf, parseMultipart, type UploadedFile } from "./multipart.ts";

export type JsonRecord = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Parses JSON text; undefined when it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    // JSON.parse is typed `any`; `unknown` is the honest type.
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export class Params {
  readonly record: JsonRecord;
  readonly files: readonly UploadedFile[];
  /** What the files hold, by SHA-256. */
  readonly contents: ReadonlyMap<string, Buffer>;

  constructor(record: JsonRecord, form: Pick<Params, "files" | "contents"> = { files: [], contents: new Map() }) {
    this.record = record;
    this.files = form.files;
    this.contents = form.contents;
  }

  has(name: string): boolean {
    return this.record[name] !== undefined && this.record[name] !== null && this.record[name] !== "";
  }

  text(name: string): string {
    const value = this.record[name];
    if (typeof value === "string") return value;
    return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
  }

  /** An integer, or undefined when the argument is missing or is not one (Telegram then uses its default). */
  integer(name: string): number | undefined {
    if (!this.has(name)) return undefined;
    const value = Number(this.text(name));
    return Number.isInteger(value) ? value : undefined;
  }

  flag(name: string): boolean {
    return ["true", "True", "yes", "1"].includes(this.text(name));
  }

  /** A structured argument: given as JSON, or as JSON text in a form. Undefined when missing or malformed. */
  json(name: string): unknown {
    const value = this.record[name];
    return typeof value === "string" ? parseJson(value) : value;
  }

  object(name: string): JsonRecord | undefined {
    const value = this.json(name);
    return isRecord(value) ? value : undefined;
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.json(name);
    return Array.isArray(value) ? value : undefined;
  }
}

/** Throws a 400 when the body is not what its content type says. */
export function readParams(query: URLSearchParams, contentType: string, body: Buffer): Params {
  const fromQuery = Object.fromEntries(query);
  if (body.length === 0) return new Params(fromQuery);
  if (contentType.includes("application/json")) {
    const parsed = parseJson(body.toString("utf8"));
    if (!isRecord(parsed)) throw badRequest("can't parse JSON object");
    return new Params({ ...fromQuery, ...parsed });
  }
  if (contentType.includes("multipart/form-data")) {
    const boundary = boundaryOf(contentType);
    const form = boundary === null ? null : parseMultipart(body, boundary);
    if (form === null) throw new TelegramError(400, "Bad Request: can't parse multipart form data");
    return new Params({ ...fromQuery, ...form.fields }, form);
  }
  const fields = Object.fromEntries(new URLSearchParams(body.toString("utf8")));
  return new Params({ ...fromQuery, ...fields });
}
