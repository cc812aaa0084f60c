/**
 * HTTP and WebSocket on loopback: the page, its live connection, and the two bridges.
 *
 * Owns: the listening socket, admission of connections, their end. Does not own: what is shown (a `Feed`), the checks
 * themselves (`access.ts`), the page (`page/`).
 *
 * Invariants:
 * 1. It listens on 127.0.0.1 alone.
 * 2. A request with a foreign Host or Origin gets 403 and nothing else. A connection without the token gets no frame.
 * 3. Unless sending was allowed, nothing that a client sends reaches an actor.
 * 4. After `close()` has resolved no connection is left and nothing listens.
 */
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import type { RawData, WebSocket } from "ws";
import { isAdmitted, isToken, readHello, readSend } from "./access.ts";
import type { Presented } from "./access.ts";
import { StatelyOutlet } from "./bridges/stately.ts";
import { V4Outlet } from "./bridges/v4.ts";
import { wholeWish } from "./client.ts";
import type { Wish } from "./client.ts";
import { protocolName, protocolVersion } from "./frames.ts";
import type { SendRequest, ServerBody } from "./frames.ts";
import { BatchingOutlet, webSocketOutlet } from "./outlet.ts";
import type { Outlet } from "./outlet.ts";
import { answerPage, pageHeaders } from "./page-files.ts";

const helloTimeoutMs = 5_000;
const closeGraceMs = 500;
const clientsMax = 32;
const messageBytesMax = 65_536;
const closeCodes = { goingAway: 1001, tryLater: 1013, unauthorised: 4401 } as const;

/** Where frames come from. */
export interface Feed {
  attach(outlet: Outlet, wish: Wish): void;
  detach(outlet: Outlet): void;
  /** Carries out what a viewer asked for; called only when sending was allowed. */
  send(request: SendRequest): void;
}

/** What stands in a client's place behind each path. */
const bridges: Readonly<Record<string, (outlet: Outlet) => Outlet>> = {
  "/live": (outlet) => outlet,
  "/stately": (outlet) => new StatelyOutlet(outlet),
  "/v4": (outlet) => new V4Outlet(outlet),
};

export interface WebServerParts {
  readonly feed: Feed;
  /** What a batching client is told first. */
  readonly about: Omit<ServerBody, "kind">;
}

