/**
 * A served address (protocol §2.8, §2.9).
 *
 * Owns: its listener, its connections, its ledger, recovery and close. Does not own: how a path is published
 * (publication.ts), what requests mean (the handler).
 * Invariants:
 *  - recovery binds anew *beside* the old listener and keeps the ledger and every open connection (O-18): answers in
 *    flight arrive, and what ran once does not run again;
 *  - at most `connectionsMax` connections are open; one more is closed unread, and whoever is served does not notice;
 *  - a recovery that failed is tried again by the next `ensure` (O-48);
 *  - after `close` has begun, nothing is published any more (E-3, P-18), and the stable path is left alone (P-17).
 */
import { stat } from "node:fs/promises";
import type net from "node:net";
import path from "node:path";
import type { Endpoint, ListenRequest } from "../../../services/ports.ts";
import { createAnswering, type Answering } from "../wire/answering.ts";
import { isOverflowPath, isPipe, overflowPath, resolvedPath, resolvedPipe } from "./address.ts";
import { codeOf } from "./errors.ts";
import { tapOf } from "./frame-tap.ts";
import { removeLeftovers } from "./leftovers.ts";
import { bindPipe } from "./pipe.ts";
import { bindAndPublish } from "./publication.ts";
import type { Publication, PublicationContext, PublicationRequest } from "./publication.ts";
import { ServedConnection } from "./served-connection.ts";

/** Of one endpoint at a time, also of one that was recovered and keeps those of its old listener. */
const connectionsMax = 1024;

/** What binding says on a drive without sockets, or where the path is longer than this platform can bind. */
const hasNoSockets = (error: unknown): boolean =>
  ["ENOTSUP", "EOPNOTSUPP", "ENAMETOOLONG", "EINVAL"].includes(codeOf(error)) ||
  (codeOf(error) === "EPERM" && error instanceof Error && "syscall" in error && error.syscall === "listen");

export class UnixEndpoint implements Endpoint {
  readonly address: string;
  readonly #publish: ListenRequest["publish"];
  readonly #context: PublicationContext;
  readonly #answering: Answering;
  readonly #connections = new Set<ServedConnection>();
  #publication: Publication | null = null;
  #recovery: Promise<boolean> | null = null;
  #isClosed = false;

  constructor(request: ListenRequest, context: PublicationContext) {
    this.address = request.address;
    this.#publish = request.publish;
    this.#context = context;
    this.#answering = createAnswering({
      handle: request.handle,
      counters: context.counters,
    });
  }

  async start(): Promise<void> {
    const publication = await this.#open();
    this.#publication = publication;
    if (isPipe(publication.stablePath)) return;
    await removeLeftovers(path.dirname(publication.stablePath), this.#context);
  }

  async ensure(): Promise<boolean> {
    if (this.#isClosed || this.#publication === null || isPipe(this.#publication.stablePath)) return false;
    if (this.#recovery === null && (await exists(this.#publication.stablePath))) return false;
    // E-2: whoever comes while one recovery runs shares it.
    this.#recovery ??= this.#recover().finally(() => (this.#recovery = null));
    return this.#recovery;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#answering.clear();
    for (const connection of this.#connections) connection.destroy();
    const server = this.#publication?.server;
    this.#publication = null;
    if (server !== undefined) await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  async #recover(): Promise<boolean> {
    this.#context.counters.count("endpoint-missing");
    const opened = await this.#open().catch((error: unknown) => {
      // Closed meanwhile: that is why nothing was published.
      if (this.#isClosed) return null;
      throw error;
    });
    if (opened === null || this.#isClosed) {
      opened?.server.close();
      return false;
    }
    // Stops accepting; the connections it accepted live on.
    this.#publication?.server.close();
    this.#publication = opened;
    this.#context.counters.count("endpoint-recovered");
    return true;
  }

  async #open(): Promise<Publication> {
    const { tmpFolder, isWindows } = this.#context;
    if (isWindows) return bindPipe(this.#requestAt(resolvedPipe(this.address)), this.#context);
    const first = resolvedPath(this.address, tmpFolder);
    try {
      return await this.#openAt(first);
    } catch (error) {
      if (!hasNoSockets(error) || isOverflowPath(first, tmpFolder)) throw error;
      return this.#openAt(overflowPath(this.address, tmpFolder));
    }
  }

  async #openAt(stablePath: string): Promise<Publication> {
    return bindAndPublish(this.#requestAt(stablePath), this.#context);
  }

  #requestAt(stablePath: string): PublicationRequest {
    return {
      stablePath,
      publish: this.#publish,
      isWanted: () => !this.#isClosed,
      onConnection: (socket) => this.#serve(socket),
    };
  }

  #serve(socket: net.Socket): void {
    if (this.#isClosed) {
      socket.destroy();
      return;
    }
    const { clock, counters, tap } = this.#context;
    if (this.#connections.size >= connectionsMax) {
      counters.count("connection-excess");
      socket.destroy();
      return;
    }
    const connection = new ServedConnection(socket, {
      answering: this.#answering,
      counters,
      timers: clock,
      tap: tapOf(tap, this.address, "server"),
    });
    this.#connections.add(connection);
    void connection.closed.then(() => this.#connections.delete(connection));
  }
}

/** Whether the path leads to something, links followed (E-1: existence, not identity). */
async function exists(target: string): Promise<boolean> {
  try {
    await stat(target);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}
