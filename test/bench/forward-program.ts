/**
 * The other process of the forward benchmark, told what to be by its first argument.
 *
 * `follower`: an instance that follows and tells its parent of each update when its handler is called, which is after the
 * update is settled on disk. `appender`: an endpoint that appends each request to a file, flushes it, and answers.
 */
import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import path from "node:path";
import { systemClock } from "../../adapters/host/clock.ts";
import { createUnixTransport } from "../../adapters/transport/unix/transport.ts";
import { createInstance } from "../../index.ts";

const [what = "", folder = "", token = "", user = ""] = process.argv.slice(2);
const tell = (message: unknown): void => {
  process.send?.(message);
};

async function follow(): Promise<() => Promise<void>> {
  const instance = await createInstance({
    token,
    user: Number(user),
    home: folder,
    name: "follower",
    // A follower makes no call of its own; nobody listens there.
    apiRoot: "http://127.0.0.1:9",
  });
  instance.on("update", ({ update }) => {
    tell(update.update_id);
  });
  const { thread } = await instance.ready;
  tell({ thread: thread?.target.threadId });
  return () => instance.stop();
}

async function append(): Promise<() => Promise<void>> {
  const file = openSync(path.join(folder, "follower.log"), "a");
  const transport = createUnixTransport({ folder, clock: systemClock(), counters: { count: () => undefined } });
  const endpoint = await transport.listen({
    address: transport.leaderAddress,
    handle: (request) => {
      writeSync(file, `${JSON.stringify(request)}\n`);
      fsyncSync(file);
      return Promise.resolve({ kind: "bus.ack", requestId: request.requestId, ok: true });
    },
    publish: (commit) => {
      commit();
      return Promise.resolve(true);
    },
  });
  tell({ address: transport.leaderAddress });
  return async () => {
    await endpoint.close();
    closeSync(file);
  };
}

const stop = what === "follower" ? await follow() : await append();
process.once("disconnect", () => {
  void stop().finally(() => process.exit());
});
