/**
 * The chat page's files, served at `/`.
 *
 * Owns: which files there are, their types and security headers. Does not own: the page itself (page/).
 * Invariants: only the listed files are served; the page may load nothing from anywhere else.
 * The folder is `page/` beside this source file, or `emulator-page/` beside the bundled one.
 */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { refusalReason } from "./control-routes.ts";
import { sendText } from "./http-io.ts";

const FILES: ReadonlyMap<string, { readonly file: string; readonly type: string }> = new Map([
  ["/", { file: "index.html", type: "text/html; charset=utf-8" }],
  ["/base.css", { file: "base.css", type: "text/css; charset=utf-8" }],
  ["/messages.css", { file: "messages.css", type: "text/css; charset=utf-8" }],
  ["/chat.css", { file: "chat.css", type: "text/css; charset=utf-8" }],
  ["/chat.js", { file: "chat.js", type: "text/javascript; charset=utf-8" }],
  ["/model.js", { file: "model.js", type: "text/javascript; charset=utf-8" }],
  ["/view.js", { file: "view.js", type: "text/javascript; charset=utf-8" }],
]);

const HEADERS = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'",
  "Cache-Control": "no-store",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};

function pageFile(name: string): URL {
  const candidates = ["./page/", "./emulator-page/"].map((folder) => new URL(folder + name, import.meta.url));
  const found = candidates.find((url) => existsSync(fileURLToPath(url)));
  if (found === undefined) throw new Error(`the emulator's page file ${name} is missing from this installation`);
  return found;
}

/** Answers a request for the page; false when the path is none of its files. */
export async function handlePage(request: IncomingMessage, response: ServerResponse, path: string): Promise<boolean> {
  const entry = FILES.get(path);
  if (entry === undefined || (request.method !== "GET" && request.method !== "HEAD")) return false;
  // A link from another page may open this one; its scripts and data may not be read from there.
  const isNavigation = request.headers["sec-fetch-mode"] === "navigate";
  const refused = isNavigation ? null : refusalReason(request);
  if (refused !== null) {
    sendText(response, 403, refused, { "Content-Type": "text/plain; charset=utf-8" });
    return true;
  }
  sendText(response, 200, await readFile(pageFile(entry.file)), { "Content-Type": entry.type, ...HEADERS });
  return true;
}
