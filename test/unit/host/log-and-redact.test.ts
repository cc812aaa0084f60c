import { HttpError } from "grammy";
import { describe, expect, it } from "vitest";
import { createLog, type LogSettings } from "../../../adapters/host/log.ts";
import { redactor } from "../../../adapters/host/redact.ts";

const token = `987654321:${"AbC-_9".repeat(6)}`;
const secret = "s3cret/of the lease";
const redact = redactor(() => [secret, ""]);

describe("redaction", () => {
  it("removes anything shaped like a bot token, also in addresses and encoded", () => {
    const url = `https://api.telegram.org/bot${token}/sendMessage`;
    expect(redact.text(`POST ${url} failed`)).toBe(
      "POST https://api.telegram.org/bot<redacted-token>/sendMessage failed",
    );
    expect(redact.text(encodeURIComponent(token))).toBe("<redacted-token>");
  });

  it("threads/T-40: removes the exact secrets, plain and encoded, the longer ones whole", () => {
    expect(redact.text(`a ${secret} b ${encodeURIComponent(secret)}`)).toBe("a <redacted> b <redacted>");
    expect(redactor(() => ["abc", "abcdef"]).text("abcdef")).toBe("<redacted>");
  });

  it("leaves ids and times alone", () => {
    const plain = "4711:1750000000000:12 manual:4700:start:88123 12:30:00";
    expect(redact.text(plain)).toBe(plain);
  });

  it("reaches nested values, keys, maps, errors, their causes and grammY's hidden error", () => {
    const cause = new Error(`GET /bot${token}/getMe`);
    const http = new HttpError("Network request failed", cause);
    const shown = redact.value({
      list: [{ [token]: secret }],
      map: new Map([["k", token]]),
      set: new Set([token]),
      url: new URL(`https://x/bot${token}/`),
      error: new Error("outer", { cause: new AggregateError([cause], token) }),
      http,
    });
    const text = JSON.stringify(shown);
    expect(text).not.toContain(token);
    expect(text).not.toContain(secret);
    expect(text).toContain("GET /bot<redacted-token>/getMe");
    expect(cause.message).toContain(token);
  });

  it("survives cycles, throwing getters, proxies, odd values and great size", () => {
    const cyclic: Record<string, unknown> = { big: 1n, fn: () => 1, none: undefined, date: new Date(Number.NaN) };
    cyclic["self"] = cyclic;
    Object.defineProperty(cyclic, "trap", {
      enumerable: true,
      get: () => {
        throw new Error("no");
      },
    });
    cyclic["proxy"] = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error("no");
        },
      },
    );
    cyclic["bytes"] = new Uint8Array(9);
    cyclic["many"] = Array.from({ length: 1000 }, (_, i) => i);
    expect(redact.value(cyclic)).toMatchObject({
      big: "1",
      fn: "<function>",
      self: "<cycle>",
      trap: "<unreadable>",
      proxy: "<unreadable>",
      bytes: "<9 bytes>",
      date: "<invalid date>",
    });
    expect(JSON.stringify(redact.value("7".repeat(100_000))).length).toBeLessThan(17_000);
  });
});

describe("the log", () => {
  const lines: string[] = [];
  const log = (over: Partial<LogSettings> = {}) => {
    lines.length = 0;
    const write = (line: string): void => {
      lines.push(line);
    };
    return createLog({ write, level: "info", format: "ndjson", redact, nowMs: () => 0, ...over });
  };

  it("writes one JSON object per line", () => {
    log().event("warn", "lease.lost", { epoch: 4, reason: "two\nlines", error: new Error(token) });
    expect(lines[0]?.match(/\n/g)).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      at: "1970-01-01T00:00:00.000Z",
      level: "warn",
      phase: "lease.lost",
      fields: { epoch: 4, reason: "two\nlines", error: { name: "Error", message: "<redacted-token>" } },
    });
  });

  it("writes readable lines that stay one line", () => {
    log({ format: "readable" }).event("info", "poll\u001b.ok", { chat: -100, text: "a b\n\u001b[2J" });
    expect(lines).toEqual([`1970-01-01T00:00:00.000Z INFO  poll?.ok chat=-100 text="a b\\n\\u001b[2J"\n`]);
  });

  it("leaves out what is below its level", () => {
    log({ level: "warn" }).event("info", "x", {});
    expect(lines).toEqual([]);
  });

  it("keeps lines short, and NDJSON valid", () => {
    const fields = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`f${i}`, "x".repeat(5000)]));
    for (const format of ["ndjson", "readable"] as const) {
      log({ format }).event("info", "x", fields);
      expect(lines[0]?.length).toBeLessThan(8400);
    }
    log().event("info", "x", fields);
    expect(JSON.parse(lines[0] ?? "")).toHaveProperty("cut");
  });

  it("never throws, neither for a broken writer nor for a broken clock", () => {
    const broken = (): never => {
      throw new Error("EPIPE");
    };
    expect(() => log({ write: broken }).event("error", "x", {})).not.toThrow();
    expect(() => log({ nowMs: () => Number.NaN }).event("error", "x", {})).not.toThrow();
  });
});
