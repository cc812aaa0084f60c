import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import {
  followerPath,
  isPipe,
  leaderPath,
  overflowFolder,
  pathsOf,
  pipeName,
  resolvedPath,
  sanitised,
} from "../../../adapters/transport/unix/address.ts";
import { classify, withCode } from "../../../adapters/transport/unix/errors.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import { instanceId, seatKey, updateId } from "../../../machines/ids.ts";
import { deliveryIdPrefix } from "../../../machines/wire/constants.ts";
import { deliveryIdText } from "../../../machines/wire/envelopes.ts";

const tmp = "/tmp";
const uid = String(process.getuid?.() ?? "user");

test("§2.6: names", () => {
  expect(sanitised("4711:1750000000000")).toBe("4711_1750000000000");
  expect(sanitised("a/../b é漢👍")).toBe("a_.._b____");
  expect(sanitised("x".repeat(100))).toHaveLength(80);
  expect(leaderPath({ folder: "/s", profile: null })).toBe("/s/bus.sock");
  expect(followerPath({ folder: "/s", profile: null }, instanceId("4711:1"))).toBe("/s/followers/4711_1.sock");
});

test("Appendix A, §2.7: overflow name of a long path, which resolves to itself", () => {
  const long = `/srv/${"nested/".repeat(12)}bus.sock`;
  expect(Buffer.byteLength(long)).toBe(97);
  const resolved = resolvedPath(long, tmp);
  expect(resolved).toBe(`${overflowFolder(tmp)}/b6387bab66853985.sock`);
  expect(overflowFolder(tmp)).toBe(`/tmp/pi-telegram-${uid}`);
  expect(resolvedPath(resolved, tmp)).toBe(resolved);
  expect(pathsOf(long, tmp)).toEqual([resolved]);
});

test("§2.7: bytes count, not characters; 80 is the most", () => {
  const exactly = `/${"x".repeat(79)}`;
  expect(resolvedPath(exactly, tmp)).toBe(exactly);
  expect(resolvedPath(`${exactly}x`, tmp)).not.toBe(`${exactly}x`);
  expect(resolvedPath(`/${"é".repeat(40)}`, tmp)).toContain(overflowFolder(tmp));
});

test("§2.7: an overflow path longer than 80 bytes is unchanged, a mere neighbour in that folder is not", () => {
  const deep = `/${"t".repeat(100)}`;
  const inOverflow = `${overflowFolder(deep)}/0123456789abcdef.sock`;
  expect(resolvedPath(inOverflow, deep)).toBe(inOverflow);
  expect(resolvedPath(`${overflowFolder(deep)}/bus.sock`, deep)).not.toBe(`${overflowFolder(deep)}/bus.sock`);
});

test("design §6: a short path has the hashed one as its second place", () => {
  const [first, second] = pathsOf("/s/bus.sock", tmp);
  expect(first).toBe("/s/bus.sock");
  expect(second).toBe(resolvedPath(second ?? "", tmp));
  expect(second).toMatch(/\/[0-9a-f]{16}\.sock$/);
});

test("Appendix A, §2.6: names of pipes", () => {
  const ofOne = "\\\\.\\pipe\\pi-telegram-bFXGpTKKZ2goF4Qw";
  expect(pipeName("C:\\agents\\one", "bus")).toBe(`${ofOne}-bus`);
  expect(pipeName("C:\\agents\\one", "follower-4711:1750000000000")).toBe(`${ofOne}-follower-4711_1750000000000`);
  expect(pipeName("C:\\agents\\one", "x".repeat(100))).toBe(`${ofOne}-${"x".repeat(80)}`);
  expect(pipeName("C:\\agents\\two", "bus")).not.toContain(ofOne);
  for (const pipe of ["\\\\.\\pipe\\a", "\\\\?\\PIPE\\a"]) expect(isPipe(pipe)).toBe(true);
  for (const path of ["/run/bus.sock", "C:\\pipe\\a", "\\\\.\\pipes\\a"]) expect(isPipe(path)).toBe(false);
});

test("Appendix A: delivery ids", () => {
  const idOf = (text: string) => deliveryIdPrefix + createHash("sha256").update(text).digest("hex");
  expect(idOf(deliveryIdText("leader.forwardMessage", seatKey("manual:owner-b"), updateId(44)))).toBe(
    "telegram-follower-v1-2092a8dfd7a76850421869cd5ba3b430b34b812655b83ad53e778b3f211f229c",
  );
  expect(idOf(deliveryIdText("leader.forwardCallback", seatKey("profile:work:manual:7:start:123"), updateId(0)))).toBe(
    "telegram-follower-v1-636718ff343e91d702b64a0ce009c7c00779ad1a88ab19be7452b22890b75616",
  );
});

test("protocol/O-23: an error of the transport is a timeout, connect or unknown, whatever it is called: none is of kind auth or protocol", () => {
  expect(classify(withCode("x", "ETIMEDOUT"))).toEqual({ kind: "timeout", isRetryable: true });
  expect(classify(new Error("it Timed Out"))).toEqual({ kind: "timeout", isRetryable: true });
  for (const code of ["ENOENT", "ECONNREFUSED"])
    expect(classify(withCode("x", code))).toEqual({ kind: "connect", isRetryable: true });
  for (const code of ["EPIPE", "ECONNRESET", "EBUSY"])
    expect(classify(withCode("x", code))).toEqual({ kind: "unknown", isRetryable: true });
  for (const code of ["EACCES", "EPROTO", "EAUTH", "EAGAIN", "ERR_INVALID_ARG_VALUE"])
    expect(classify(withCode("x", code))).toEqual({ kind: "unknown", isRetryable: false });
  for (const text of [wireText.unauthorized, wireText.incompatibleProtocol("version-mismatch"), wireText.malformed])
    expect(classify(new Error(text))).toEqual({ kind: "unknown", isRetryable: false });
  expect(classify("no error")).toEqual({ kind: "unknown", isRetryable: false });
});
