import { describe, expect, test } from "vitest";
import {
  encodeEnvelope,
  fingerprintOf,
  ledgerKeyOf,
  nestingMax,
  parseEnvelope,
} from "../../../adapters/transport/wire/parse.ts";
import { sameSecret } from "../../../adapters/transport/wire/secret.ts";
import {
  alice,
  auth,
  callApi,
  controlPayload,
  forwardMessage,
  heartbeat,
  offer,
  okAck,
  register,
} from "./support/envelopes.ts";

const parse = (value: unknown) => parseEnvelope(JSON.stringify(value));

/** The registration that survives when one field of it is replaced; null when the line is malformed. */
function registrationWith(fields: Record<string, unknown>) {
  const base = register("r");
  const parsed = parse({ ...base, registration: { ...base.registration, ...fields } });
  return parsed?.kind === "follower.register" ? parsed.registration : null;
}

const selector = (fields: unknown) => {
  const parsed = parse({ ...heartbeat("r"), kind: "follower.resolveAgentTarget", selector: fields });
  return parsed?.kind === "follower.resolveAgentTarget" ? parsed.selector : null;
};

describe("protocol/V-1: what is malformed", () => {
  test.each([
    "",
    " ",
    "{",
    "[]",
    "null",
    "7",
    '"x"',
    "{}",
    '{"kind":1,"requestId":"a"}',
    '{"kind":"bus.ack"}',
    '{"kind":"bus.ack","requestId":1,"ok":true}',
  ])("%j", (line) => expect(parseEnvelope(line)).toBeNull());
  test.each(["constructor", "__proto__", "toString", "follower.unknown"])("unknown kind %s", (kind) =>
    expect(parse({ kind, requestId: "a" })).toBeNull(),
  );
  test("an empty requestId is allowed", () => expect(parse(heartbeat(""))).toEqual(heartbeat("")));
  test("a missing required field", () => expect(parse({ ...heartbeat("a"), sentAtMs: undefined })).toBeNull());
  test("a top-level array with the right keys", () => expect(parseEnvelope('[{"kind":"bus.ack"}]')).toBeNull());
  test("CR before LF is tolerated (W-3)", () =>
    expect(parseEnvelope(`${JSON.stringify(heartbeat("a"))}\r`)).not.toBeNull());
});

describe("protocol/V-1: hostile nesting neither throws nor passes", () => {
  const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
  const lineWith = (args: string) => JSON.stringify(callApi("a", ["#"])).replace('"#"', args);

  test("just within the limit", () => expect(parseEnvelope(lineWith(nested(nestingMax - 2)))).not.toBeNull());
  test("just beyond the limit", () => expect(parseEnvelope(lineWith(nested(nestingMax - 1)))).toBeNull());
  test("a million levels", () => expect(parseEnvelope(lineWith(nested(1_000_000)))).toBeNull());
  test("a million unclosed levels", () => expect(parseEnvelope('{"a":'.repeat(1_000_000))).toBeNull());
  test("brackets inside strings do not count", () => {
    const text = `\\"${"[{".repeat(1000)}\\\\`;
    expect(parse(callApi("a", [text]))).toEqual(callApi("a", [text]));
  });
});

describe("protocol/V-2: whitelist", () => {
  test("unknown fields are dropped, free-form ones are kept as they are", () => {
    const sent = { ...forwardMessage("a"), extra: 1, delivery: { ...forwardMessage("a").delivery, extra: 1 } };
    expect(parse(sent)).toEqual(forwardMessage("a"));
    const free = { z: null, a: [{ b: 1, unknown: { deep: true } }], __proto__x: 1 };
    expect(parse({ ...forwardMessage("a"), message: free })).toEqual({ ...forwardMessage("a"), message: free });
  });
  test("a __proto__ key changes no prototype", () => {
    const parsed = parseEnvelope('{"__proto__":{"auth":"x"},"kind":"bus.ack","requestId":"a","ok":true}');
    expect(parsed).toEqual({ kind: "bus.ack", requestId: "a", ok: true });
    expect(parsed !== null && "auth" in parsed).toBe(false);
  });
  test("a null result is preserved, an absent one stays absent", () => {
    expect(parse({ kind: "bus.ack", requestId: "a", ok: true, result: null })).toEqual({
      kind: "bus.ack",
      requestId: "a",
      ok: true,
      result: null,
    });
    expect(Object.keys(parse({ kind: "bus.ack", requestId: "a", ok: true }) ?? {})).toEqual([
      "kind",
      "requestId",
      "ok",
    ]);
  });
});

