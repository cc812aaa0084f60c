/**
 * A v1 process, written from the protocol alone: it shares no code with what it is tested against.
 *
 * Owns: just enough of v1 to be a peer in a fleet: the owner record and its guard (§5), the leader's endpoint with
 * registration, heartbeats, calls and forwards (§3, §4), the follower's side with recovery and election (§5.10, §6).
 * Does not own: journals (a restart forgets), clean-up of threads, anything about windows.
 *
 * Environment: V1_HOME, API_ROOT (with the token), CHAT. Each line of stdout is one JSON object: `{ is: "leader" }`,
 * `{ is: "follower", of, thread, slot }`, `{ got: text }`. A line on stdin is sent as a message into the own thread.
 */
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import process from "node:process";
import readline from "node:readline";
import { workFor as sleep } from "../../support/line/waiting.ts";

type Json = Readonly<Record<string, unknown>>;
interface Bound {
  readonly chatId: number;
  readonly threadId: number;
  readonly slot?: string;
  readonly threadName?: string;
}

const { V1_HOME = "", API_ROOT = "", CHAT = "0" } = process.env;
const folder = path.join(V1_HOME, "tmp", "telegram");
const owners = path.join(folder, "owners.json");
const guard = `${owners}.transaction`;
const id = `${String(process.pid)}:${String(Date.now())}`;
const startTicks =
  readFileSync("/proc/self/stat", "utf8")
    .replace(/^.*\) /, "")
    .split(" ")[19] ?? "";
const birthId = `${String(process.pid)}:start:${startTicks}`;
const seatKey = `manual:${birthId}`;
const ownSecret = randomBytes(32).toString("base64url");
const protocol = {
  protocolVersion: 1,
  runtimeBuild: "v1-stand-in",
  capabilities: ["durable-follower-admission-v1", "queue-handoff-v1"],
};

const say = (line: Json): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const text = (value: unknown, otherwise: string): string => (typeof value === "string" ? value : otherwise);
let minted = 0;
const nextId = (): string => `${id}:${String((minted += 1))}`;

// ------------------------------------------------------------------------------------------------ owner record, §5

function isAlive(pid: unknown): boolean {
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"; // a signal's error is one of the system
  }
}

const parsed = (file: string): Json => JSON.parse(readFileSync(file, "utf8")) as Json; // both sides write objects

function readOwner(): Json | null {
  try {
    const record = parsed(owners)["default"] as Json | undefined; // a record of either side
    return typeof record?.["pid"] === "number" ? record : null;
  } catch {
    return null; // §5.6 T-7: outside a transaction it reads as empty
  }
}

type State = "inactive" | "here" | "elsewhere" | "stale";
function stateOf(record: Json | null): State {
  if (record === null) return "inactive";
  if (record["pid"] === process.pid) return "here";
  const beat = record["heartbeatMs"];
  if (typeof beat === "number" && Date.now() - beat > 8_000) return "stale";
  return isAlive(record["pid"]) ? "elsewhere" : "stale";
}

const isSame = (a: Json | null, b: Json | null): boolean =>
  a !== null &&
  b !== null &&
  ["pid", "cwd", "instanceId", "leaderEpoch", "runtimeGeneration"].every((field) => a[field] === b[field]);

/** §5.6 T-1 to T-4. */
async function transaction<Result>(work: () => Result): Promise<Result> {
  const generation = randomUUID();
  const staged = `${guard}.staged.${generation}`;
  mkdirSync(staged, { mode: 0o700 });
  const entry = { pid: process.pid, acquiredAtMs: Date.now(), generation };
  writeFileSync(path.join(staged, `owner.${generation}.json`), `${JSON.stringify(entry)}\n`, { mode: 0o600 });
  for (let attempt = 0; ; attempt += 1) {
    try {
      renameSync(staged, guard);
      break;
    } catch {
      if (attempt === 80) throw new Error(`Timed out acquiring Telegram lock transaction: ${guard}`);
      reclaim();
      await sleep(25);
    }
  }
  try {
    return work();
  } finally {
    renameSync(guard, `${guard}.released.${generation}`);
    rmSync(`${guard}.released.${generation}`, { recursive: true });
  }
}

