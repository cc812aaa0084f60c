/** C76: the socket of a superseded follower is still open and says yes to everything: what it was given is gone without a word. */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { startEmulator } from "../../adapters/telegram/emulator/index.ts";
import { createInstance, stateFolder } from "../../index.ts";
import { exchangeOnce, serveScript } from "../interop/lab/sockets.ts";
import { owner, token } from "../support/line/fixtures.ts";
import { until } from "../support/line/waiting.ts";

type Frame = Readonly<Record<string, unknown>>;
const read = (line: string): Frame => JSON.parse(line) as Frame; // our leader's frames, and our own

/** A durable receipt, as a follower that works gives it. */
function receipt(frame: Frame): string {
  const { deliveryId, sourceUpdateId } = frame["delivery"] as Frame; // asked of forwards only
  const ack = { kind: "bus.ack", requestId: frame["requestId"], ok: true, result: { deliveryId, sourceUpdateId } };
  return `${JSON.stringify(ack)}\n`;
}

async function openLeader() {
  const emulator = await startEmulator({ token });
  const home = mkdtempSync(path.join(os.tmpdir(), "pl-c76-"));
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
async function openFollower(
  { address, secret, home }: Awaited<ReturnType<typeof openLeader>>,
  pid: number,
  answer: (frame: Frame) => string | null | Promise<string | null>,
) {
  const endpoint = path.join(home, `f${String(pid)}.sock`);
  const server = await serveScript(endpoint, (line) => answer(read(line)));
  onTestFinished(() => server.close());
  const instanceId = `${String(pid)}:1`;
  let count = 0;
  const ask = async (fields: Frame): Promise<Frame> => {
    const request = { requestId: `${instanceId}:${String((count += 1))}`, auth: secret, ...fields };
    return read(await exchangeOnce(address, `${JSON.stringify(request)}\n`));
  };
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
    beat: () =>
      ask({ kind: "follower.heartbeat", instanceId, registrationGeneration: generation, sentAtMs: Date.now() }),
  };
}

test("C76 what comes after another instance took the seat goes to that one alone, though the former one's socket is open", async () => {
  const line = await openLeader();
  const former = await openFollower(line, 810_001, receipt);
  const thread = await former.register();
  const current = await openFollower(line, 810_002, receipt);
  expect(await current.register()).toBe(thread);
  line.emulator.control.userSends({ threadId: thread, text: "for whoever sits" });
  await until("it arrives", () => current.texts().length > 0);
  await until("it is settled", () => line.open() === 0);
  expect(current.texts()).toEqual(["for whoever sits"]);
  expect(former.texts()).toEqual([]);
  expect(await former.beat()).toMatchObject({ ok: false });
}, 60_000);

test("C76 a superseded follower's late yes ends nothing: the update is delivered to the one that sits, and only then done", async () => {
  const line = await openLeader();
  const late: ((answer: string) => void)[] = [];
  let asked: Frame = {};
  const former = await openFollower(line, 810_003, (frame) => {
    asked = frame;
    return new Promise((resolve) => late.push(resolve));
  });
  const thread = await former.register();
  line.emulator.control.userSends({ threadId: thread, text: "in its hands" });
  await until("the former one has it", () => late.length > 0);

  let isWilling = false;
  const refusal = (frame: Frame): string =>
    `${JSON.stringify({ kind: "bus.ack", requestId: frame["requestId"], ok: false, message: "not yet" })}\n`;
  const current = await openFollower(line, 810_004, (frame) => (isWilling ? receipt(frame) : refusal(frame)));
  expect(await current.register()).toBe(thread);
  late[0]?.(receipt(asked));
  await until("the one that sits is asked, whatever the former one said", () => current.texts().length > 0);
  expect(line.open()).toBe(1);
  isWilling = true;
  await until("it is settled", async () => {
    expect(await current.beat()).toMatchObject({ ok: true });
    return line.open() === 0;
  });
  expect(new Set(current.texts())).toEqual(new Set(["in its hands"]));
  expect(former.texts()).toEqual(["in its hands"]);
}, 60_000);
