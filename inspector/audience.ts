/**
 * The attached clients together.
 *
 * Owns: sequence numbers, writing frames as JSON, handing each to everybody who wants it.
 * Does not own: what is in a frame (`composer.ts`), one client's backlog (`client.ts`).
 *
 * Invariants:
 * 1. A frame is written once, however many clients there are, and not at all when nobody wants it.
 * 2. A frame that cannot be written (a cycle, too long) is counted as dropped for each client.
 */
import type { AnyStateMachine } from "xstate";
import { Client, wholeWish } from "./client.ts";
import type { Wish } from "./client.ts";
import type { Composed, Composer } from "./composer.ts";
import { protocolName, protocolVersion } from "./frames.ts";
import type { Frame, FrameBody, LiveBody, WelcomeBody } from "./frames.ts";
import type { Outlet } from "./outlet.ts";

const frameCharsMax = 1_048_576;

export interface AudienceParts {
  readonly composer: Composer;
  /** Undefined: frames carry no time. */
  readonly nowMs: (() => number) | undefined;
}

export class Audience {
  readonly #composer: Composer;
  readonly #nowMs: (() => number) | undefined;
  readonly #clients = new Map<Outlet, Client>();
  #seq = 0;
  #dropped = 0;

  constructor({ composer, nowMs }: AudienceParts) {
    this.#composer = composer;
    this.#nowMs = nowMs;
  }

  get size(): number {
    return this.#clients.size;
  }

  /** Nobody would get a frame made now. */
  get isBehind(): boolean {
    for (const client of this.#clients.values()) if (!client.isSlow) return false;
    return true;
  }

  /** Live frames so far, made or missed. */
  get frames(): number {
    return this.#seq;
  }

  /** Frames that some client did not get, added up over clients. */
  get dropped(): number {
    return this.#dropped;
  }

  wants(kind: FrameBody["kind"], actor: string | null): boolean {
    for (const client of this.#clients.values()) if (client.wants(kind, actor)) return true;
    return false;
  }

  attach(outlet: Outlet, welcome: Composed<WelcomeBody>, wish: Wish = wholeWish): void {
    const client = new Client(outlet, wish, (dropped) => JSON.stringify(this.#frame({ kind: "dropped", dropped })));
    this.#clients.set(outlet, client);
    this.#hand(client, this.#write(welcome.body));
    for (const chart of welcome.charts) this.#sendChart(client, chart);
  }

  detach(outlet: Outlet): void {
    this.#clients.delete(outlet);
  }

  broadcast({ body, charts }: Composed<LiveBody>): void {
    const actor = "actor" in body ? body.actor.id : null;
    const takers = [...this.#clients.values()].filter((client) => client.wants(body.kind, actor));
    if (takers.length === 0) return;
    // Charts first, under the number of the frame before.
    for (const client of takers) for (const chart of charts) this.#sendChart(client, chart);
    this.#seq += 1;
    const text = this.#write(body);
    for (const client of takers) this.#hand(client, text);
  }

  /** Frames were due and were not composed. */
  missed(count = 1): void {
    this.#seq += count;
    for (const client of this.#clients.values()) {
      this.#dropped += count;
      client.missed(count);
    }
  }

  #hand(client: Client, text: string | null): void {
    if (text !== null && client.send(text)) return;
    this.#dropped += 1;
    if (text === null) client.missed();
  }

  #sendChart(client: Client, chart: AnyStateMachine): void {
    client.sendChart(this.#composer.chartName(chart), () => this.#write(this.#composer.chart(chart)));
  }

  #write(body: FrameBody): string | null {
    try {
      const text = JSON.stringify(this.#frame(body));
      return text.length > frameCharsMax ? null : text;
    } catch {
      // The redactor let through what JSON cannot hold. The caller counts it, and clients are told.
      return null;
    }
  }

  #frame(body: FrameBody): Frame {
    return {
      protocol: protocolName,
      version: protocolVersion,
      seq: this.#seq,
      ...(this.#nowMs === undefined ? {} : { atMs: this.#nowMs() }),
      ...body,
    };
  }
}
