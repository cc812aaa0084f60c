/**
 * An instance that lives through a whole soak: `run --ndjson --ack explicit` in small, which also tells of its own memory.
 *
 * Every few seconds a `vitals` line: its heap after a full collection, its handles and timers, its descriptors.
 */
import { readdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createInstance } from "../../../index.ts";

const everyMs = 5_000;
const name = process.argv[process.argv.indexOf("--name") + 1] ?? "steady";
const say = (line: unknown): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`);
};

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc") as () => void; // what --expose-gc defines

const instance = await createInstance({
  token: process.env["TELEGRAM_BOT_TOKEN"] ?? "",
  user: Number(process.env["PARTYLINE_USER"]),
  home: process.env["PARTYLINE_HOME"] ?? "",
  apiRoot: process.env["PARTYLINE_API_ROOT"] ?? "",
  name,
  ack: "explicit",
});
const open = new Map<string, () => Promise<boolean>>();
instance.on("role", (role, epoch) => {
  say({ type: "role", role, epoch });
});
instance.on("update", async ({ id, update, redelivered, ack }) => {
  const done = new Promise<void>((resolve) => {
    open.set(id, async () => {
      const isSettled = await ack();
      resolve();
      return isSettled;
    });
  });
  say({ type: "update", id, update, ...(redelivered ? { redelivered } : {}) });
  await done;
});
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id } = JSON.parse(line) as { readonly id: string }; // acks of the soak, and nothing else
  const ack = open.get(id);
  open.delete(id);
  ack?.().catch((error: unknown) => {
    say({ type: "error", kind: "ack", message: String(error) });
  });
});

const vitals = setInterval(() => {
  collect();
  say({
    type: "vitals",
    heapMb: process.memoryUsage().heapUsed / 2 ** 20,
    handles: process.getActiveResourcesInfo().length,
    descriptors: readdirSync("/proc/self/fd").length,
  });
}, everyMs);
process.once("SIGTERM", () => {
  clearInterval(vitals);
  process.stdin.destroy();
  void instance.stop();
});
const { role, thread } = await instance.ready;
const where = thread === null ? null : { ...thread.target, slot: thread.slot, name: thread.threadName };
say({ type: "ready", instanceId: instance.id, role, thread: where });
