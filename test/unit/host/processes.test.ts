import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { ProcessTable, Read } from "../../../adapters/host/process-table.ts";
import { processesFrom, startDigest, systemProcesses } from "../../../adapters/host/processes.ts";

const absent: Read = { kind: "absent" };
const text = (value: string): Read => ({ kind: "text", text: value });

const stat = (pid: number, name: string, state: string, start: string): string =>
  `${pid} (${name}) ${state} 1 1 1 0 -1 4194304 9 0 0 0 1 2 0 0 20 0 11 0 ${start} 1234 99 18446744073709551615 1 1 0\n`;

/** A host with this process (100, started by 50) and whatever `files` and `pids` add. */
function linux(files: Record<string, Read | Error> = {}, pids: readonly number[] = []): ProcessTable {
  const all: Record<string, Read | Error> = {
    "/proc/sys/kernel/random/boot_id": text("boot-a\n"),
    "/proc/self/ns/pid": text("pid:[4026531836]"),
    "/proc/100/stat": text(stat(100, "node", "R", "7000")),
    "/proc/50/stat": text(stat(50, "bash", "S", "6000")),
    ...files,
  };
  const lookUp = (path: string): Read => {
    const found = all[path] ?? absent;
    if (found instanceof Error) throw found;
    return found;
  };
  return {
    platform: "linux",
    pid: 100,
    parentPid: 50,
    file: lookUp,
    link: lookUp,
    psStart: () => absent,
    bootSession: () => absent,
    exists: (pid) => pids.includes(pid),
  };
}

function darwin(lstart: Record<number, string>, inherited: Record<number, string> = {}): ProcessTable {
  return {
    ...linux({}, Object.keys(lstart).map(Number)),
    platform: "darwin",
    psStart: (pid, environment) => text((environment === "fixed" ? lstart : inherited)[pid] ?? ""),
    bootSession: () => text("SESSION-A\n"),
  };
}

const peer = { bootId: "boot-a", pidNamespace: "4026531836", pid: 200, startTicks: "8000", counter: 1 };

describe("own and parent", () => {
  it("are this process and its starter, read from /proc", () => {
    const processes = processesFrom(linux());
    expect(processes.own()).toMatchObject({
      bootId: "boot-a",
      pidNamespace: "4026531836",
      pid: 100,
      startTicks: "7000",
    });
    expect(processes.parent()).toEqual({
      bootId: "boot-a",
      pidNamespace: "4026531836",
      pid: 50,
      startTicks: "6000",
      counter: 0,
    });
  });

  it("count one instance further with each own(), over all adapters of the process", () => {
    const first = processesFrom(linux()).own();
    const second = processesFrom(linux()).own();
    expect(second.counter).toBe(first.counter + 1);
    expect(second).toEqual({ ...first, counter: second.counter });
  });

  it("is the process itself where there is no parent", () => {
    const processes = processesFrom({ ...linux(), parentPid: 0 });
    expect(processes.parent()).toMatchObject({ pid: 100, startTicks: "7000", counter: 0 });
  });
});

