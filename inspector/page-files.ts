/**
 * The page's files, served at `/`.
 *
 * Owns: which files there are, their types, compression and security headers. Does not own: the page itself (`page/`).
 *
 * Invariants: only files that lie in the built page's folder are served, by exact name; the page may load nothing from
 * anywhere else; no file holds a token or data, so all are the same for everybody.
 * The folder is `inspector-page/` beside the bundled file, or `../dist/inspector-page/` seen from this source file.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { welcomePage } from "./welcome-page.ts";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
};

interface PageFile {
  readonly type: string;
  readonly plain: Buffer;
  readonly gzipped: Buffer;
}

export const pageHeaders = (port: number): Readonly<Record<string, string>> => ({
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; worker-src 'self'; img-src 'self' data: blob:; " +
    `connect-src 'self' ws://127.0.0.1:${port} ws://localhost:${port}; ` +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "Cache-Control": "no-store",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
});

let known: ReadonlyMap<string, () => PageFile> | undefined;

/** Paths of all files, each read once, when it is first asked for. */
function files(): ReadonlyMap<string, () => PageFile> {
  known ??= listFiles();
  return known;
}

function listFiles(): ReadonlyMap<string, () => PageFile> {
  const folder = ["./inspector-page/", "../dist/inspector-page/"]
    .map((each) => fileURLToPath(new URL(each, import.meta.url)))
    .find((each) => existsSync(path.join(each, "index.html")));
  // A checkout in which nothing was built: the server still says what it is.
  if (folder === undefined) return new Map([["/", () => fileOf(Buffer.from(welcomePage), ".html")]]);
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => name.replaceAll("\\", "/"));
  const listed = names
    .filter((name) => types[path.extname(name)] !== undefined)
    .map(
      (name) => [`/${name}`, once(() => fileOf(readFileSync(path.join(folder, name)), path.extname(name)))] as const,
    );
  const byPath = new Map(listed);
  const index = byPath.get("/index.html");
  if (index !== undefined) byPath.set("/", index);
  return byPath;
}

const fileOf = (plain: Buffer, extension: string): PageFile => ({
  type: types[extension] ?? "application/octet-stream",
  plain,
  gzipped: gzipSync(plain),
});

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}

export function answerPage(
  request: IncomingMessage,
  response: ServerResponse,
  asked: { readonly path: string; readonly port: number },
): void {
  const headers = pageHeaders(asked.port);
  const file = files().get(asked.path)?.();
  if (file === undefined) {
    response.writeHead(404, { ...headers, "Content-Length": 0 }).end();
    return;
  }
  const isGzip = /\bgzip\b/.test(request.headers["accept-encoding"] ?? "");
  const body = isGzip ? file.gzipped : file.plain;
  response
    .writeHead(200, {
      ...headers,
      "Content-Type": file.type,
      "Content-Length": body.length,
      Vary: "Accept-Encoding",
      ...(isGzip ? { "Content-Encoding": "gzip" } : {}),
    })
    .end(request.method === "GET" ? body : undefined);
}
