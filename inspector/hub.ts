/**
 * All instances of a profile on this host, as one feed.
 *
 * Owns: finding instances, attaching to their taps, one bounded ring of everything they tell, the line's state from the
 * store. Does not own: taps (`tap.ts`), the server (`web-server.ts`), reading the store (given).
 *
 * Every frame gets a `from`. A tap's own numbers stay: they are unique within one source.
 *
 * Invariants:
 * 1. The ring has a maximum; a viewer that is slow loses frames and is told, and slows nobody.
 * 2. With `eager: false` it is attached to taps only while somebody views.
 * 3. Nothing is sent to an instance but `hello`, `again` and what `send` was allowed to carry.
 */
import { connect } from "node:net";
import type { Socket } from "node:net";
import type { Announcement } from "./announcements.ts";
import { protocolName, protocolVersion } from "./frames.ts";
import type { FrameBody, SendRequest, SourceBody } from "./frames.ts";
import { BatchingOutlet } from "./outlet.ts";
import type { Outlet } from "./outlet.ts";
import { chartNameIn } from "./recorder.ts";
import { Ring } from "./ring.ts";
import { RingReader } from "./ring-reader.ts";
import { onLines } from "./tap.ts";
import type { Feed } from "./web-server.ts";

const lookEveryMs = 500;
const lineEveryMs = 1_000;
const ringCharsMaxDefault = 24 * 1_048_576;
const frameLineCharsMax = 4 * 1_048_576;

export interface HubOptions {
  readonly find: () => Promise<readonly Announcement[]>;
  /** How the line stands; rejects when the store did not answer. Null: not known here. */
  readonly status: (() => Promise<unknown>) | null;
  readonly nowMs: () => number;
  /** Attach at once and keep what happens, also while nobody views. */
  readonly eager: boolean;
  readonly ringCharsMax?: number;
  readonly onTrouble?: (reason: string) => void;
}

interface Source {
  readonly announcement: Announcement;
  readonly socket: Socket;
  readonly charts: Map<string, string>;
  isAttached: boolean;
}

export class Hub implements Feed {
  readonly #options: HubOptions;
  readonly #sources = new Map<string, Source>();
  readonly #readers = new Map<Outlet, RingReader>();
  readonly #ring: Ring;
  #seq = 0;
  #look: NodeJS.Timeout | undefined;
  #isLooking = false;
  #lineAtMs = 0;
  #isClosed = false;
  #trouble: string | null = null;

  constructor(options: HubOptions) {
    this.#options = options;
    this.#ring = new Ring(options.ringCharsMax ?? ringCharsMaxDefault, () => this.askAgain());
    if (options.eager) this.#begin();
  }

  /** Instances that are attached now. */
  get attached(): readonly Announcement[] {
    return [...this.#sources.values()].filter((each) => each.isAttached).map((each) => each.announcement);
  }

  attach(outlet: Outlet): void {
    this.#begin();
    const reader = new RingReader(this.#ring, outlet, {
      preamble: this.#preamble(),
      isJoining: outlet instanceof BatchingOutlet,
    });
    this.#readers.set(outlet, reader);
    this.#lineAtMs = 0;
    // Whoever comes while things are under way needs to know how they stand, not only how they move.
    this.askAgain();
  }

