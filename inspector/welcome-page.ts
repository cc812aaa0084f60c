/**
 * What a browser gets at `/` where the page was not built: which program listens here, and how to connect.
 *
 * Owns: the text. Does not own: the viewer.
 * Invariants: it is the same for everybody: no token, no data.
 */
import { protocolName, protocolVersion } from "./frames.ts";

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
