/** C64: an error at a live leader's socket is taken for its death: the socket is unlinked, and the leader serves nobody. */
import { execFileSync } from "node:child_process";
import { chmodSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import type { Agent } from "../support/line/agent.ts";
import type { Line } from "../support/line/line.ts";
import { withoutOverride } from "../support/line/rights.ts";
import { stopOutsideOfWrites } from "../support/line/stopping.ts";
import { useLines } from "../support/line/use-line.ts";
import { report, until } from "../support/line/waiting.ts";

const open = useLines();
const leaseMs = 6_000;

const socketOf = (line: Line): string => path.join(line.folder, "bus.sock");
/** Which socket stands behind the published name; null when the name is gone. */
function published(line: Line): string | null {
  try {
    return readlinkSync(socketOf(line));
  } catch {
    return null; // Being gone is what is asked about.
  }
}

/** Whether somebody accepts connections there. */
const answers = (line: Line): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = net.connect(socketOf(line), () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });

/** Something that makes a live leader unreachable to newcomers, and takes it away again. */
interface Trouble {
  readonly what: string;
  readonly isLinuxOnly: boolean;
  /** How a newcomer is started, so that it is affected. */
  readonly startedBy: () => readonly string[];
  /** Resolves with what ends it. */
  readonly begin: (line: Line, leader: Agent) => Promise<() => void>;
}

async function resetEverybody(line: Line): Promise<() => void> {
  const server = net.createServer((socket) => {
    socket.on("error", () => undefined); // What the other end makes of it is what this is about.
    socket.destroy();
  });
  onTestFinished(() => void server.close());
  const resetting = path.join(line.folder, "reset.sock");
  await new Promise<void>((resolve) => server.listen(resetting, resolve));
  const link = `${socketOf(line)}.other`;
  symlinkSync(path.basename(resetting), link);
  renameSync(link, socketOf(line));
  // Somebody removes the name: its leader must find out.
  return () => {
    rmSync(socketOf(line));
  };
}

function exhaustFiles(leader: Agent): () => void {
  const limit = (soft: number | string): void => {
    execFileSync("prlimit", ["--pid", String(leader.pid), `--nofile=${String(soft)}:`]);
  };
  const before = execFileSync("prlimit", ["--pid", String(leader.pid), "--nofile", "--output=SOFT", "--noheadings"]);
  const used = new Set(readdirSync(`/proc/${String(leader.pid)}/fd`).map(Number));
  // The next one that is opened would get the lowest free number.
  let free = 0;
  while (used.has(free)) free += 1;
  limit(free);
  return () => {
    limit(before.toString().trim());
  };
}

const troubles: readonly Trouble[] = [
  { what: "resets every connection", isLinuxOnly: false, startedBy: () => [], begin: resetEverybody },
  {
    what: "has no file descriptor left",
    isLinuxOnly: true,
    startedBy: () => [],
    begin: (_, leader) => Promise.resolve(exhaustFiles(leader)),
  },
  {
    what: "has a socket that others may not open",
    isLinuxOnly: false,
    startedBy: withoutOverride,
    begin(line) {
      const socket = path.join(line.folder, published(line) ?? "");
      chmodSync(socket, 0o000);
      return Promise.resolve(() => {
        chmodSync(socket, 0o600);
      });
    },
  },
];

test.each(troubles)(
  "C64 a live leader that $what keeps its lease and its socket; whoever could not reach it follows it afterwards",
  async ({ what, isLinuxOnly, startedBy, begin }) => {
    if (isLinuxOnly && process.platform !== "linux") {
      report(`C64, a leader that ${what}: not run here, it needs Linux`);
      return;
    }
    const line = await open();
    const [leader, present] = await line.startAll(["L", "FB"]);
    if (leader === undefined || present === undefined) throw new Error("two were started");
    const end = await begin(line, leader);
    const during = published(line);
    const newcomer = line.start({ name: "FC", startedBy: startedBy() });
    const seen = new Set<string | null>();
    await until("more than a lease has passed", () => {
      seen.add(published(line));
      return Date.now() - newcomer.startedAtMs > leaseMs + 1_500;
    });
    expect([...seen]).toEqual([during]);
    expect(newcomer.ready).toBeNull();
    expect(newcomer.isRunning).toBe(true);
    expect(line.leader).toBe(leader);
    expect(leader.epoch).toBe(1);

    end();
    await newcomer.whenReady();
    expect(newcomer.role).toBe("follower");
    expect(line.leader).toBe(leader);
    const status = await line.status();
    expect(status.epoch).toBe(1);
    const ids = [line.say(newcomer.threadId, "new"), line.say(present.threadId, "old")];
    await line.settled(ids);
    expect([newcomer.texts, present.texts]).toEqual([["new"], ["old"]]);
  },
);

test("C64 a stopped leader's socket is nobody's to remove before its lease has ended; woken, it follows and leaves the new one alone", async () => {
  const line = await open();
  const [leader, follower] = await line.startAll(["L", "FB"]);
  if (leader === undefined || follower === undefined) throw new Error("two were started");
  const before = published(line);
  const stoppedAtMs = await stopOutsideOfWrites(line, leader);
  const changes: { readonly to: string | null; readonly atMs: number }[] = [];
  await until("the other one leads", () => {
    const to = published(line);
    if (to !== (changes.at(-1)?.to ?? before)) changes.push({ to, atMs: Date.now() });
    return follower.role === "leader";
  });
  await until("its socket is published", () => published(line) !== before);
  // One change at most, by a rename: the name was never gone, and the former socket was not removed before the end.
  expect(changes.map(({ to }) => to)).not.toContain(null);
  for (const { atMs } of changes) expect(atMs - stoppedAtMs).toBeGreaterThan(leaseMs - 1_600);
  const after = published(line);

  leader.signal("SIGCONT");
  await leader.whenRole("follower");
  expect(published(line)).toBe(after);
  expect(await answers(line)).toBe(true);
  await line.settled([line.say(leader.threadId, "mine"), line.say(follower.threadId, "yours")]);
  expect([leader.texts, follower.texts]).toEqual([["mine"], ["yours"]]);
  expect(published(line)).toBe(after);
});
