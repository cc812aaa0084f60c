/** Watching real processes: `record`, the flight recorder at a crash and at a signal, an instance that serves its page. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import type { Frame } from "../../inspector/frames.ts";
import { readRecording } from "../../inspector/replay.ts";
import { token } from "../support/line/fixtures.ts";
import { threadOf, useInstances } from "../support/line/use-instances.ts";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const framesIn = (texts: readonly string[]): Frame[] => texts.map((text) => JSON.parse(text) as Frame);
const kindsOf = (frames: readonly Frame[]): ReadonlySet<string> => new Set(frames.map((frame) => frame.kind));

const open = useLines();

test("partyline record writes what all instances do, redacted, until it has been told long enough", async () => {
  const line = await open();
  const [first] = await line.startAll(["Amber", "Birch"]);
  const file = path.join(line.home, "night.ndjson");
  const recording = line.run(["record", "--out", file, "--seconds", "3"]);
  await until(
    "it has attached",
    () => /"source".*Birch/.test(readIfThere(file)) && /"kind":"line"/.test(readIfThere(file)),
  );
  const { updateId } = line.control.userSends({ threadId: first!.ready!.thread!.threadId, text: "a word of mine" });
  const ended = await recording;
  expect(ended.exit?.code).toBe(0);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const { header, frames } = await readRecording(file);
  expect(header).toMatchObject({ format: "partyline-recording", version: 1, source: "live" });
  const read = framesIn(frames);
  for (const kind of ["source", "welcome", "chart", "event", "transition", "snapshot", "message", "line"])
    expect(kindsOf(read), kind).toContain(kind);
  expect(new Set(read.flatMap((each) => (each.kind === "source" ? [each.name] : [])))).toEqual(
    new Set(["Amber", "Birch"]),
  );
  const names = read.flatMap((each) =>
    each.kind === "message" && each.updates?.includes(updateId!) ? [each.name] : [],
  );
  for (const name of ["getUpdates", "admit", "claim", "handed to its handler", "settle"])
    expect(names, name).toContain(name);
  const text = readFileSync(file, "utf8");
  expect(text).not.toContain("a word of mine");
  expect(text).not.toContain(token);
});

test("a flight recorder is asked by partyline record --flight, and written at a signal", async () => {
  const line = await open();
  const agent = await line.start({ name: "Amber", flags: ["--flight-recorder", "2"] }).whenReady();
  const file = path.join(line.home, "asked.ndjson");
  expect((await line.run(["record", "--flight", "--out", file])).exit?.code).toBe(0);
  const asked = await readRecording(file);
  expect(asked.header["source"]).toBe("flight recorder");
  expect(kindsOf(framesIn(asked.frames))).toContain("transition");

  process.kill(agent.pid, "SIGUSR2");
  await until(
    "it is written",
    () => flights(line.folder).length > 0 && readIfThere(flights(line.folder)[0]!).endsWith("\n"),
  );
  const written = await readRecording(flights(line.folder)[0]!);
  // What it did before anybody looked: how it came to lead.
  const states = framesIn(written.frames).flatMap((each) =>
    each.kind === "transition" ? [JSON.stringify(each.value)] : [],
  );
  expect(states.some((state) => state.includes("leading"))).toBe(true);
  expect(agent.isRunning).toBe(true);
});

/** Has a process throw where nothing catches it. */
const crashingAtHangup = `process.on("SIGHUP",()=>{throw new Error("staged/crash")})`;

test("a process that dies of an exception leaves its flight recorder behind: what led there, for its owner alone, redacted", async () => {
  const line = await open();
  const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(crashingAtHangup)}` };
  const agent = await line.start({ name: "Amber", flags: ["--flight-recorder", "2"], env }).whenReady();
  const { updateId } = line.control.userSends({ threadId: agent.threadId, text: "my last words" });
  await until("the update came", () => agent.updates.length === 1);
  expect(flights(line.folder)).toEqual([]);
  process.kill(agent.pid, "SIGHUP");
  const { code } = await agent.whenExited();
  expect(code).not.toBe(0);
  expect(agent.output).toContain("staged/crash");
  const [file, ...others] = flights(line.folder);
  expect(others).toEqual([]);
  expect(statSync(file!).mode & 0o777).toBe(0o600);
  const { header, frames } = await readRecording(file!);
  expect(header["source"]).toBe("flight recorder");
  const names = framesIn(frames).flatMap((each) =>
    each.kind === "message" && each.updates?.includes(updateId!) ? [each.name] : [],
  );
  expect(names).toContain("claim");
  const text = readFileSync(file!, "utf8");
  expect(text).not.toContain("my last words");
  expect(text).not.toContain(token);
});

const readIfThere = (file: string): string => {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  }
};

function flights(folder: string): string[] {
  try {
    return readdirSync(path.join(folder, "flight")).map((name) => path.join(folder, "flight", name));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

const { create, say } = useInstances();

test("an instance with inspect: true serves its page, with the key in the fragment alone, and shows itself live", async () => {
  const instance = await create({ name: "Amber", inspect: true });
  instance.on("update", () => undefined);
  const threadId = await threadOf(instance);
  const url = new URL(instance.inspectorUrl ?? "none:");
  const key = new URLSearchParams(url.hash.slice(1)).get("token");
  const page = await fetch(url);
  expect(page.status).toBe(200);
  expect(await page.text()).not.toContain(key);

  const texts: string[] = [];
  const socket = new WebSocket(`ws://${url.host}/live`);
  onTestFinished(() => socket.terminate());
  socket.once("open", () => socket.send(JSON.stringify({ type: "hello", token: key, batch: true })));
  socket.on("message", (data: Buffer) => texts.push(...data.toString().split("\n")));
  await until("it shows itself", () =>
    texts.some((text) => text.includes('"kind":"source"') && text.includes('"Amber"')),
  );
  const update = say(threadId, "hello");
  const isHandedOut = (): boolean => texts.some((text) => text.includes('"handed to') && text.includes(String(update)));
  await until("the update's way is shown", isHandedOut);
  expect(kindsOf(framesIn(texts))).toContain("line");
});

test("nobody has to be watched: with inspect: false there is no tap", async () => {
  const instance = await create({ name: "Amber", inspect: false });
  await instance.ready;
  expect(instance.inspectorUrl).toBeNull();
});
