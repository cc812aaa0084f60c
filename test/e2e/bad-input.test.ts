/** Everything that may be wrong from outside: a clear word or a counted drop, and the line goes on. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { expect, test } from "vitest";
import { strangerUser, token } from "../support/line/fixtures.ts";
import type { Line } from "../support/line/line.ts";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();

/** The line still does its work: a message to each thread arrives. */
async function expectServed(line: Line, text: string): Promise<void> {
  const agents = line.agents.filter((agent) => agent.isRunning && agent.ready !== null);
  for (const agent of agents) line.say(agent.threadId, text);
  await until(`"${text}" is served`, () =>
    agents.every(({ texts }) => texts.filter((each) => each === text).length === 1),
  );
}

test("a token without the shape of one: exit code 2, a sentence, and not a character of the token", async () => {
  const line = await open();
  for (const wrong of ["nonsense-SECRETPART", "700001 :AAFakeSECRETPART", ""]) {
    const { exit, output } = await line.run(["run", "--ndjson"], { TELEGRAM_BOT_TOKEN: wrong });
    expect(exit?.code).toBe(2);
    expect(output).toMatch(/partyline: .*(token)/);
    expect(output).not.toContain("SECRETPART");
  }
});

test("a token that Telegram does not know: an error line that says so, no token anywhere, and SIGTERM still works", async () => {
  const line = await open();
  const secret = "BBFakeFakeFakeFakeFakeFakeFakeFake9";
  const agent = line.start({
    name: "alpha",
    env: { TELEGRAM_BOT_TOKEN: `700001:${secret}` },
    flags: ["--log-level", "debug"],
  });
  await until("it says so", () => agent.errors.some(({ kind }) => kind === "unauthorized"), {
    state: () => agent.output,
  });
  expect(agent.isRunning).toBe(true);
  expect(await agent.stop()).toBeLessThan(2_000 * 5);
  expect(agent.output).not.toContain(secret);
});

test("flags and variables that cannot be used: exit code 2 and a sentence that names them", async () => {
  const line = await open();
  const wrong: readonly (readonly [readonly string[], RegExp])[] = [
    [["run"], /--ndjson/],
    [["run", "--ndjson", "--user", "me"], /--user.*whole number/s],
    [["run", "--ndjson", "--user", "-5"], /user/],
    [["run", "--ndjson", "--chat", "1.5"], /--chat.*whole number/s],
    [["run", "--ndjson", "--ack", "maybe"], /--ack/],
    [["run", "--ndjson", "--name", "a/../b"], /name/],
    [["run", "--ndjson", "--name", "x".repeat(65)], /at most 64/],
    [["run", "--ndjson", "--profile", "../up"], /profile/],
    [["run", "--ndjson", "--log-level", "loud"], /--log-level/],
    [["run", "--ndjson", "--api-root", "nonsense"], /API root.*http/],
    [["run", "--ndjson", "--api-root", "ftp://api.example"], /API root.*http/],
    [["run", "--ndjson", "--nonsense"], /unknown option/],
    [["emulator", "--port", "70000"], /port/],
    [["nonsense"], /unknown command/],
  ];
  for (const [args, words] of wrong) {
    const { exit, output } = await line.run(args);
    expect(exit?.code, args.join(" ")).toBe(2);
    expect(output, args.join(" ")).toMatch(words);
  }
  const { exit, output } = await line.run(["run", "--ndjson"], { PARTYLINE_USER: "" });
  expect(exit?.code).toBe(2);
  expect(output).toMatch(/user/i);
});

test("a state folder that cannot be made or used: exit code 2 and the path", async () => {
  const line = await open();
  const file = path.join(line.home, "a-file");
  writeFileSync(file, "");
  const asFile = await line.run(["run", "--ndjson", "--home", file]);
  expect(asFile.exit?.code).toBe(2);
  expect(asFile.output).toContain(file);
  const under = await line.run(["run", "--ndjson", "--home", path.join(file, "below")]);
  expect(under.exit?.code).toBe(2);
  expect(under.output).toContain(file);
  // A store that is none.
  const home = path.join(line.home, "damaged");
  mkdirSync(path.join(home, "700001", "default"), { recursive: true, mode: 0o700 });
  writeFileSync(path.join(home, "700001", "default", "store.db"), "x".repeat(8_192), { mode: 0o600 });
  const damaged = await line.run(["run", "--ndjson", "--home", home]);
  expect(damaged.exit?.code).toBe(2);
  expect(damaged.output).toMatch(/store\.db is damaged .*stop all instances, .*partyline doctor --recover/);
});

test("a stranger's messages have no effect and are counted", async () => {
  const line = await open();
  await line.startAll(["alpha", "beta"]);
  line.control.userSends({ text: "in my own chat", from: strangerUser });
  line.control.userSends({
    text: "in the owner's chat",
    chatId: 5_550_001,
    from: strangerUser,
    threadId: line.agents[1]!.threadId,
  });
  await expectServed(line, "after the stranger");
  expect(line.agents.flatMap(({ texts }) => texts)).toEqual(["after the stranger", "after the stranger"]);
  expect((await line.status()).drops).toMatchObject({ unauthorized: 2 });
});