export class WebServer {
  readonly token = randomBytes(32).toString("base64url");
  ignored = 0;
  refused = 0;
  failures = 0;
  readonly #feed: Feed;
  readonly #about: Omit<ServerBody, "kind">;
  readonly #http: Server;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: messageBytesMax,
    perMessageDeflate: false,
  });
  #port = 0;
  #closed: Promise<void> | undefined;

  constructor({ feed, about }: WebServerParts) {
    this.#feed = feed;
    this.#about = about;
    this.#http = createServer((request, response) => this.#answer(request, response));
    this.#http.on("upgrade", (request, socket, head) => this.#upgrade(request, socket, head));
  }

  listen(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#http.once("error", reject);
      this.#http.listen(port, host, () => {
        this.#http.off("error", reject);
        // A listener that can accept no more (out of descriptors) says so here; the runtime does not fall with it.
        this.#http.on("error", () => (this.failures += 1));
        // A TCP server's address is an object.
        this.#port = (this.#http.address() as AddressInfo).port;
        resolve(this.#port);
      });
    });
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const stopped = new Promise<void>((resolve) => this.#http.close(() => resolve()));
    const sockets = [...this.#sockets.clients];
    const gone = sockets.map((socket) => new Promise<void>((resolve) => socket.once("close", () => resolve())));
    for (const socket of sockets) socket.close(closeCodes.goingAway, "the inspector was closed");
    const impatient = setTimeout(() => {
      for (const socket of sockets) socket.terminate();
    }, closeGraceMs);
    await Promise.all(gone);
    clearTimeout(impatient);
    this.#http.closeAllConnections();
    await stopped;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    if (!isAdmitted(request, this.#port)) {
      this.refused += 1;
      response.writeHead(403, { "Content-Length": 0, Connection: "close" }).end();
    } else if (request.method !== "GET" && request.method !== "HEAD") {
      response.writeHead(405, { ...pageHeaders(this.#port), Allow: "GET, HEAD", "Content-Length": 0 }).end();
    } else {
      answerPage(request, response, { path: pathOf(request), port: this.#port });
    }
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // The other side may go while it is being refused; Node closes the socket by itself.
    socket.on("error", () => socket.destroy());
    if (!isAdmitted(request, this.#port)) {
      this.refused += 1;
      refuseUpgrade(socket, "403 Forbidden");
    } else if (bridges[pathOf(request)] === undefined || this.#closed !== undefined) {
      refuseUpgrade(socket, "404 Not Found");
    } else {
      this.#sockets.handleUpgrade(request, socket, head, (client) => this.#welcome(client, request));
    }
  }

  #welcome(socket: WebSocket, request: IncomingMessage): void {
    const path = pathOf(request);
    const token = queryToken(request);
    // ws closes the socket after an error (a broken frame, a message too long): `close` does what is to be done.
    socket.on("error", () => socket.terminate());
    if (this.#sockets.clients.size > clientsMax) {
      this.#refuse(socket, closeCodes.tryLater, `at most ${clientsMax} clients`);
    } else if (token === null) {
      this.#awaitHello(socket, path);
    } else if (isToken(token, this.token)) {
      this.#attach(socket, path, null);
    } else {
      this.#refuse(socket, closeCodes.unauthorised, "wrong token");
    }
  }

  #awaitHello(socket: WebSocket, path: string): void {
    const late = setTimeout(() => this.#refuse(socket, closeCodes.unauthorised, "no hello in time"), helloTimeoutMs);
    late.unref();
    socket.once("close", () => clearTimeout(late));
    socket.once("message", (data: RawData, isBinary: boolean) => {
      clearTimeout(late);
      const hello = isBinary ? null : readHello(textOf(data));
      if (hello !== null && isToken(hello.token, this.token)) this.#attach(socket, path, hello);
      else this.#refuse(socket, closeCodes.unauthorised, "the first message must be a hello with the token");
    });
  }

  #attach(socket: WebSocket, path: string, hello: Presented | null): void {
    // It may have been told to go while its hello was under way.
    if (socket.readyState !== socket.OPEN) return;
    const plain = webSocketOutlet(socket);
    const bridge = bridges[path];
    const isBatching = hello?.batch === true && path === "/live";
    const outlet = isBatching ? new BatchingOutlet(plain) : (bridge?.(plain) ?? plain);
    socket.on("message", (data: RawData, isBinary: boolean) => this.#hear(isBinary ? "" : textOf(data)));
    socket.once("close", () => this.#feed.detach(outlet));
    if (isBatching) plain.send(JSON.stringify(this.#aboutFrame()), () => undefined);
    this.#feed.attach(outlet, hello?.wish ?? wholeWish);
  }

  #hear(text: string): void {
    const request = this.#about.maySend ? readSend(text) : null;
    if (request === null) this.ignored += 1;
    else this.#feed.send(request);
  }

  #aboutFrame() {
    return { protocol: protocolName, version: protocolVersion, seq: 0, kind: "server", ...this.#about };
  }

  #refuse(socket: WebSocket, code: number, reason: string): void {
    this.refused += 1;
    socket.close(code, reason);
  }
}

/** The other side need not close its half: waiting for it would keep `close()` waiting. */
const refuseUpgrade = (socket: Duplex, status: string): void => {
  socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`, () => socket.destroy());
};

const pathOf = (request: IncomingMessage): string => (request.url ?? "/").replace(/\?.*$/s, "");

const queryToken = (request: IncomingMessage): string | null =>
  new URLSearchParams((request.url ?? "").replace(/^[^?]*\??/, "")).get("token");

/** With ws's default `binaryType` a message is one Buffer; the others are for the types. */
function textOf(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString("utf8");
  return Buffer.isBuffer(data) ? data.toString("utf8") : Buffer.from(data).toString("utf8");
}
