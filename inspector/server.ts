/**
 * `startInspector`: the actors of this process on a page of their own.
 *
 * Owns: the public options and counts, and putting observer, clients and server together.
 * Does not own: any of the three (`watch.ts`, `audience.ts`, `web-server.ts`).
 */
import type { InspectionEvent } from "xstate";
import { Audience } from "./audience.ts";
import { Budget, shareDefault } from "./budget.ts";
import { Composer } from "./composer.ts";
import { SafeRedaction } from "./redaction.ts";
import { Watch } from "./watch.ts";
import { WebServer } from "./web-server.ts";

const defaultRingMax = 1_000;

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
  /**
   * A monotonic clock of fine resolution, in milliseconds. With it the time spent on making frames is held to `share`;
   * what does not fit is left out, told as `dropped`, and made up for by snapshots. Without it nothing is left out.
   */
  readonly stopwatchMs?: () => number;
  /** Greatest part of the time that making frames may take, above 0 and at most 1. Default 0.03. */
  readonly share?: number;
  /** Viewers may send events to actors. Default false. Each one is recorded in a `note` frame. */
  readonly allowSend?: boolean;
  /** What the page's title says. */
  readonly title?: string;
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
  /** `http://127.0.0.1:PORT/`. The WebSockets are at `live`, `stately` and `v4` below it. */
  readonly url: string;
  /** For a browser: the address with the token in its fragment, which no server and no log gets to see. */
  readonly pageUrl: string;
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
  const { stopwatchMs, share = shareDefault } = options;
  const redaction = new SafeRedaction(options.redact);
  const composer = new Composer(redaction);
  const audience = new Audience({ composer, nowMs: options.nowMs });
  const budget = stopwatchMs === undefined ? null : new Budget(stopwatchMs, share);
  const watch = new Watch({ composer, audience, rootsMax: ringMax, budget });
  const server = new WebServer({
    feed: {
      attach: (outlet, wish) => watch.attach(outlet, wish),
      detach: (outlet) => watch.detach(outlet),
      send: ({ session, event }) => void watch.send(session, event),
    },
    about: { mode: "live", maySend: options.allowSend === true, title: options.title ?? "this process" },
  });
  const boundPort = await server.listen(port, host);
  return {
    url: `http://${host}:${boundPort}/`,
    token: server.token,
    pageUrl: `http://${host}:${boundPort}/#token=${server.token}`,
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