describe("protocol/V-3, V-5: an optional field of the wrong type counts as absent", () => {
  test("protocol/A-3: auth, and registrationGeneration", () => {
    const parsed = parse({ ...heartbeat("a"), auth: 7, registrationGeneration: null });
    expect(Object.keys(parsed ?? {})).toEqual(["kind", "requestId", "instanceId", "sentAtMs"]);
  });
  test("ack message, error and its method", () => {
    const ack = { kind: "bus.ack", requestId: "a", ok: false };
    expect(parse({ ...ack, message: 1, error: { code: "other" } })).toEqual(ack);
    expect(parse({ ...ack, error: { code: "commit-unknown", method: 1 } })).toEqual({
      ...ack,
      error: { code: "commit-unknown" },
    });
  });
  test("forwardCommentBatchPosition", () => {
    expect(parse({ ...forwardMessage("a"), forwardCommentBatchPosition: "other" })).toEqual(forwardMessage("a"));
  });
  test.each([
    ["profileKey", ""],
    ["processBirthId", ""],
    ["sessionGeneration", 0],
    ["sessionGeneration", 1.5],
    ["pid", "1"],
    ["cwd", 1],
    ["previousInstanceId", {}],
    ["threadName", null],
    ["busSocketPath", []],
    ["registrationGeneration", 1],
  ])("registration %s = %j", (field, value) => {
    const parsed = registrationWith({ [field]: value });
    expect(parsed).not.toBeNull();
    expect(parsed).not.toHaveProperty(field);
  });
});

describe("protocol/V-4: targets", () => {
  test("a wrong threadId is dropped", () =>
    expect(registrationWith({ target: { chatId: 7, threadId: "1", slot: "B" } })?.target).toEqual({ chatId: 7 }));
  test.each([null, [], "x", { threadId: 1 }, { chatId: "7" }])("%j rejects the registration", (target) =>
    expect(registrationWith({ target })).toBeNull(),
  );
  test("a thread target needs its thread; an invalid oldTarget rejects", () => {
    const replace = {
      ...forwardMessage("a"),
      kind: "leader.replaceFollowerTarget",
      reason: "thread-restore",
      target: { chatId: 7, threadId: 8 },
    };
    expect(parse(replace)).not.toBeNull();
    expect(parse({ ...replace, target: { chatId: 7 } })).toBeNull();
    expect(parse({ ...replace, oldTarget: { chatId: 7 } })).toBeNull();
    expect(parse({ ...replace, reason: "other" })).toBeNull();
  });
});

describe("§2.11: an invalid identity is an absent one", () => {
  const good = { protocolVersion: 1, runtimeBuild: "b", capabilities: ["a", "b-1"] };
  test("valid", () => expect(registrationWith({ protocol: { ...good, extra: 1 } })?.protocol).toEqual(good));
  test.each([
    { protocolVersion: 0 },
    { protocolVersion: 1.5 },
    { runtimeBuild: "" },
    { runtimeBuild: " b" },
    { runtimeBuild: "b".repeat(129) },
    { capabilities: ["b", "a"] },
    { capabilities: ["a", "a"] },
    { capabilities: ["A"] },
    { capabilities: ["-a"] },
    { capabilities: ["a".repeat(129)] },
    { capabilities: Array.from({ length: 33 }, (_, index) => `c${String(index + 100)}`) },
    { capabilities: "a" },
  ])("%j", (fields) => {
    const parsed = registrationWith({ protocol: { ...good, ...fields } });
    expect(parsed).not.toBeNull();
    expect(parsed).not.toHaveProperty("protocol");
  });
});

describe("protocol/S-24: malformed lines", () => {
  test("forward without delivery", () => expect(parse({ ...forwardMessage("a"), delivery: undefined })).toBeNull());
  test.each([
    { deliveryId: "telegram-follower-v1-0A" },
    { sourceUpdateId: -1 },
    { sourceUpdateId: 1.5 },
    { recipientBindingKey: "" },
  ])("delivery with %j", (fields) =>
    expect(parse({ ...forwardMessage("a"), delivery: { ...forwardMessage("a").delivery, ...fields } })).toBeNull(),
  );
  test("selector with both id and name, or neither", () => {
    expect(selector({ threadId: 1, threadName: "x" })).toBeNull();
    expect(selector({})).toBeNull();
    expect(selector({ threadId: 0, threadName: "  " })).toBeNull();
  });
  test("an invalid selector counts as absent, a name is trimmed", () => {
    expect(selector({ threadId: 0, threadName: " x " })).toEqual({ threadName: "x" });
    expect(selector({ threadId: 3, threadName: " ", chatId: 1.5 })).toEqual({ threadId: 3 });
    expect(selector({ threadId: 3, chatId: 7 })).toEqual({ threadId: 3, chatId: 7 });
  });
  test("agent message: thread target, positive id, non-blank text kept untrimmed", () => {
    const route = { ...heartbeat("a"), kind: "follower.routeAgentMessage" };
    const message = { target: { chatId: 7, threadId: 8 }, messageId: 1, text: " hi " };
    expect(parse({ ...route, message })).toEqual({ ...route, message });
    for (const wrong of [{ text: " " }, { messageId: 0 }, { messageId: 1.5 }, { target: { chatId: 7 } }]) {
      expect(parse({ ...route, message: { ...message, ...wrong } })).toBeNull();
    }
  });
  test.each([
    { handoffToken: "T".repeat(31) },
    { handoffToken: "T".repeat(257) },
    { donorProcessId: 0 },
    { donorAcquiredAtMs: -1 },
    { donorProcessBirthId: "" },
    { registrationGeneration: 1 },
  ])("offer with %j", (fields) => expect(parse({ ...offer("a"), ...fields })).toBeNull());
  test("a valid offer keeps its payload as it was sent, key order included", () => {
    expect(parse(offer("a"))).toEqual(offer("a"));
    const payload = { unknown: 1, ...controlPayload };
    const parsed = parse({ ...offer("a"), payload });
    expect(parsed?.kind === "follower.offerQueueHandoff" && JSON.stringify(parsed.payload)).toBe(
      JSON.stringify(payload),
    );
  });
});