  detach(outlet: Outlet): void {
    this.#readers.get(outlet)?.close();
    this.#readers.delete(outlet);
    if (this.#readers.size > 0 || this.#options.eager) return;
    clearTimeout(this.#look);
    this.#look = undefined;
    for (const { socket } of this.#sources.values()) socket.destroy();
  }

  send(request: SendRequest): void {
    const source = this.#sources.get(request.from ?? "");
    source?.socket.write(`${JSON.stringify({ type: "send", session: request.session, event: request.event })}\n`);
  }

  /** Asks every instance to tell how it stands. */
  askAgain(): void {
    for (const { socket, isAttached } of this.#sources.values()) if (isAttached) socket.write('{"type":"again"}\n');
  }

  /** Hands a client what is there for it, now. */
  drain(outlet: Outlet): void {
    this.#readers.get(outlet)?.pump();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#look);
    for (const { socket } of this.#sources.values()) socket.destroy();
    for (const reader of this.#readers.values()) reader.close();
  }

  #begin(): void {
    if (this.#look !== undefined || this.#isLooking || this.#isClosed) return;
    void this.#lookAround();
  }

  async #lookAround(): Promise<void> {
    this.#look = undefined;
    this.#isLooking = true;
    try {
      for (const announcement of await this.#options.find())
        if (!this.#sources.has(announcement.instance) && !this.#isClosed) this.#connect(announcement);
      if (await this.#tellLine()) this.#trouble = null;
    } catch (error) {
      this.#tellTrouble(error instanceof Error ? error.message : String(error));
    }
    this.#isLooking = false;
    if (this.#isClosed || (this.#readers.size === 0 && !this.#options.eager)) return;
    this.#look = setTimeout(() => void this.#lookAround(), lookEveryMs);
  }

  /** Once, however often it is looked around in vain; not what a look finds that is under way when all is closed. */
  #tellTrouble(reason: string): void {
    if (this.#isClosed || reason === this.#trouble) return;
    this.#trouble = reason;
    this.#options.onTrouble?.(reason);
  }

  /** False: it was not time to ask. */
  async #tellLine(): Promise<boolean> {
    const { status, nowMs } = this.#options;
    if (status === null) return true;
    if (nowMs() - this.#lineAtMs < lineEveryMs) return false;
    this.#lineAtMs = nowMs();
    this.#tell({ kind: "line", status: await status() });
    return true;
  }

  #connect(announcement: Announcement): void {
    const { instance, port, token } = announcement;
    const socket = connect({ port, host: "127.0.0.1" });
    const source: Source = { announcement, socket, charts: new Map(), isAttached: false };
    this.#sources.set(instance, source);
    socket.once("connect", () => socket.write(`${JSON.stringify({ type: "hello", token })}\n`));
    // Refused: it is gone and has left its announcement behind. `close` follows.
    socket.on("error", () => socket.destroy());
    socket.once("close", () => {
      this.#sources.delete(instance);
      if (source.isAttached && !this.#isClosed)
        this.#tell({ ...sourceBody(announcement, "gone"), reason: "its process ended or it stopped" });
    });
    onLines(
      socket,
      (line) => {
        this.#take(source, line);
      },
      frameLineCharsMax,
    );
  }

  #take(source: Source, line: string): void {
    if (!source.isAttached) {
      source.isAttached = true;
      this.#tell(sourceBody(source.announcement, "attached"));
    }
    const text = `{"from":${JSON.stringify(source.announcement.instance)},${line.slice(1)}`;
    const chart = chartNameIn(text);
    if (chart !== null) source.charts.set(chart, text);
    this.#add(text);
  }

  #tell(body: FrameBody): void {
    this.#seq += 1;
    const head = { protocol: protocolName, version: protocolVersion, seq: this.#seq, atMs: this.#options.nowMs() };
    this.#add(JSON.stringify({ ...head, ...body }));
  }

  #add(text: string): void {
    this.#ring.add(text);
    for (const reader of this.#readers.values()) reader.wake();
  }

  /** What may have left the ring: who is there, and their charts. */
  #preamble(): string[] {
    const head = { protocol: protocolName, version: protocolVersion, seq: this.#seq };
    return [...this.#sources.values()]
      .filter((each) => each.isAttached)
      .flatMap(({ announcement, charts }) => [
        JSON.stringify({ ...head, ...sourceBody(announcement, "attached") }),
        ...charts.values(),
      ]);
  }
}

const sourceBody = ({ instance, name, pid }: Announcement, state: SourceBody["state"]): SourceBody => ({
  kind: "source",
  id: instance,
  state,
  instance,
  name,
  pid,
});
