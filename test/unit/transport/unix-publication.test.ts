import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import net from "node:net";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { resolvedPath } from "../../../adapters/transport/unix/address.ts";
import { withCode } from "../../../adapters/transport/unix/errors.ts";
import { createUnixTransport } from "../../../adapters/transport/unix/transport.ts";
import { heartbeat, okAck } from "./support/envelopes.ts";
import { asOwner, echo, gate, UnixHarness, waiting } from "./support/harness.ts";

// A busy machine is slow; what these tests wait for is a condition.
vi.setConfig({ testTimeout: 30_000 });

let harness: UnixHarness;
beforeEach(() => (harness = new UnixHarness()));
afterEach(async () => {
  vi.restoreAllMocks();
  await harness.dispose();
});

const mode = (target: string) => lstatSync(target).mode & 0o777;
const answers = async () => {
  const link = await harness.dial();
  const outcome = await link.request(heartbeat("a"), 1000);
  link.close();
  return outcome.kind === "answered";
};

describe("publication", () => {
  test("protocol/S-8: directory 0700, socket 0600, the stable path a relative link to the private socket", async () => {
    mkdirSync(harness.folder, { mode: 0o755 });
    await harness.serve();
    expect(mode(harness.folder)).toBe(0o700);
    const target = readlinkSync(harness.leaderPath);
    expect(target).toMatch(/^\.pt-[0-9a-f]{16}\.sock$/);
    expect(mode(path.join(harness.folder, target))).toBe(0o600);
    expect(readdirSync(harness.folder).sort()).toEqual([target, "bus.sock"].sort());
  });
  test("a follower's endpoint goes to its own folder, with the same permissions", async () => {
    const address = harness.transport.followerAddress(heartbeat("a").instanceId);
    const endpoint = await harness.transport.listen({ address, handle: echo, publish: asOwner });
    expect(endpoint.address).toBe(path.join(harness.folder, "followers", "4711_1750000000000.sock"));
    expect(mode(path.dirname(address))).toBe(0o700);
    const link = await harness.transport.dial(address, 1000);
    expect((await link.request(heartbeat("a"), 1000)).kind).toBe("answered");
    link.close();
    await endpoint.close();
  });
  test("protocol/P-17: stop removes the private socket and leaves the stable link dangling", async () => {
    const endpoint = await harness.serve();
    await endpoint.close();
    expect(readdirSync(harness.folder)).toEqual(["bus.sock"]);
    await harness.serve();
    expect(await answers()).toBe(true);
  });
  test("step 9: a failed publication leaves nothing behind, and an older stable path as it was", async () => {
    await harness.serve();
    const before = readlinkSync(harness.leaderPath);
    await expect(harness.serve(echo, async () => false)).rejects.toThrow("lost transport ownership");
    await expect(harness.serve(echo, () => Promise.reject(new Error("disk")))).rejects.toThrow("disk");
    expect(readlinkSync(harness.leaderPath)).toBe(before);
    await vi.waitFor(() => expect(readdirSync(harness.folder)).toHaveLength(2), waiting);
    expect(await answers()).toBe(true);
  });
  test("protocol/P-16: the path changes inside the commit, and commits again change nothing", async () => {
    const seen: boolean[] = [];
    const present = () => readdirSync(harness.folder).includes("bus.sock");
    await harness.serve(echo, async (commit) => {
      seen.push(present());
      commit();
      seen.push(present());
      commit();
      return true;
    });
    expect(seen).toEqual([false, true]);
  });
  test("a folder that cannot be made rejects", async () => {
    writeFileSync(harness.folder, "");
    await expect(harness.serve()).rejects.toMatchObject({ code: "EEXIST" });
  });
  test("an error of listen rejects", async () => {
    vi.spyOn(net.Server.prototype, "listen").mockImplementation(function (this: net.Server) {
      process.nextTick(() => this.emit("error", withCode("no", "EADDRINUSE")));
      return this;
    });
    await expect(harness.serve()).rejects.toMatchObject({ code: "EADDRINUSE" });
  });
});

test("protocol/S-2: a profile that is started after another one in the same folder has an endpoint of its own, the other has none", async () => {
  const of = (profile: string) => {
    const { folder, tmpFolder, clock, counts: counters } = harness;
    return createUnixTransport({ folder, tmpFolder, clock, counters, profile });
  };
  const [work, home] = [of("work"), of("home")];
  const first = await harness.serve(async (request) => okAck(request, "work"), asOwner, work);
  await first.close();
  await harness.serve(async (request) => okAck(request, "home"), asOwner, home);
  expect(work.leaderAddress).toBe(path.join(harness.folder, "bus.work.sock"));
  await expect(harness.transport.dial(work.leaderAddress, 1000)).rejects.toMatchObject({ code: "ENOENT" });
  const link = await harness.transport.dial(home.leaderAddress, 1000);
  expect(await link.request(heartbeat("a"), 1000)).toMatchObject({ ack: { result: "home" } });
  link.close();
});