describe("liveness on Linux", () => {
  const judge = (read: Read | Error, who = peer, pids: readonly number[] = []) =>
    processesFrom(linux({ "/proc/200/stat": read }, pids)).liveness(who);

  it("is alive when the start is the same", () => {
    expect(judge(text(stat(200, "node", "S", "8000")))).toBe("alive");
  });

  it("counts the fields from the last parenthesis of the name", () => {
    expect(judge(text(stat(200, ") S 1 (a b) Z 9", "S", "8000")))).toBe("alive");
  });

  it("updates/T-79 is dead when the pid has another start", () => {
    expect(judge(text(stat(200, "node", "S", "8001")))).toBe("dead");
  });

  it("is dead when the pid is not in use", () => {
    expect(judge(absent)).toBe("dead");
  });

  it.each(["Z", "X", "x"])("is dead in state %s", (state) => {
    expect(judge(text(stat(200, "node", state, "8000")))).toBe("dead");
  });

  it("is dead after another boot, even if pid and start are the same", () => {
    expect(judge(text(stat(200, "node", "S", "8000")), { ...peer, bootId: "boot-b" })).toBe("dead");
  });

  it("is unverifiable in another pid namespace, without a look", () => {
    expect(judge(new Error("looked"), { ...peer, pidNamespace: "4026532000" })).toBe("unverifiable");
    expect(judge(new Error("looked"), { ...peer, pidNamespace: "" })).toBe("unverifiable");
  });

  it("is unverifiable when this process does not know its own namespace", () => {
    const blind = linux({ "/proc/self/ns/pid": { kind: "forbidden" } });
    expect(processesFrom(blind).liveness({ ...peer, pidNamespace: "" })).toBe("unverifiable");
  });

  it("is unverifiable when /proc hides a process that is there", () => {
    expect(judge(absent, peer, [200])).toBe("unverifiable");
    expect(judge({ kind: "forbidden" })).toBe("unverifiable");
  });

  it("updates/T-80 is unverifiable without a start to compare", () => {
    expect(judge(text(stat(200, "node", "S", "8000")), { ...peer, startTicks: "" })).toBe("unverifiable");
  });

  it.each([0, -1, 1.5, Number.NaN, 2 ** 31])("is unverifiable for pid %d", (pid) => {
    expect(judge(new Error("looked"), { ...peer, pid })).toBe("unverifiable");
  });

  it("throws when the look itself failed", () => {
    const broken = Object.assign(new Error("EIO: i/o error, read"), { code: "EIO" });
    expect(() => judge(broken)).toThrow("EIO");
    expect(() => judge(text("200 node S"))).toThrow(/proc\(5\)/);
    expect(() => judge(text(""))).toThrow(/proc\(5\)/);
  });

  it("judges a v1 peer, whose boot is unknown, by its start", () => {
    expect(judge(text(stat(200, "node", "S", "8000")), { ...peer, bootId: "" })).toBe("alive");
    expect(judge(text(stat(200, "node", "S", "8001")), { ...peer, bootId: "" })).toBe("dead");
  });
});

describe("liveness on macOS", () => {
  const at = "Wed Jul 29 16:19:07 2026";
  const later = "Wed Jul 29 16:20:00 2026";
  const who = { bootId: "SESSION-A", pidNamespace: "none", pid: 200, startTicks: startDigest(at), counter: 1 };

  it("digests what ps prints, trimmed", () => {
    expect(startDigest(`${at}\n`)).toBe("8f6be16230a22890");
  });

  it("is alive with the same start, dead with another or none", () => {
    expect(processesFrom(darwin({ 200: `${at}\n` })).liveness(who)).toBe("alive");
    expect(processesFrom(darwin({ 200: `${later}\n` })).liveness(who)).toBe("dead");
    expect(processesFrom(darwin({})).liveness(who)).toBe("dead");
  });

  it("never calls a v1 peer dead because it took its digest in another time zone", () => {
    const v1 = { ...who, bootId: "" };
    expect(processesFrom(darwin({ 200: later }, { 200: at })).liveness(v1)).toBe("alive");
    expect(processesFrom(darwin({ 200: later }, { 200: later })).liveness(v1)).toBe("unverifiable");
    expect(processesFrom(darwin({})).liveness(v1)).toBe("dead");
  });
});

describe("liveness on a platform without start times", () => {
  it("proves only that a pid is not in use", () => {
    const processes = processesFrom({ ...linux({}, [100, 50, 200]), platform: "win32" });
    const who = { bootId: "", pidNamespace: "none", pid: 200, startTicks: "", counter: 1 };
    expect(processes.own()).toMatchObject({ bootId: "", pidNamespace: "none", startTicks: "" });
    expect(processes.liveness(who)).toBe("unverifiable");
    expect(processes.liveness({ ...who, pid: 201 })).toBe("dead");
  });
});

describe("this host", () => {
  it("knows this process as alive where it can prove anything, and an ended one as dead", () => {
    const processes = systemProcesses();
    const own = processes.own();
    expect(processes.liveness(own)).toBe(own.startTicks === "" ? "unverifiable" : "alive");
    const { pid } = spawnSync(process.execPath, ["--version"]);
    expect(processes.liveness({ ...own, pid, startTicks: "1" })).toBe("dead");
  });
});