/** Removes the guard of a process that is gone. */
function reclaim(): void {
  try {
    const [name = ""] = readdirSync(guard);
    if (isAlive(parsed(path.join(guard, name))["pid"])) return;
    const marker = `${String(process.pid)}.${randomUUID()}`;
    renameSync(path.join(guard, name), path.join(guard, `owner.reclaim.${marker}.json`));
    renameSync(guard, `${guard}.stale.${marker}`);
    rmSync(`${guard}.stale.${marker}`, { recursive: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error; // it changed under our hands
  }
}

function writeOwner(record: Json | undefined): void {
  let all: Json = {};
  try {
    all = parsed(owners);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error; // a damaged file is left alone
  }
  const fresh = `${owners}.${randomUUID()}`;
  writeFileSync(fresh, `${JSON.stringify({ ...all, default: record }, null, 2)}\n`, { mode: 0o600 });
  renameSync(fresh, owners);
}

let mine: Json | null = null;

/** §5.4 in election mode. */
const stand = (expected: Json | null): Promise<boolean> =>
  transaction(() => {
    const record = readOwner();
    if (record !== null && !(stateOf(record) === "stale" && isSame(record, expected))) return false;
    mine = {
      pid: process.pid,
      cwd: process.cwd(),
      instanceId: id,
      heartbeatMs: Date.now(),
      leaderEpoch: randomUUID(),
      runtimeGeneration: Date.now(),
      busSecret: ownSecret,
    };
    writeOwner(mine);
    return true;
  });

/** §5.5. False = it is another's by now. */
const refresh = (): Promise<boolean> =>
  transaction(() => {
    if (!isSame(readOwner(), mine)) return false;
    writeOwner({ ...mine, heartbeatMs: Date.now() });
    return true;
  });

// ------------------------------------------------------------------------------------------------------- wire, §2

/** One request on a connection of its own; null = no answer (§2.3). */
const request = (address: string, envelope: Json, timeoutMs: number): Promise<Json | null> =>
  new Promise((resolve) => {
    const socket = net.connect(address);
    const end = (answer: Json | null): void => {
      socket.destroy();
      resolve(answer);
    };
    let received = "";
    socket.setEncoding("utf8");
    socket.setTimeout(timeoutMs, () => end(null));
    socket.on("connect", () => socket.write(`${JSON.stringify(envelope)}\n`));
    socket.on("data", (chunk: string) => {
      received += chunk;
      if (received.includes("\n")) end(JSON.parse(received.slice(0, received.indexOf("\n"))) as Json); // an envelope, or we break
    });
    socket.on("error", () => end(null));
    socket.on("close", () => end(null));
  });

/** §2.8: a private socket, published by a link. */
async function serve(stable: string, handle: (envelope: Json) => Promise<Json>): Promise<net.Server> {
  mkdirSync(path.dirname(stable), { recursive: true, mode: 0o700 });
  const unique = randomBytes(8).toString("hex");
  const server = net.createServer((socket) => {
    let rest = "";
    socket.setEncoding("utf8");
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const envelope = JSON.parse(line) as Json; // peers of the test send envelopes
        void handle(envelope).then((answer) => {
          const ack = { kind: "bus.ack", requestId: envelope["requestId"], ...answer };
          if (socket.writable) socket.write(`${JSON.stringify(ack)}\n`);
        });
      }
    });
  });
  const name = `.pt-${unique}.sock`;
  await new Promise<void>((resolve) => server.listen(path.join(path.dirname(stable), name), resolve));
  symlinkSync(name, `${stable}.link.${unique}`);
  renameSync(`${stable}.link.${unique}`, stable);
  return server;
}

const refused = (message: string): Json => ({ ok: false, message });

