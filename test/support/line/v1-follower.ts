/** A v1 follower written down line by line, and a leader of ours for it: what cases and fleets of v1 peers are tested with. */
import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished } from "vitest";
import { startEmulator } from "../../../adapters/telegram/emulator/index.ts";
import { createInstance, stateFolder } from "../../../index.ts";
import { exchangeOnce, serveScript } from "../../interop/lab/sockets.ts";
import { owner, token } from "./fixtures.ts";

/** One line of the wire, read. */
export type Frame = Readonly<Record<string, unknown>>;
const read = (line: string): Frame => JSON.parse(line) as Frame; // our leader's frames, and our own

/** A durable receipt, as a follower that works gives it. */
export function receipt(frame: Frame): string {
  const { deliveryId, sourceUpdateId } = frame["delivery"] as Frame; // asked of forwards only
  const ack = { kind: "bus.ack", requestId: frame["requestId"], ok: true, result: { deliveryId, sourceUpdateId } };
  return `${JSON.stringify(ack)}\n`;
}

/** A leader on an emulator of its own, both ended with the test; `open()` counts the updates that are not settled. */
export async function openLeader() {
  const emulator = await startEmulator({ token });
  const home = mkdtempSync(path.join(os.tmpdir(), "pl-v1f-"));
  const leader = await createInstance({ token, user: owner, home, apiRoot: emulator.apiRoot, name: "L" });
  onTestFinished(async () => {
    await leader.stop();
    await emulator.close();
    rmSync(home, { recursive: true, force: true });
  });
  await leader.ready;
  const db = new Database(path.join(stateFolder({ token, home }), "store.db"), { readonly: true });
  onTestFinished(() => void db.close());
  const secret = db.prepare<[], string>("SELECT secret FROM lease").pluck().get();
  const open = (): number => db.prepare<[], number>("SELECT count(*) FROM updates").pluck().get() ?? 0;
  return { emulator, home, secret, open, address: path.join(stateFolder({ token, home }), "bus.sock") };
}

/** A v1 follower of the seat: `pid` makes it an instance of its own, its answers are the test's. */
export async function openV1Follower(
  { address, secret, home }: Awaited<ReturnType<typeof openLeader>>,
  pid: number,
  answer: (frame: Frame) => string | null | Promise<string | null>,
) {
  const endpoint = path.join(home, `f${String(pid)}.sock`);
  const server = await serveScript(endpoint, (line) => answer(read(line)));
  onTestFinished(() => server.close());
  const instanceId = `${String(pid)}:1`;
  let count = 0;
  const lineOf = (fields: Frame): string =>
    `${JSON.stringify({ requestId: `${instanceId}:${String((count += 1))}`, auth: secret, ...fields })}\n`;
  const ask = async (fields: Frame): Promise<Frame> => read(await exchangeOnce(address, lineOf(fields)));
  const generation = `${instanceId}:generation`;
  return {
    texts: () => server.received.map((line) => (read(line)["message"] as { text?: string } | undefined)?.text ?? ""),
    register: async () => {
      const ack = await ask({
        kind: "follower.register",
        registration: {
          instanceId,
          profileKey: "manual:seat-of-FA",
          threadName: "FA",
          pid,
          processBirthId: `${String(pid)}:start:1`,
          busSocketPath: endpoint,
          registrationGeneration: generation,
          protocol: {
            protocolVersion: 1,
            runtimeBuild: "0.36.10",
            capabilities: ["durable-follower-admission-v1", "queue-handoff-v1"],
          },
          connectedAtMs: Date.now(),
        },
      });
      expect(ack["ok"]).toBe(true);
      return (ack["result"] as { threadId: number }).threadId; // a positive answer names a thread
    },
    /** A call as the bytes of one request: what repeats them repeats the request. */
    callLine: (method: string, body: Frame): string =>
      lineOf({
        kind: "follower.callApi",
        instanceId,
        registrationGeneration: generation,
        method: "call",
        args: [method, body],
        sentAtMs: Date.now(),
      }),
    /** Sends the bytes of a request again, or for the first time, on a connection of their own. */
    exchange: async (line: string): Promise<Frame> => read(await exchangeOnce(address, line)),
    /** Sends the bytes of a request and is gone before the answer. */
    sendAndVanish: (line: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const socket = net.connect({ path: address }, () => {
          socket.write(line, () => {
            socket.destroy();
            resolve();
          });
        });
        socket.on("error", reject);
      }),
    beat: () =>
      ask({ kind: "follower.heartbeat", instanceId, registrationGeneration: generation, sentAtMs: Date.now() }),
  };
}
