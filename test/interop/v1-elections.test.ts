/**
 * Ours and v1 processes on one owner store: ours leads v1 followers, and when a leader is killed exactly one of the others
 * leads, whichever kind it is, and the rest follow it.
 *
 * The v1 processes are `lab/v1-process.ts`, written from the protocol alone.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { startEmulator } from "../../adapters/telegram/emulator/index.ts";
import type { Emulator } from "../../adapters/telegram/emulator/index.ts";
import { bundleProgram } from "../support/line/bundle.ts";
import { owner, token } from "../support/line/fixtures.ts";
import { until } from "../support/line/waiting.ts";

interface Said {
  readonly is?: "leader" | "follower";
  readonly of?: string;
  readonly thread?: number;
  readonly slot?: string;
  readonly got?: string;
  readonly sent?: boolean | null;
}

/** One process of the fleet, by what it says. */
class Member {
  readonly said: Said[] = [];
  readonly name: string;
  readonly child: ChildProcess;

  constructor(name: string, child: ChildProcess) {
    this.name = name;
    this.child = child;
    if (child.stdout === null) throw new Error("its words are piped");
    createInterface({ input: child.stdout }).on("line", (line) => {
      this.said.push(JSON.parse(line) as Said); // what the two programs say
    });
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Its latest word on its place; null before the first. */
  get place(): Said | null {
    return this.said.findLast(({ is }) => is !== undefined) ?? null;
  }

  get thread(): number {
    return this.place?.thread ?? 0;
  }

  get got(): readonly string[] {
    return this.said.flatMap(({ got }) => got ?? []);
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill("SIGKILL");
    await gone;
  }
}

class Fleet {
  readonly emulator: Emulator;
  readonly members: Member[] = [];
  private readonly home: string;
  private readonly programs: { readonly v1: string; readonly own: string };

  constructor(emulator: Emulator, home: string, programs: Fleet["programs"]) {
    this.emulator = emulator;
    this.home = home;
    this.programs = programs;
  }

  start(kind: "v1" | "own", name: string): Member {
    const { apiRoot } = this.emulator;
    const child = spawn(process.execPath, [this.programs[kind]], {
      stdio: ["pipe", "pipe", "inherit"],
      env: {
        ...process.env,
        V1_HOME: path.join(this.home, "agent"),
        API_ROOT: `${apiRoot}/bot${token}`,
        CHAT: String(owner),
        NAME: name,
        PARTYLINE_TOKEN: token,
        PARTYLINE_USER: String(owner),
        PARTYLINE_HOME: path.join(this.home, "own"),
        PARTYLINE_API_ROOT: apiRoot,
      },
    });
    const member = new Member(name, child);
    this.members.push(member);
    return member;
  }

  /** Pid in the owner record; 0 when nobody is. */
  owner(): number {
    const file = path.join(this.home, "agent", "tmp", "telegram", "owners.json");
    return (JSON.parse(readFileSync(file, "utf8")) as { default?: { pid: number } }).default?.pid ?? 0; // both sides write it
  }

  state(): string {
    return this.members.map(({ name, pid, said }) => `${name} (${String(pid)}): ${JSON.stringify(said)}`).join("\n");
  }

  /** One of these leads by its own word and by the record, and all the others follow. */
  async settles(members: readonly Member[]): Promise<Member> {
    const leaders = () => members.filter(({ place, pid }) => place?.is === "leader" && this.owner() === pid);
    const since = new Map(members.map((member) => [member, member.said.length]));
    const isNews = (member: Member) => member.said.length > (since.get(member) ?? 0);
    await until(
      "one leads and the others follow it",
      () =>
        leaders().length === 1 &&
        members.every((each) => each.place !== null && (isNews(each) || since.get(each) === 0)) &&
        members.filter(({ place }) => place?.is === "leader").length === 1,
      { state: () => this.state() },
    );
    const [leader] = leaders();
    if (leader === undefined) throw new Error("there was one");
    return leader;
  }

  /** What the owner writes into each one's thread reaches exactly that one. */
  async reaches(members: readonly Member[], word: string): Promise<void> {
    const before = new Map(members.map((member) => [member, member.got.length]));
    for (const { name, thread } of members)
      this.emulator.control.userSends({ threadId: thread, text: `${word} for ${name}` });
    await until(
      `everyone got ${word}`,
      () => members.every((member) => member.got.length > (before.get(member) ?? 0)),
      { state: () => this.state() },
    );
    for (const member of members) expect(member.got.slice(before.get(member))).toEqual([`${word} for ${member.name}`]);
  }
}

let programs: { readonly v1: string; readonly own: string } = { v1: "", own: "" };
beforeAll(async () => {
  programs = {
    v1: await bundleProgram("test/interop/lab/v1-process.ts"),
    own: await bundleProgram("test/interop/lab/own-process.ts"),
  };
}, 60_000);

async function openFleet(): Promise<Fleet> {
  const home = mkdtempSync(path.join(os.tmpdir(), "plf-"));
  const emulator = await startEmulator({ token });
  const fleet = new Fleet(emulator, home, programs);
  onTestFinished(async () => {
    await Promise.all(fleet.members.map((member) => member.kill()));
    await emulator.close();
    rmSync(home, { recursive: true, force: true });
  });
  return fleet;
}

test("protocol/P-54, P-57, EL-6 ours leads v1 followers; each leader that is killed is followed by exactly one of the others, v1 or ours", async () => {
  const fleet = await openFleet();
  const first = fleet.start("own", "first");
  expect(await fleet.settles([first])).toBe(first);
  const followers: Member[] = [];
  for (const [kind, name] of [
    ["v1", "second"],
    ["v1", "third"],
    ["own", "fourth"],
  ] as const) {
    const member = fleet.start(kind, name);
    await until(`${name} follows`, () => member.place?.is === "follower", { state: () => fleet.state() });
    followers.push(member);
  }
  await fleet.reaches([first, ...followers], "hello");

  // A v1 follower speaks through our leader.
  const [second] = followers;
  second?.child.stdin?.write("from a v1 follower\n");
  await until("it was sent", () => second?.said.some(({ sent }) => sent === true) ?? false, {
    state: () => fleet.state(),
  });

  let leader = first;
  let rest = followers;
  while (rest.length > 0) {
    await leader.kill();
    leader = await fleet.settles(rest);
    await fleet.reaches(rest, `under ${leader.name}`);
    rest = rest.filter((member) => member !== leader);
  }
  // Through all of it each kept its thread.
  const made = fleet.emulator.control.transcript().filter(({ method }) => method === "createForumTopic");
  expect(made).toHaveLength(fleet.members.length);
}, 120_000);

test("protocol/S-55, P-1 of a v1 process and one of ours that come to a free record at once exactly one leads, and the other follows it", async () => {
  const fleet = await openFleet();
  const members = [fleet.start("v1", "v1"), fleet.start("own", "ours")];
  const leader = await fleet.settles(members);
  await fleet.reaches(members, "hello");
  expect(fleet.owner()).toBe(leader.pid);
  expect(members.flatMap(({ said }) => said.filter(({ is }) => is === "leader"))).toHaveLength(1);
}, 60_000);
