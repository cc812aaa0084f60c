/**
 * What transport tests share: a unix transport in a folder of its own, raw peers, gates.
 *
 * Owns: the temporary folders and everything opened through it; `dispose` closes and removes them.
 */
import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { vi } from "vitest";
import { createUnixTransport } from "../../../../adapters/transport/unix/transport.ts";
import { resolvedPath } from "../../../../adapters/transport/unix/address.ts";
import type { TransportCount, TransportCounters } from "../../../../adapters/transport/wire/counters.ts";
import type { Endpoint, Link, RequestHandler, Transport } from "../../../../services/ports.ts";
import { okAck } from "./envelopes.ts";
import { ManualClock } from "./manual-clock.ts";

export class Counts implements TransportCounters {
  readonly of: Partial<Record<TransportCount, number>> = {};

  count(reason: TransportCount): void {
    this.of[reason] = (this.of[reason] ?? 0) + 1;
  }
}

export const asOwner = async (commit: () => void): Promise<boolean> => {
  commit();
  return true;
};

export interface Gate<T> {
  readonly promise: Promise<T>;
  open(value: T): void;
}

export function gate<T = void>(): Gate<T> {
  let open: (value: T) => void = () => {};
  const promise = new Promise<T>((resolve) => (open = resolve));
  return { promise, open };
}

export const echo: RequestHandler = async (request) => okAck(request);

/** A peer that writes bytes. */
export class RawPeer {
  readonly socket: net.Socket;
  text = "";
  isClosed = false;

  constructor(socketPath: string) {
    this.socket = net.connect({ path: socketPath, allowHalfOpen: true });
    this.socket.setEncoding("utf8");
    this.socket.on("data", (chunk: string) => (this.text += chunk));
    this.socket.on("error", () => this.socket.destroy());
    this.socket.on("end", () => (this.isClosed = true));
    this.socket.on("close", () => (this.isClosed = true));
  }

  write(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  get lines(): readonly string[] {
    return this.text.split("\n").slice(0, -1);
  }

  async linesWhen(count: number): Promise<readonly string[]> {
    await vi.waitFor(() => {
      if (this.lines.length < count) throw new Error(`${String(this.lines.length)} lines of ${String(count)}`);
    }, waiting);
    return this.lines;
  }
}

/** Generous: a busy machine is slow, a broken transport never answers. */
export const waiting = { timeout: 15_000, interval: 5 };

export class UnixHarness {
  readonly root = mkdtempSync(path.join(os.tmpdir(), "pt-"));
  readonly folder: string;
  readonly tmpFolder: string;
  readonly clock = new ManualClock();
  readonly counts = new Counts();
  readonly transport: Transport;
  readonly #endpoints: Endpoint[] = [];
  readonly #links: Link[] = [];
  readonly #peers: RawPeer[] = [];

  constructor(folderName = "state") {
    this.folder = path.join(this.root, folderName);
    this.tmpFolder = this.root;
    this.transport = this.another();
  }

  /** The transport of another process on the same folder. */
  another(): Transport {
    const { folder, clock, counts: counters, tmpFolder } = this;
    return createUnixTransport({ folder, clock, counters, tmpFolder });
  }

  get leaderPath(): string {
    return resolvedPath(this.transport.leaderAddress, this.tmpFolder);
  }

  async serve(handle: RequestHandler = echo, publish = asOwner, transport = this.transport): Promise<Endpoint> {
    const endpoint = await transport.listen({ address: transport.leaderAddress, handle, publish });
    this.#endpoints.push(endpoint);
    return endpoint;
  }

  async dial(): Promise<Link> {
    const link = await this.transport.dial(this.transport.leaderAddress, 1000);
    this.#links.push(link);
    return link;
  }

  raw(): RawPeer {
    const peer = new RawPeer(this.leaderPath);
    this.#peers.push(peer);
    return peer;
  }

  async dispose(): Promise<void> {
    for (const peer of this.#peers) peer.socket.destroy();
    for (const link of this.#links) link.close();
    for (const endpoint of this.#endpoints) await endpoint.close();
    rmSync(this.root, { recursive: true, force: true });
  }
}