async function telegram(method: string, body: unknown): Promise<Json> {
  const answer = await fetch(`${API_ROOT}/${method}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return (await answer.json()) as Json; // the emulator's answer
}

// ----------------------------------------------------------------------------------------------------- leader, §4

interface Entry extends Bound {
  readonly address: string;
  readonly generation: string;
  readonly key: string;
  heardAtMs: number;
}
const registry = new Map<string, Entry>();
let binding: Bound | null = null;

async function newThread(wish: Json | null): Promise<Bound> {
  const target = wish?.["target"] as Bound | undefined; // a registration's target, as its sender built it
  const taken = [binding?.slot, ...[...registry.values()].map(({ slot }) => slot)];
  const free = ["A", "B", "C", "D", "E", "F"].find((letter) => !taken.includes(letter)) ?? "Z";
  const carried = wish?.["slot"];
  const slot = typeof carried === "string" && !taken.includes(carried) ? carried : free;
  const threadName = text(wish?.["threadName"], `v1 ${slot}`);
  if (target !== undefined) return { chatId: target.chatId, threadId: target.threadId, slot, threadName };
  const made = (await telegram("createForumTopic", { chat_id: Number(CHAT), name: threadName }))["result"] as Json; // a topic
  return { chatId: Number(CHAT), threadId: Number(made["message_thread_id"]), slot, threadName };
}

async function lead(): Promise<void> {
  registry.clear();
  binding ??= await newThread(null);
  const server = await serve(path.join(folder, "bus.sock"), asLeader);
  say({ is: "leader", thread: binding.threadId, slot: binding.slot });
  let offset = 0;
  const polling = (async (): Promise<void> => {
    while (mine !== null) {
      const answer = await telegram("getUpdates", { offset, timeout: 1 }).catch(() => null);
      for (const update of (answer?.["ok"] === true ? answer["result"] : []) as Json[]) {
        offset = Number(update["update_id"]) + 1;
        await deliver(update);
      }
      if (answer?.["ok"] !== true) await sleep(100);
    }
  })();
  for (let tick = 0; await (tick % 2 === 0 ? refresh() : isSame(readOwner(), mine)); tick += 1) {
    for (const [who, { heardAtMs }] of registry) if (Date.now() - heardAtMs > 5_000) registry.delete(who);
    await sleep(1_000);
  }
  mine = null;
  server.close();
  await polling;
}

async function deliver(update: Json): Promise<void> {
  const message = update["message"] as Json | undefined; // the test writes messages only
  const thread = message?.["message_thread_id"];
  if (thread === binding?.threadId) say({ got: message?.["text"] });
  const [recipient, entry] = [...registry].find(([, each]) => each.threadId === thread) ?? [];
  if (entry === undefined) return;
  const sourceUpdateId = Number(update["update_id"]);
  const envelope = {
    kind: "leader.forwardMessage",
    requestId: nextId(),
    auth: ownSecret,
    recipientInstanceId: recipient,
    recipientRegistrationGeneration: entry.generation,
    delivery: { deliveryId: deliveryId(entry.key, sourceUpdateId), sourceUpdateId, recipientBindingKey: entry.key },
    sentAtMs: Date.now(),
    message: { ...message, pi_telegram_source_update_id: sourceUpdateId },
  };
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const ack = await request(entry.address, envelope, 1_000);
    if (ack?.["ok"] === true) return;
    await sleep(100);
  }
}

const deliveryId = (recipientBindingKey: string, sourceUpdateId: number): string => {
  const identity = JSON.stringify({ version: 1, kind: "leader.forwardMessage", recipientBindingKey, sourceUpdateId });
  return `telegram-follower-v1-${createHash("sha256").update(identity).digest("hex")}`;
};

async function asLeader(envelope: Json): Promise<Json> {
  if (envelope["auth"] !== ownSecret) return refused("Unauthorized Telegram bus envelope.");
  if (envelope["kind"] === "follower.register") return register(envelope["registration"] as Json); // §3.2
  const entry = registry.get(String(envelope["instanceId"]));
  if (entry === undefined) return refused("Unknown Telegram bus follower instance.");
  if (entry.generation !== envelope["registrationGeneration"])
    return refused("Stale Telegram bus follower registration generation.");
  entry.heardAtMs = Date.now();
  if (envelope["kind"] === "follower.heartbeat") {
    const slots = [...registry.values()].flatMap(({ slot }) => slot ?? []);
    return { ok: true, result: { eligibleElectionSlots: slots.sort() } };
  }
  if (envelope["kind"] === "follower.callApi") {
    const [method, body] = envelope["args"] as [string, Json]; // §3.7
    const target = body["message_thread_id"] === entry.threadId && body["chat_id"] === entry.chatId;
    if (!target) return refused("Telegram bus API call is not allowed for this follower.");
    const answer = await telegram(method, body);
    return answer["ok"] === true
      ? { ok: true, result: answer["result"] }
      : refused(text(answer["description"], "Telegram bus API call failed."));
  }
  return refused("Telegram bus envelope is not handled by this leader.");
}

async function register(registration: Json): Promise<Json> {
  const instance = String(registration["instanceId"]);
  const key = text(registration["profileKey"], instance);
  const bound = await newThread(registration);
  for (const [who, each] of registry) if (each.key === key || each.threadId === bound.threadId) registry.delete(who);
  const address = String(registration["busSocketPath"]);
  const generation = String(registration["registrationGeneration"]);
  registry.set(instance, { ...bound, address, generation, key, heardAtMs: Date.now() });
  return { ok: true, protocol, result: bound };
}

// --------------------------------------------------------------------------------------------------- follower, §6

let roster: readonly string[] = [];
let current: { readonly generation: string; readonly secret: string } | null = null;
const endpoint = path.join(folder, "followers", `${id.replace(":", "_")}.sock`);

async function asFollower(envelope: Json): Promise<Json> {
  if (current === null || envelope["auth"] !== current.secret) return refused("Unauthorized Telegram bus envelope.");
  if (envelope["kind"] !== "leader.forwardMessage" || envelope["recipientInstanceId"] !== id)
    return refused("Telegram bus receiver cannot handle this envelope.");
  if (envelope["recipientRegistrationGeneration"] !== current.generation)
    return refused("Stale Telegram bus follower registration generation.");
  const delivery = envelope["delivery"] as { readonly deliveryId: string; readonly sourceUpdateId: number }; // §3.5
  if (delivery.deliveryId !== deliveryId(seatKey, delivery.sourceUpdateId))
    return refused("Invalid Telegram follower delivery id.");
  if (!admitted.has(delivery.sourceUpdateId)) say({ got: (envelope["message"] as Json)["text"] }); // a message
  admitted.add(delivery.sourceUpdateId);
  return { ok: true, result: { deliveryId: delivery.deliveryId, sourceUpdateId: delivery.sourceUpdateId } };
}
const admitted = new Set<number>();

/** §6.3, §6.4. */
async function join(owner: Json): Promise<boolean> {
  const generation = nextId();
  const secret = String(owner["busSecret"]);
  const envelope = {
    kind: "follower.register",
    requestId: generation,
    auth: secret,
    registration: {
      instanceId: id,
      profileKey: seatKey,
      threadName: binding?.threadName ?? "v1",
      ...(binding === null
        ? {}
        : { target: { chatId: binding.chatId, threadId: binding.threadId }, slot: binding.slot }),
      cwd: process.cwd(),
      pid: process.pid,
      processBirthId: birthId,
      sessionGeneration: 1,
      busSocketPath: endpoint,
      registrationGeneration: generation,
      protocol,
      connectedAtMs: Date.now(),
    },
  };
  current = null;
  for (let attempt = 0; attempt < 10; attempt += 1) {
    const ack = await request(path.join(folder, "bus.sock"), envelope, 30_000);
    if (ack?.["ok"] === true) {
      current = { generation, secret };
      binding = ack["result"] as Bound; // §3.2
      say({ is: "follower", of: owner["instanceId"], thread: binding.threadId, slot: binding.slot });
      return true;
    }
    if (ack !== null) return false;
    await sleep(150);
  }
  return false;
}

const fenced = () => ({
  requestId: nextId(),
  auth: current?.secret,
  instanceId: id,
  registrationGeneration: current?.generation,
  sentAtMs: Date.now(),
});

/** Heartbeats until one fails (§6.5). */
async function follow(): Promise<void> {
  for (;;) {
    const ack = await request(path.join(folder, "bus.sock"), { kind: "follower.heartbeat", ...fenced() }, 1_000);
    if (ack?.["ok"] !== true) return;
    roster = (ack["result"] as { readonly eligibleElectionSlots: readonly string[] }).eligibleElectionSlots; // §3.3
    await sleep(1_000);
  }
}

/** §6.6, §5.10. */
async function live(): Promise<void> {
  for (;;) {
    let record = readOwner();
    if (stateOf(record) !== "elsewhere" && roster.some((slot) => slot < (binding?.slot ?? ""))) {
      await sleep(2_500);
      record = readOwner();
    }
    const state = stateOf(record);
    if (state === "elsewhere" && record !== null) {
      if (await join(record)) await follow();
      else await sleep(500);
    } else if ((state === "stale" || state === "inactive") && (await stand(record))) await lead();
    else await sleep(100);
  }
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const body = { chat_id: binding?.chatId, message_thread_id: binding?.threadId, text: line };
  const call = { kind: "follower.callApi", ...fenced(), method: "call", args: ["sendMessage", body] };
  void request(path.join(folder, "bus.sock"), call, 30_000).then((ack) => say({ sent: ack?.["ok"] ?? null }));
});
mkdirSync(folder, { recursive: true, mode: 0o700 });
await serve(endpoint, asFollower);
await live();