describe("protocol/S-25: registration", () => {
  test("bad target is malformed", () => expect(registrationWith({ target: 7 })).toBeNull());
  test("bad slot or protocol is dropped", () => {
    expect(registrationWith({ slot: "b" })).not.toHaveProperty("slot");
    expect(registrationWith({ protocol: 7 })).not.toHaveProperty("protocol");
  });
  test("threads/OP-6: slots of one or two letters", () => {
    expect(registrationWith({ slot: "AB" })?.slot).toBe("AB");
    expect(registrationWith({ slot: "ABC" })).not.toHaveProperty("slot");
  });
});

describe("ledger identity", () => {
  test("protocol/W-21: key of each class", () => {
    expect(ledgerKeyOf(register("r"))).toBe(`${auth}:${alice}:r`);
    expect(ledgerKeyOf(heartbeat("r"))).toBe(`${auth}:${alice}:r`);
    expect(ledgerKeyOf(forwardMessage("r"))).toBe(`${auth}:${alice}:r`);
    expect(ledgerKeyOf({ kind: "bus.ack", requestId: "r", ok: true })).toBe(":ack:r");
    const anonymous = parse({ ...heartbeat("r"), auth: 1 });
    expect(anonymous !== null && ledgerKeyOf(anonymous)).toBe(`:${alice}:r`);
  });
  test("protocol/W-22: unknown fields and key order of known ones do not count, free-form order does", () => {
    const fingerprint = (value: unknown) => fingerprintOf(parse(value) ?? heartbeat("malformed"));
    const { kind, ...rest } = heartbeat("r");
    expect(fingerprint({ ...rest, extra: 1, kind })).toBe(fingerprint(heartbeat("r")));
    expect(fingerprint(callApi("r", [{ a: 1, b: 2 }]))).not.toBe(fingerprint(callApi("r", [{ b: 2, a: 1 }])));
  });
  test("long requests and long secrets are remembered by digest", () => {
    const long = callApi("r", ["x".repeat(100_000)]);
    expect(fingerprintOf(long).length).toBeLessThan(100);
    expect(fingerprintOf(long)).not.toBe(fingerprintOf(callApi("r", [`${"x".repeat(99_999)}y`])));
    expect(ledgerKeyOf({ ...heartbeat("r"), auth: "x".repeat(100_000) }).length).toBeLessThan(100);
  });
});

test("protocol/W-2, W-3: one line, one LF, no LF inside", () => {
  const line = encodeEnvelope(callApi("a", ["two\nlines\r\n", "\u2028"]));
  expect(line.indexOf("\n")).toBe(line.length - 1);
  expect(parseEnvelope(line.slice(0, -1))).toEqual(callApi("a", ["two\nlines\r\n", "\u2028"]));
});

test("protocol/S-18, A-4: a secret of equal length but different, shorter, or missing is refused", () => {
  expect(sameSecret(auth, auth)).toBe(true);
  expect(sameSecret("t".repeat(43), auth)).toBe(false);
  expect(sameSecret("s".repeat(42), auth)).toBe(false);
  expect(sameSecret("é", "e")).toBe(false);
  expect(sameSecret(undefined, auth)).toBe(false);
  expect(sameSecret(auth, undefined)).toBe(false);
  expect(sameSecret("", "")).toBe(false);
});

test("protocol/W-14: the order of keys means nothing to the parser, at any depth but where a value is passed through as it is", () => {
  const turned = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(turned);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([key, each]) => [key, turned(each)]),
    );
  };
  for (const envelope of [register("r"), heartbeat("h"), callApi("c", [{ a: 1, b: { c: 2, d: 3 } }]), offer("o")]) {
    const line = JSON.stringify(turned(envelope));
    expect(line).not.toBe(JSON.stringify(envelope));
    expect(parseEnvelope(line)).toEqual(envelope);
  }
  // One request sent twice is the same one, unless free-form parts differ (W-22).
  const said = (line: string) => fingerprintOf(parseEnvelope(line) ?? okAck(heartbeat("none")));
  expect(said(JSON.stringify(turned(heartbeat("h"))))).toBe(said(JSON.stringify(heartbeat("h"))));
  const call = callApi("c", [{ a: 1, b: 2 }]);
  expect(said(JSON.stringify(turned(call)))).not.toBe(said(JSON.stringify(call)));
});
