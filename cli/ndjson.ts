/**
 * `partyline run --ndjson`: an instance for a program in any language, one JSON object a line.
 *
 * stdout: `{"type":"ready","instanceId","role","thread"}` once, `{"type":"role","role","epoch"}` on changes,
 * `{"type":"update","id","update","redelivered"}`, `{"type":"result","id","ok",…}`, `{"type":"error","kind","message"}`.
 * stdin: `{"type":"ack","id"}`, `{"type":"call","id","method","payload"}`; its end stops the instance.
 *
 * Owns: the lines. Does not own: the instance.
 */
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { CallError, createInstance } from "../index.ts";
import { renewOnHangUp } from "./options.ts";
import type { BoundThread, Instance, InstanceOptions, InstanceUpdate } from "../index.ts";

/** Updates handed out and not yet acked, kept to find them by id; beyond it the oldest can no longer be acked by id. */
const openUpdatesMax = 100_000;

export interface NdjsonStreams {
  readonly input: Readable;
  readonly output: Writable;
}

const shownThread = (thread: BoundThread | null) =>
  thread === null
    ? null
    : {
        chatId: thread.target.chatId,
        threadId: thread.target.threadId,
        slot: thread.slot,
        name: thread.threadName,
      };

type Fields = Readonly<Record<string, unknown>>;

function parseLine(line: string): Fields | null {
  try {
    const value: unknown = JSON.parse(line);
    // After this check an object's fields may be read by name; what they hold stays unknown.
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;
  } catch {
    // Not JSON: answered as a bad line.
    return null;
  }
}

/** Runs until the instance has stopped. Resolves with the exit code. */
export async function runNdjson(options: InstanceOptions, { input, output }: NdjsonStreams): Promise<number> {
  const instance = await createInstance(options);
  const session = new NdjsonSession(instance, output);
  renewOnHangUp(options, instance);
  let isAsked = false;
  const stop = (): void => {
    isAsked = true;
    void instance.stop();
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  // Each line that a reader who has gone leaves unwritten fails anew, also those of the way out.
  output.on("error", stop);
  const lines = createInterface({ input, crlfDelay: Infinity });
  lines.on("line", (line) => {
    session.onLine(line);
  });
  lines.once("close", stop);
  let code = 0;
  instance.ready.then(
    ({ role, thread }) => {
      session.write({ type: "ready", instanceId: instance.id, role, thread: shownThread(thread) });
    },
    () => {
      // A refusal has been written as an error line; being stopped before is none.
      if (!isAsked) code = 1;
    },
  );
  await instance.stopped;
  lines.close();
  return code;
}

class NdjsonSession {
  private readonly instance: Instance;
  private readonly output: Writable;
  private readonly open = new Map<string, InstanceUpdate>();

  constructor(instance: Instance, output: Writable) {
    this.instance = instance;
    this.output = output;
    instance.on("role", (role, epoch) => {
      this.write({ type: "role", role, epoch });
    });
    instance.on("error", ({ kind, message }) => {
      this.write({ type: "error", kind, message });
    });
    instance.on("update", (update) => {
      this.remember(update);
      const { id, redelivered } = update;
      this.write({ type: "update", id, update: update.update, ...(redelivered ? { redelivered } : {}) });
    });
  }

  write(line: Fields): void {
    this.output.write(`${JSON.stringify(line)}\n`);
  }

  onLine(line: string): void {
    if (line.trim() === "") return;
    const message = parseLine(line);
    if (message?.["type"] === "ack" && typeof message["id"] === "string") this.onAck(message["id"]);
    else if (message?.["type"] === "call" && typeof message["method"] === "string") void this.onCall(message);
    else
      this.write({
        type: "error",
        kind: "input",
        message:
          'This line was ignored: it must be {"type":"ack","id":…} or {"type":"call","id":…,"method":…,"payload":…}.',
        line: line.slice(0, 200),
      });
  }

  private remember(update: InstanceUpdate): void {
    this.open.set(update.id, update);
    if (this.open.size <= openUpdatesMax) return;
    const [oldest] = this.open.keys();
    if (oldest !== undefined) this.open.delete(oldest);
  }

  private onAck(id: string): void {
    const update = this.open.get(id);
    if (update === undefined) {
      this.write({ type: "error", kind: "input", message: `There is no open update ${id} to ack.` });
      return;
    }
    update.ack().then(
      () => this.open.delete(id),
      (error: unknown) => {
        this.write({ type: "error", kind: "store", message: `The ack of ${id} was not written: ${String(error)}` });
      },
    );
  }

  private async onCall(message: Fields): Promise<void> {
    const { id, method, payload } = message;
    try {
      const call: (method: string, payload: unknown) => Promise<unknown> = this.instance.call.bind(
        this.instance,
      ) as never; // any method name may come from outside; Telegram judges it
      this.write({ type: "result", id, ok: true, result: await call(String(method), payload ?? {}) });
    } catch (error) {
      this.write({ type: "result", id, ok: false, ...failureOf(error) });
    }
  }
}

/** Telegram's own error object where it gave one, and what is known about the call's outcome. */
function failureOf(error: unknown): Fields {
  if (!(error instanceof CallError)) return { outcome: "notSent", error: { description: String(error) } };
  return { outcome: error.outcome.kind, error: error.error ?? { description: error.message } };
}
