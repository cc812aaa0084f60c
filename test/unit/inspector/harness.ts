/**
 * What the inspector's tests share: inspectors and viewers that end with the test, a lease chart with filled slots.
 *
 * A viewer keeps every frame it gets and waits for one by condition.
 */
import http from "node:http";
import { createActor, fromPromise } from "xstate";
import { onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { startInspector } from "../../../inspector/index.ts";
import type { Frame, Inspector, InspectorOptions } from "../../../inspector/index.ts";
import { epoch, instanceId } from "../../../machines/ids.ts";
import { leaseMachine, type AcquireAnswer, type AcquireInput } from "../../../machines/lease.machine.ts";
import { defaultLeaseTimings, type LeaseRecord } from "../../../machines/lease.rules.ts";

export const plantedSecret = "planted-secret-4711";

export const vacant: LeaseRecord = { epoch: epoch(0), renewals: 0, holder: null, remainingMs: 0 };

/** Replaces the planted secret in any JSON value, keys included. */
export const redactPlanted = (value: unknown): unknown => {
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined ? undefined : JSON.parse(text.replaceAll(plantedSecret, "<redacted>"));
};

export async function started(options: Partial<InspectorOptions> = {}): Promise<Inspector> {
  const inspector = await startInspector({ redact: redactPlanted, ...options });
  onTestFinished(() => inspector.close());
  return inspector;
}

/** A real lease actor that stands for the lease until `grant` is called. */
export function leaseActor(inspector: Inspector, record: LeaseRecord = vacant) {
  let answer: (granted: AcquireAnswer) => void;
  const answered = new Promise<AcquireAnswer>((resolve) => (answer = resolve));
  const chart = leaseMachine.provide({
    actors: {
      readLease: fromPromise<LeaseRecord>(() => Promise.resolve(record)),
      acquireLease: fromPromise<AcquireAnswer, AcquireInput>(() => answered),
    },
  });
  const actor = createActor(chart, {
    id: "i1/lease",
    input: { me: instanceId("i1"), timings: defaultLeaseTimings },
    inspect: inspector.observe,
  });
  onTestFinished(() => void actor.stop());
  const grant = (): void => answer({ kind: "granted", record: { ...record, epoch: epoch(1) }, remainingMs: 6_000 });
  return { actor, grant };
}

export interface ViewerOptions {
  readonly hello?: string | null;
  readonly query?: string;
  readonly headers?: Record<string, string>;
}

export const helloOf = (token: string): string => JSON.stringify({ type: "hello", token });

export class Viewer {
  readonly socket: WebSocket;
  readonly frames: Frame[] = [];
  /** Everything received, as it came. */
  readonly texts: string[] = [];
  /** Resolves with the close code. */
  readonly closed: Promise<number>;
  /** HTTP status and body of a refused upgrade. */
  readonly refused: Promise<{ readonly status: number | undefined; readonly body: string }>;
  readonly opened: Promise<void>;
  #waiting: (() => void)[] = [];

  /** Says hello with the inspector's token, unless told otherwise. */
  constructor(inspector: Inspector, options: ViewerOptions = {}) {
    const { hello = helloOf(inspector.token), query = "", headers = {} } = options;
    this.socket = new WebSocket(`${inspector.url.replace("http:", "ws:")}live${query}`, { headers });
    onTestFinished(() => this.socket.terminate());
    const { socket } = this;
    socket.on("error", () => undefined);
    this.opened = new Promise((resolve) => socket.once("open", () => resolve()));
    this.closed = new Promise((resolve) => socket.once("close", resolve));
    this.refused = new Promise((resolve) =>
      socket.once("unexpected-response", (_request, response: http.IncomingMessage) => {
        void bodyOf(response).then((body) => resolve({ status: response.statusCode, body }));
      }),
    );
    socket.on("message", (data) => this.#receive(data));
    if (hello !== null) socket.once("open", () => socket.send(hello));
  }

  /** The first frame, received already or later, that meets the condition. */
  async frame<Kind extends Frame["kind"]>(
    kind: Kind,
    condition: (frame: Extract<Frame, { kind: Kind }>) => boolean = () => true,
  ): Promise<Extract<Frame, { kind: Kind }>> {
    for (;;) {
      const found = this.frames
        .filter((frame): frame is Extract<Frame, { kind: Kind }> => frame.kind === kind)
        .find(condition);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #receive(data: unknown): void {
    const text = String(data);
    this.texts.push(text);
    // The inspector's own frames: what these tests are about.
    this.frames.push(JSON.parse(text) as Frame);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}

export async function attachedViewer(inspector: Inspector): Promise<Viewer> {
  const viewer = new Viewer(inspector);
  await viewer.frame("welcome");
  return viewer;
}

/** A plain request, with whatever Host and Origin. */
export function request(url: string, options: http.RequestOptions = {}) {
  return new Promise<{ status: number | undefined; headers: http.IncomingHttpHeaders; body: string }>(
    (resolve, reject) => {
      const sent = http.request(url, { agent: false, ...options }, (response) => {
        bodyOf(response).then(
          (body) => resolve({ status: response.statusCode, headers: response.headers, body }),
          reject,
        );
      });
      sent.once("error", reject);
      sent.end();
    },
  );
}

async function bodyOf(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks).toString("utf8");
}
