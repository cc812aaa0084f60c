/**
 * The inspector's server: HTTP and WebSocket on loopback.
 *
 * Owns: the listening socket, admission of connections, their end. Does not own: what is shown (`watch.ts`), the checks
 * themselves (`access.ts`).
 *
 * Invariants:
 * 1. It listens on 127.0.0.1 alone.
 * 2. A request with a foreign Host or Origin gets 403 and nothing else. A connection without the token gets no frame.
 * 3. It is read-only: nothing that a client sends reaches an actor.
 * 4. After `close()` has resolved no connection is left and nothing listens.
 */
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { InspectionEvent } from "xstate";
import { WebSocketServer } from "ws";
import type { RawData, WebSocket } from "ws";
import { isAdmitted, isToken, tokenOfHello } from "./access.ts";
import { Audience } from "./audience.ts";
import { Composer } from "./composer.ts";
import { SafeRedaction } from "./redaction.ts";
import { Watch } from "./watch.ts";
import { welcomePage, welcomePageHeaders } from "./welcome-page.ts";

const livePath = "/live";
const helloTimeoutMs = 5_000;
const closeGraceMs = 500;
const clientsMax = 32;
const messageBytesMax = 16_384;
const defaultRingMax = 1_000;
const closeCodes = { goingAway: 1001, tryLater: 1013, unauthorised: 4401 } as const;

export interface InspectorOptions {
  /** Default 0: any free port. */
  readonly port?: number;
  /** Loopback only. Default `127.0.0.1`. */
  readonly host?: "127.0.0.1";
  /**
   * Makes a copy that may be shown: of contexts, events, outputs, errors, charts, ids. Called only while a client is
   * attached, in the middle of a transition: synchronous and quick. When it throws, a note is shown instead.
   */
  readonly redact: (value: unknown) => unknown;
  /** Root actors remembered for clients that attach later; 1 or more. Default 1000. */
  readonly ringMax?: number;
  /** Wall clock, milliseconds since the Unix epoch. Without it frames carry no `atMs`. */
  readonly nowMs?: () => number;
}

/** Totals since the start. */
export interface InspectorCounts {
  /** Inspection events seen. */
  readonly observed: number;
  /** Live frames made. */
  readonly frames: number;
  /** Frames that a client did not get, added up over clients. */
  readonly dropped: number;
  /** Messages of attached clients: they are not acted on. */
  readonly ignored: number;
  /** Requests and connections turned away. */
  readonly refused: number;
  /** Times that the redactor, or the inspector itself, failed. */
  readonly failures: number;
}

export interface Inspector {
  /** `http://127.0.0.1:PORT/`. The WebSocket is at `live` below it. */
  readonly url: string;
  /** Opens the WebSocket. Made for this inspector; a secret, as powerful as the right to see what it shows. */
  readonly token: string;
  /** For the `inspect` option of `createActor` (bound: it can be passed on as it is). Never throws. */
  readonly observe: (event: InspectionEvent) => void;
  /** Clients attached now. */
  readonly attached: number;
  readonly counts: InspectorCounts;
  /** Closes all connections and stops listening. May be called again. Actors may go on calling `observe`. */
  close(): Promise<void>;
}

/**
 * Starts an inspector; resolves when it listens, rejects when it cannot (the port is taken). It keeps the process alive
 * until it is closed.
 */
export async function startInspector(options: InspectorOptions): Promise<Inspector> {
  const { port = 0, host = "127.0.0.1", ringMax = defaultRingMax } = options;
  const asked: string = host;
  // The type forbids it, and not every caller has types.
  if (asked !== "127.0.0.1") throw new Error(`the inspector listens on 127.0.0.1 only, not on ${asked}`);
  if (!Number.isSafeInteger(ringMax) || ringMax < 1) throw new Error("ringMax must be a positive integer");
  const redaction = new SafeRedaction(options.redact);
  const composer = new Composer(redaction);
  const audience = new Audience({ composer, nowMs: options.nowMs });
  const watch = new Watch({ composer, audience, rootsMax: ringMax });
  const server = new InspectorServer(watch, audience);
  const boundPort = await server.listen(port, host);
  return {
    url: `http://${host}:${boundPort}/`,
    token: server.token,
    observe: (event) => watch.observe(event),
    get attached() {
      return audience.size;
    },
    get counts() {
      return {
        observed: watch.observed,
        frames: audience.frames,
        dropped: audience.dropped,
        ignored: server.ignored,
        refused: server.refused,
        failures: watch.failures + redaction.failures + server.failures,
      };
    },
    close: () => server.close(),
  };
}

class InspectorServer {
  readonly token = randomBytes(32).toString("base64url");
  ignored = 0;
  refused = 0;
  failures = 0;
  readonly #watch: Watch;
  readonly #audience: Audience;
  readonly #http: Server;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: messageBytesMax,
    perMessageDeflate: false,
  });
  #port = 0;
  #closed: Promise<void> | undefined;

  constructor(watch: Watch, audience: Audience) {
    this.#watch = watch;
    this.#audience = audience;
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
    } else if (pathOf(request) !== "/") {
      response.writeHead(404, { ...welcomePageHeaders, "Content-Length": 0 }).end();
    } else if (request.method !== "GET" && request.method !== "HEAD") {
      response.writeHead(405, { ...welcomePageHeaders, Allow: "GET, HEAD", "Content-Length": 0 }).end();
    } else {
      response.writeHead(200, welcomePageHeaders).end(request.method === "GET" ? welcomePage : undefined);
    }
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // The other side may go while it is being refused; Node closes the socket by itself.
    socket.on("error", () => socket.destroy());
    if (!isAdmitted(request, this.#port)) {
      this.refused += 1;
      refuseUpgrade(socket, "403 Forbidden");
    } else if (pathOf(request) !== livePath || this.#closed !== undefined) {
      refuseUpgrade(socket, "404 Not Found");
    } else {
      this.#sockets.handleUpgrade(request, socket, head, (client) => this.#welcome(client, queryToken(request)));
    }
  }

  #welcome(socket: WebSocket, token: string | null): void {
    // ws closes the socket after an error (a broken frame, a message too long): `close` does what is to be done.
    socket.on("error", () => socket.terminate());
    if (this.#sockets.clients.size > clientsMax) {
      this.#refuse(socket, closeCodes.tryLater, `at most ${clientsMax} clients`);
    } else if (token === null) {
      this.#awaitHello(socket);
    } else if (isToken(token, this.token)) {
      this.#attach(socket);
    } else {
      this.#refuse(socket, closeCodes.unauthorised, "wrong token");
    }
  }

  #awaitHello(socket: WebSocket): void {
    const late = setTimeout(() => this.#refuse(socket, closeCodes.unauthorised, "no hello in time"), helloTimeoutMs);
    late.unref();
    socket.once("close", () => clearTimeout(late));
    socket.once("message", (data: RawData, isBinary: boolean) => {
      clearTimeout(late);
      if (!isBinary && isToken(tokenOfHello(textOf(data)), this.token)) this.#attach(socket);
      else this.#refuse(socket, closeCodes.unauthorised, "the first message must be a hello with the token");
    });
  }

  #attach(socket: WebSocket): void {
    // It may have been told to go while its hello was under way.
    if (socket.readyState !== socket.OPEN) return;
    socket.on("message", () => (this.ignored += 1));
    socket.once("close", () => this.#audience.detach(socket));
    this.#watch.attach(socket);
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
