/**
 * multipart/form-data, as the Bot API takes it.
 *
 * Owns: splitting a whole body into text fields and files. Does not own: size limits (request.ts caps the body).
 * Invariant: a file is its name, type, size and SHA-256; its content goes to whoever takes the form, and nowhere else.
 * Source: RFC 7578.
 */
import { createHash } from "node:crypto";

export interface UploadedFile {
  readonly field: string;
  readonly name: string;
  readonly contentType: string;
  readonly size: number;
  readonly sha256: string;
}

export interface MultipartForm {
  readonly fields: Record<string, string>;
  readonly files: UploadedFile[];
  /** By SHA-256. */
  readonly contents: Map<string, Buffer>;
}

const CRLF = Buffer.from("\r\n");
const HEADERS_END = Buffer.from("\r\n\r\n");

/** The boundary of a multipart content type, or null when it names none. */
export function boundaryOf(contentType: string): string | null {
  const match = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType);
  return match?.[1] ?? match?.[2] ?? null;
}

/** Returns null when the body does not have the shape its content type promises. */
export function parseMultipart(body: Buffer, boundary: string): MultipartForm | null {
  const form: MultipartForm = { fields: {}, files: [], contents: new Map() };
  const delimiter = Buffer.from(`--${boundary}`);
  let at = body.indexOf(delimiter);
  while (at !== -1) {
    const partStart = at + delimiter.length;
    if (body.subarray(partStart, partStart + 2).toString("latin1") === "--") return form;
    const next = body.indexOf(Buffer.concat([CRLF, delimiter]), partStart);
    if (next === -1) return null;
    addPart(form, body.subarray(partStart + CRLF.length, next));
    at = next + CRLF.length;
  }
  return null;
}

function addPart(form: MultipartForm, part: Buffer): void {
  const split = part.indexOf(HEADERS_END);
  if (split === -1) return;
  const headers = part.subarray(0, split).toString("utf8");
  const content = part.subarray(split + HEADERS_END.length);
  const field = dispositionField(headers, "name");
  if (field === undefined) return;
  const name = dispositionField(headers, "filename");
  if (name === undefined) {
    form.fields[field] = content.toString("utf8");
    return;
  }
  const sha256 = createHash("sha256").update(content).digest("hex");
  const contentType = /content-type:\s*([^\r\n]+)/i.exec(headers)?.[1] ?? "application/octet-stream";
  form.contents.set(sha256, content);
  form.files.push({ field, name, contentType, size: content.length, sha256 });
}

/** Quoted or, as some clients write file names, bare. */
function dispositionField(headers: string, name: string): string | undefined {
  const match = new RegExp(`;\\s*${name}=(?:"([^"]*)"|([^;\\r\\n]*))`, "i").exec(headers);
  return match?.[1] ?? match?.[2];
}
