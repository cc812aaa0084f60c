/**
 * The demo's agent: answers every message of its thread with what was written. One process each.
 *
 * It runs with explicit ack: a message counts as done when its answer has been sent.
 */
import { CallError, createInstance } from "../index.ts";
import { renewOnHangUp } from "./options.ts";
import type { Instance, InstanceOptions, InstanceUpdate } from "../index.ts";

async function answer(instance: Instance, name: string, update: InstanceUpdate): Promise<void> {
  const text = update.update.message?.text;
  if (text !== undefined) await say(instance, `${name}: ${text}`);
  await update.ack();
}

async function say(instance: Instance, text: string): Promise<void> {
  try {
    await instance.call("sendMessage", { text });
  } catch (error) {
    // Perhaps it was sent: answering twice would be worse than not at all. Anything else is tried again.
    if (!(error instanceof CallError) || !error.isAmbiguous) throw error;
  }
}

/** Runs until told to stop; events go to stdout, one JSON object a line. Resolves with the exit code. */
export async function runEchoAgent(options: InstanceOptions): Promise<number> {
  const instance = await createInstance({ ...options, ack: "explicit" });
  renewOnHangUp(options, instance);
  const name = options.name ?? "echo";
  const tell = (line: Readonly<Record<string, unknown>>): void => {
    process.stdout.write(`${JSON.stringify({ name, pid: process.pid, ...line })}\n`);
  };
  const stop = (): void => {
    void instance.stop();
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  // The demo holds the other end; without it there is nobody to echo for.
  process.stdin.once("end", stop).resume();
  instance.on("role", (role, epoch) => {
    tell({ type: "role", role, epoch });
  });
  instance.on("error", ({ kind, message }) => {
    tell({ type: "error", kind, message });
  });
  instance.on("update", (update) => answer(instance, name, update));
  instance.ready.then(
    ({ role, thread }) => {
      tell({ type: "ready", role, epoch: instance.epoch, threadId: thread?.target.threadId ?? null });
    },
    () => {
      process.exitCode = 1;
    },
  );
  await instance.stopped;
  process.stdin.pause();
  return Number(process.exitCode ?? 0);
}
