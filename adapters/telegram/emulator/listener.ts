/**
 * The listening socket and its connections.
 *
 * Owns: the server, connection numbers, being away for a while. Does not own: requests.
 * Invariants: after `stop()` resolves no connection is left and nothing listens; an absence ends on the same port.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { CancelTimer, EmulatorClock } from "./clock.ts";

export interface IncomingRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Counts connections from 1. */
  readonly connectionId: number;
}

const KEEP_ALIVE_MS = 75_000;

export class Listener {
  readonly #host: string;
  readonly #clock: EmulatorClock;
  readonly #sockets = new Set<Socket>();
  readonly #connectionIds = new WeakMap<Socket, number>();
  #server: Server | undefined;
  #port = 0;
  #nextConnectionId = 1;
  #cancelReturn: CancelTimer | undefined;
  #stopped = false;

  constructor(host: string, clock: EmulatorClock) {
    this.#host = host;
    this.#clock = clock;
  }

  /** Resolves with the port. */
  start(port: number, onRequest: (incoming: IncomingRequest) => void): Promise<number> {
    const server = createServer((request, response) => {
      onRequest({ request, response, connectionId: this.#connectionIds.get(request.socket) ?? 0 });
    });
    // Longer than clients keep idle connections, so that none is closed under a request being sent.
    server.keepAliveTimeout = KEEP_ALIVE_MS;
    server.on("connection", (socket) => {
      this.#sockets.add(socket);
      this.#connectionIds.set(socket, this.#nextConnectionId);
      this.#nextConnectionId += 1;
      socket.once("close", () => this.#sockets.delete(socket));
    });
    this.#server = server;
    return this.#listen(server, port);
  }

  refuse(ms: number): void {
    const server = this.#server;
    if (server === undefined || this.#stopped) return;
    this.#cancelReturn?.();
    this.#drop(server);
    this.#cancelReturn = this.#clock.setTimer(() => {
      this.#cancelReturn = undefined;
      this.#listen(server, this.#port).catch((error: unknown) => {
        process.emitWarning(`The emulator could not listen again on port ${String(this.#port)}: ${String(error)}`);
      });
    }, ms);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelReturn?.();
    const server = this.#server;
    if (server === undefined || !server.listening) return;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of this.#sockets) socket.destroy();
    });
  }

  #drop(server: Server): void {
    if (server.listening) server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #listen(server: Server, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const onError = (error: Error): void => reject(error);
      server.once("error", onError);
      server.listen(port, this.#host, () => {
        server.off("error", onError);
        // A TCP server's address is an object.
        this.#port = (server.address() as AddressInfo).port;
        resolve(this.#port);
      });
    });
  }
}