/** Writes bytes to the leader's socket; resolves when the leader has closed the connection, or has answered. */
function throwAt(address: string, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(address);
    let answer = "";
    socket.on("data", (chunk) => (answer += chunk.toString()));
    socket.on("error", () => {
      resolve(answer);
    });
    socket.on("close", () => {
      resolve(answer);
    });
    socket.on("connect", () => {
      socket.end(bytes);
    });
    socket.setTimeout(30_000, () => {
      socket.destroy();
      reject(new Error("the leader neither answered nor closed"));
    });
  });
}

test("garbage, half, forged and huge frames at the leader's socket change nothing for the others", async () => {
  const line = await open();
  const [alpha, beta] = await line.startAll(["alpha", "beta"]);
  const address = path.join(line.folder, "bus.sock");
  const forged = {
    kind: "follower.register",
    requestId: "1:1:1:abc",
    auth: "guess",
    registration: { instanceId: "1:1", pid: 1, sessionGeneration: 1, connectedAtMs: 1 },
  };
  const frames: readonly (string | Buffer)[] = [
    "nonsense\n",
    "\n\n\n",
    "{}\n",
    '{"kind":"follower.register"}\n',
    `${JSON.stringify(forged)}\n`,
    '{"kind":"bus.ack","requestId":',
    Buffer.from([0, 255, 254, 10, 0, 10]),
    `${"[".repeat(100_000)}\n`,
    "x".repeat(20 * 1024 * 1024),
  ];
  for (const frame of frames) await throwAt(address, frame);
  await expectServed(line, "after the garbage");
  expect(alpha!.role).toBe("leader");
  expect(beta!.role).toBe("follower");
  expect((await line.status()).epoch).toBe(1);
  await until("the garbage is counted", async () => {
    const { drops } = await line.status();
    return (drops["line-malformed"] ?? 0) > 0 && (drops["line-too-long"] ?? 0) > 0;
  });
  expect(alpha!.output + beta!.output).not.toMatch(/"kind":"defect"/);
});

test("garbage on stdin is answered as such, an ack of nothing too, and the line goes on", async () => {
  const line = await open();
  const [alpha] = await line.startAll(["alpha"]);
  const garbage = [
    "nonsense",
    "[]",
    "null",
    "42",
    '{"type":"ack"}',
    '{"type":"call","id":1}',
    '{"type":"nonsense"}',
    '{"half":',
  ];
  for (const text of garbage) alpha!.write(text);
  alpha!.write("");
  alpha!.write(JSON.stringify({ type: "ack", id: "999" }));
  await until(
    "each is answered",
    () => alpha!.errors.filter(({ kind }) => kind === "input").length >= garbage.length + 1,
  );
  expect(alpha!.errors.every(({ kind }) => kind === "input")).toBe(true);
  expect(alpha!.errors.at(-1)?.message).toMatch(/no open update 999/);
  expect(await alpha!.call("noSuchMethod", {})).toMatchObject({
    ok: false,
    error: { error_code: expect.any(Number) as number },
  });
  await expectServed(line, "after the garbage");
  // Far more than a pipe's buffer, without a line break, then the next line.
  alpha!.write(`{"type":"call","id":7,"method":"sendMessage","payload":{"text":"${"y".repeat(300_000)}"}}`);
  await until("it is refused by Telegram's rule, or sent", () => alpha!.isRunning);
  await expectServed(line, "after the long line");
});

test("a reader of stdout that goes away: the instance stops in order, without a word of a defect, and the next one leads at once", async () => {
  const line = await open();
  const [alpha] = await line.startAll(["alpha"]);
  const { threadId } = alpha!;
  const before = alpha!.output;
  alpha!.closeOutput();
  // More than one line that fails to be written.
  for (let i = 0; i < 5; i += 1) alpha!.write("garbage");
  expect(await alpha!.whenExited()).toMatchObject({ code: 0, signal: null });
  expect(alpha!.output.slice(before.length)).not.toMatch(/EPIPE|\bat .*:\d+:\d+/);
  const next = await line.start({ name: "alpha" }).whenReady();
  expect([next.role, next.threadId]).toEqual(["leader", threadId]);
});

test("the token stands in no file of the state folder, in no status and in no process's output", async () => {
  const line = await open();
  const [alpha] = await line.startAll(["alpha"], { flags: ["--log-level", "debug"] });
  line.control.fault({ method: "sendMessage", kind: "lost" });
  expect(await alpha!.call("sendMessage", { text: "lost" })).toMatchObject({ ok: false, outcome: "ambiguous" });
  for (const flags of [[], ["--json"]]) expect((await line.run(["status", ...flags])).output).not.toContain(token);
  expect(alpha!.output).not.toContain(token);
  const files = readdirSync(line.folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.map(({ name }) => name)).toContain("store.db");
  for (const { parentPath, name } of files)
    expect(readFileSync(path.join(parentPath, name)).includes(token), name).toBe(false);
});
