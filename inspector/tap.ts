/**
 * An instance's tap: where another process of the same user may watch its charts.
 *
 * Owns: the listening socket on loopback, who may attach, lines in and out. Does not own: frames (`watch.ts`), the
 * announcement (`announcements.ts`), pages.
 *
 * A client's first line is a `hello` with the tap's token; then it gets one frame a line. Later lines may be
 * `{"type":"again"}` (how everything stands, once more), `send`, or `{"type":"flight"}` (what the flight recorder holds).
 *
 * Invariants:
 * 1. It listens on 127.0.0.1 alone, and keeps no process alive.
 * 2. Without the token a connection gets no byte. A line that is too long, or no hello in time, ends it.
 * 3. With no client attached nothing is serialised.
 */
import { randomBytes } from "node:crypto";
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import type { InspectionEvent } from "xstate";
import { isToken, parsed, readHello, readSend } from "./access.ts";
import { Audience } from "./audience.ts";
import { Budget, shareDefault } from "./budget.ts";
import { wholeWish } from "./client.ts";
import { Composer } from "./composer.ts";
import { FlightRecorder } from "./flight.ts";
import type { MessageBody } from "./frames.ts";
import { BatchingOutlet, lineOutlet } from "./outlet.ts";
import { SafeRedaction } from "./redaction.ts";
import { Watch } from "./watch.ts";

const clientsMax = 16;
const lineCharsMax = 65_536;
const helloTimeoutMs = 5_000;
const rootsMax = 10_000;

export interface TapOptions {
  readonly redact: (value: unknown) => unknown;
  readonly nowMs: () => number;
  readonly stopwatchMs: () => number;
  /** Size of the flight recorder in megabytes; 0 = none, and then nothing is serialised without a client. */
  readonly flightMb: number;
}

export interface Tap {
  readonly port: number;
  readonly token: string;
  readonly observe: (event: InspectionEvent) => void;
  readonly message: (message: Omit<MessageBody, "kind">) => void;
  /** Null: there is none. */
  readonly flight: FlightRecorder | null;
  close(): void;
}

/** Resolves when it listens; rejects when it cannot. */
export async function openTap(options: TapOptions): Promise<Tap> {
  const composer = new Composer(new SafeRedaction(options.redact));
  const audience = new Audience({ composer, nowMs: options.nowMs });
  const watch = new Watch({ composer, audience, rootsMax, budget: new Budget(options.stopwatchMs, shareDefault) });
  const flight =
    options.flightMb > 0 ? new FlightRecorder(options.flightMb * 1_048_576, watch, () => options.nowMs()) : null;
  const server = new TapServer(watch, flight);
  const port = await server.listen();
  return {
    port,
    token: server.token,
    observe: (event) => watch.observe(event),
    message: (message) => watch.message(message),
    flight,
    close: () => server.close(),
  };
}

class TapServer {
  readonly token = randomBytes(32).toString("base64url");
  readonly #watch: Watch;
  readonly #flight: FlightRecorder | null;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(watch: Watch, flight: FlightRecorder | null) {
    this.#watch = watch;
    this.#flight = flight;
    this.#server = createServer((socket) => this.#welcome(socket));
    this.#server.maxConnections = clientsMax;
  }

  listen(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(0, "127.0.0.1", () => {
        this.#server.off("error", reject);
        // Out of descriptors: whoever wanted to watch cannot; the instance does not fall with it.
        this.#server.on("error", () => undefined);
        this.#server.unref();
        // A TCP server's address is an object.
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #welcome(socket: Socket): void {
    socket.unref();
    this.#sockets.add(socket);
    const outlet = new BatchingOutlet(lineOutlet(socket));
    const late = setTimeout(() => socket.destroy(), helloTimeoutMs).unref();
    let isKnown = false;
    socket.on("error", () => socket.destroy());
    socket.once("close", () => {
      clearTimeout(late);
      this.#sockets.delete(socket);
      this.#watch.detach(outlet);
    });
    onLines(socket, (line) => {
      if (isKnown) {
        this.#hear(line, outlet);
        return;
      }
      const hello = readHello(line);
      if (hello === null || !isToken(hello.token, this.token)) {
        socket.destroy();
        return;
      }
      isKnown = true;
      clearTimeout(late);
      this.#watch.attach(outlet, hello.wish);
    });
  }

  #hear(line: string, outlet: BatchingOutlet): void {
    const type = parsed(line)?.["type"];
    if (type === "again") this.#watch.attach(outlet, wholeWish);
    else if (type === "flight") this.#sendFlight(outlet);
    else if (type === "send") {
      const request = readSend(line);
      if (request !== null) this.#watch.send(request.session, request.event);
    }
  }

  #sendFlight(outlet: BatchingOutlet): void {
    for (const text of this.#flight?.lines() ?? []) outlet.send(text, () => undefined);
    outlet.send(JSON.stringify({ kind: "flight-end" }), () => undefined);
  }
}

/** Calls back for each line; a line that is too long ends the connection. */
export function onLines(socket: Socket, take: (line: string) => void, charsMax = lineCharsMax): void {
  let rest = "";
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > charsMax) socket.destroy();
    else for (const line of lines) if (!socket.destroyed) take(line);
  });
}
