/**
 * What a browser gets at `/`: which program listens here, and how to connect.
 *
 * Owns: the text and its headers. Does not own: the viewer.
 * Invariants: the page is the same for everybody (no token, no data), and may load and run nothing.
 */
import { protocolName, protocolVersion } from "./frames.ts";

export const welcomePageHeaders = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "Cache-Control": "no-store",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
} as const;

export const welcomePage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Partyline inspector</title>
<h1>Partyline inspector</h1>
<p>This server shows the running statecharts of a Partyline process, read-only and with secrets removed.</p>
<p>To watch, open a WebSocket at <code>/live</code> on this address and send
<code>{"type":"hello","token":"TOKEN"}</code> as the first message, or connect to <code>/live?token=TOKEN</code>.
The process that started the inspector knows the token. Each message you receive is one JSON frame of the protocol
<code>${protocolName}</code>, version ${protocolVersion}; the first one is <code>welcome</code>.</p>
</html>
`;