describe("step 4: a real socket at the stable path", () => {
  const legacy = async () => {
    mkdirSync(harness.folder, { recursive: true });
    const server = net.createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(harness.leaderPath, resolve));
    return server;
  };
  test("reachable for two seconds: the start fails and leaves it alone", async () => {
    const server = await legacy();
    const start = harness.serve().catch((error: unknown) => error);
    const result = gate<unknown>();
    void start.then((value) => result.open(value));
    let isOver = false;
    void start.then(() => (isOver = true));
    await vi.waitFor(() => {
      harness.clock.advance(25);
      if (!isOver) throw new Error("still waiting");
    }, waiting);
    expect(await result.promise).toMatchObject({
      message: `Timed out waiting for legacy Telegram bus endpoint: ${harness.leaderPath}`,
    });
    expect(lstatSync(harness.leaderPath).isSocket()).toBe(true);
    server.close();
  });
  test("gone while waiting: the start proceeds and replaces it", async () => {
    const server = await legacy();
    const start = harness.serve();
    await vi.waitFor(() => expect(harness.clock.pending).toBe(1), waiting);
    server.close();
    await vi.waitFor(() => {
      harness.clock.advance(25);
      if (!lstatSync(harness.leaderPath, { throwIfNoEntry: false })?.isSymbolicLink()) throw new Error("still waiting");
    }, waiting);
    await start;
    expect(await answers()).toBe(true);
  });
});

describe("where sockets cannot be", () => {
  test("protocol/S-1: a path longer than 80 bytes is served and dialled at the hashed one, which stands for itself", async () => {
    await harness.dispose();
    harness = new UnixHarness("nested/".repeat(12));
    await harness.serve();
    expect(harness.leaderPath.startsWith(path.join(harness.tmpFolder, "pi-telegram-"))).toBe(true);
    expect(mode(path.dirname(harness.leaderPath))).toBe(0o700);
    expect(await answers()).toBe(true);
    expect(resolvedPath(harness.leaderPath, harness.tmpFolder)).toBe(harness.leaderPath);
    const link = await harness.transport.dial(harness.leaderPath, 1000);
    expect((await link.request(heartbeat("b"), 1000)).kind).toBe("answered");
    link.close();
  });
  test.each(["ENOTSUP", "EINVAL", "ENAMETOOLONG"])(
    "design §6: a drive without sockets (%s): both sides meet at the hashed path",
    async (code) => {
      const listen = Reflect.get(net.Server.prototype, "listen");
      vi.spyOn(net.Server.prototype, "listen").mockImplementation(function (this: net.Server, ...args: unknown[]) {
        if (!JSON.stringify(args[0]).includes(harness.folder)) {
          // The real one, called with whatever came: its overloads cannot be told apart here.
          return Reflect.apply(listen, this, args) as net.Server;
        }
        process.nextTick(() => this.emit("error", withCode("listen", code)));
        return this;
      });
      const endpoint = await harness.serve();
      expect(readdirSync(harness.folder)).toEqual([]);
      expect(await answers()).toBe(true);
      expect(await endpoint.ensure()).toBe(false);
    },
  );
  test("an overflow folder that is somebody else's link is refused", async () => {
    const shared = path.join(harness.tmpFolder, `pi-telegram-${String(process.getuid?.() ?? "user")}`);
    const elsewhere = path.join(harness.root, "elsewhere");
    mkdirSync(elsewhere);
    symlinkSync(elsewhere, shared);
    const address = path.join(harness.folder, "x".repeat(100), "bus.sock");
    await expect(harness.transport.listen({ address, handle: echo, publish: asOwner })).rejects.toMatchObject({
      code: "EACCES",
    });
  });
});

describe("recovery", () => {
  test("protocol/E-1: a stable path that belongs to a successor counts as present", async () => {
    const old = await harness.serve(async (request) => okAck(request, "old"));
    await harness.serve(async (request) => okAck(request, "new"), asOwner, harness.another());
    expect(await old.ensure()).toBe(false);
  });
  test("protocol/E-1: a dangling link is nothing; the whole folder may be gone", async () => {
    const endpoint = await harness.serve();
    rmSync(path.join(harness.folder, readlinkSync(harness.leaderPath)));
    expect(await endpoint.ensure()).toBe(true);
    expect(await answers()).toBe(true);
    rmSync(harness.folder, { recursive: true });
    expect(await endpoint.ensure()).toBe(true);
    expect(await answers()).toBe(true);
    expect(readdirSync(harness.folder)).toHaveLength(2);
  });
});

describe("leftovers of killed processes", () => {
  const old = new Date(0);
  /** A socket file whose owner is gone: bound by a server that could not unlink it. */
  async function orphan(name: string): Promise<string> {
    const file = path.join(harness.folder, name);
    const server = net.createServer();
    await new Promise<void>((resolve) => server.listen(`${file}.tmp`, resolve));
    const { linkSync } = await import("node:fs");
    linkSync(`${file}.tmp`, file);
    await new Promise((resolve) => server.close(resolve));
    return file;
  }

  test("old dead ones are removed; young ones, live ones and other names stay", async () => {
    const live = await harness.serve();
    const livePrivate = path.join(harness.folder, readlinkSync(harness.leaderPath));
    const dead = await orphan(".pt-0000000000000001.sock");
    const young = await orphan(".pt-0000000000000002.sock");
    const foreign = await orphan("foreign.sock");
    for (const file of [dead, livePrivate, foreign]) utimesSync(file, old, old);
    harness.clock.setNow(statSync(young).mtimeMs + 1000);
    await harness.serve();
    const names = readdirSync(harness.folder);
    expect(names).not.toContain(path.basename(dead));
    for (const file of [young, livePrivate, foreign]) expect(names).toContain(path.basename(file));
    expect(harness.counts.of["leftover-removed"]).toBe(1);
    await live.close();
  });
});
