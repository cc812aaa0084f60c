/** The bounds of pairing, and what a code is worth. */
import { describe, expect, it } from "vitest";
import {
  askerOf,
  isOpenRequest,
  judgeAsk,
  judgeCode,
  pairingCode,
  pairingKeepMs,
  pairingRequestsMax,
  pairingText,
  pairingToldEveryMs,
  readCode,
} from "../../../machines/pairing.rules.ts";
import type { PairingRequest, PairingView } from "../../../machines/pairing.rules.ts";
import { readUpdate } from "../../../machines/updates.rules.ts";

const startMs = 1_000_000;
const request = (n: number, differs: Partial<PairingRequest> = {}): PairingRequest => ({
  userId: n,
  name: `User ${n}`,
  code: `CODE-000${n}`,
  askedAtMs: startMs,
  toldAtMs: startMs,
  isRejected: false,
  ...differs,
});
const of = (...requests: PairingRequest[]): PairingView => ({ paired: null, requests });
const ask = (view: PairingView, userId: number, nowMs = startMs) =>
  judgeAsk(view, { asker: { userId, name: "N" }, code: "NEWC-ODE2", nowMs });

describe("who asks", () => {
  const askedBy = (update: object) => {
    const whole = { update_id: 1, ...update };
    return askerOf(readUpdate(whole)!, whole);
  };
  const from = { id: 5, is_bot: false, first_name: "Ann", last_name: "Lee", username: "ann" };
  const message = { message_id: 1, from, chat: { id: 5, type: "private" }, text: "/start" };

  it("a person by a message in their own private chat, under the name they give themselves", () => {
    expect(askedBy({ message })).toEqual({ userId: 5, name: "Ann Lee @ann" });
    const long = { ...from, first_name: `\u202eA\u0000${"x".repeat(99)}`, username: undefined };
    expect(askedBy({ message: { ...message, from: long } })?.name).toBe(`A ${"x".repeat(62)}`);
    expect(askedBy({ message: { ...message, from: { id: 5, is_bot: false } } })).toEqual({ userId: 5, name: "" });
  });

  it.each([
    ["updates/Q-61, T-45 a guest", { guest_message: message }],
    ["an edit", { edited_message: message }],
    ["a button", { callback_query: { id: "1", from, message } }],
    ["a bot", { message: { ...message, from: { ...from, is_bot: true } } }],
    ["somebody in a group", { message: { ...message, chat: { id: -5, type: "supergroup" } } }],
    ["somebody in another person's chat", { message: { ...message, chat: { id: 6, type: "private" } } }],
    ["somebody who speaks as a chat", { message: { ...message, sender_chat: { id: -7 } } }],
  ])("%s asks nothing", (_, update) => {
    expect(askedBy(update)).toBeNull();
  });
});

describe("asking", () => {
  it("gets a code, and the same one again while it lives; it is told again after a minute", () => {
    const first = ask(of(), 1);
    expect(first).toEqual({
      kind: "noted",
      isToBeTold: true,
      request: { ...request(1), name: "N", code: "NEWC-ODE2" },
    });
    expect(ask(of(request(1)), 1, startMs + pairingToldEveryMs - 1)).toEqual({
      kind: "noted",
      isToBeTold: false,
      request: request(1),
    });
    const toldAtMs = startMs + pairingToldEveryMs;
    expect(ask(of(request(1)), 1, toldAtMs)).toEqual({
      kind: "noted",
      isToBeTold: true,
      request: request(1, { toldAtMs }),
    });
  });

  it("is bounded in number; whoever has a code keeps it, and an ended or rejected request makes room", () => {
    const full = Array.from({ length: pairingRequestsMax }, (_, at) => request(at + 1));
    expect(ask(of(...full), 99)).toEqual({ kind: "full" });
    expect(ask(of(...full), 1)).toMatchObject({ kind: "noted", request: { code: "CODE-0001" } });
    expect(ask(of(...full.slice(1), request(1, { isRejected: true })), 99)).toMatchObject({ kind: "noted" });
    expect(ask(of(...full), 99, startMs + pairingKeepMs)).toMatchObject({ kind: "noted" });
  });

  it("is bounded in age: a code ends, and the next one is another", () => {
    expect(isOpenRequest(request(1), startMs + pairingKeepMs - 1)).toBe(true);
    expect(ask(of(request(1)), 1, startMs + pairingKeepMs)).toMatchObject({
      isToBeTold: true,
      request: { code: "NEWC-ODE2", askedAtMs: startMs + pairingKeepMs },
    });
    expect(isOpenRequest(request(1), startMs - 5_000)).toBe(true);
  });

  it("whoever was rejected is not answered until that request would have ended", () => {
    const rejected = of(request(1, { isRejected: true }));
    expect(ask(rejected, 1, startMs + pairingKeepMs - 1)).toEqual({ kind: "rejected" });
    expect(ask(rejected, 1, startMs + pairingKeepMs)).toMatchObject({ kind: "noted" });
  });

  it("is over when somebody is paired", () => {
    expect(ask({ paired: { userId: 1, name: "A", atMs: 0 }, requests: [] }, 2)).toEqual({ kind: "paired" });
  });
});

describe("a code", () => {
  it("stands for its request while that lives and is not rejected", () => {
    const view = of(request(1), request(2, { isRejected: true }));
    const judged = (code: string, nowMs = startMs) => judgeCode(view, { code, nowMs });
    expect(judged("CODE-0001")).toEqual({ kind: "good", request: request(1) });
    expect(judged("CODE-0001", startMs + pairingKeepMs)).toEqual({ kind: "expired" });
    expect(judged("CODE-0002")).toEqual({ kind: "missing" });
    expect(judged("CODE-0003")).toEqual({ kind: "missing" });
  });

  it("has eight signs that are not mistaken for others, and may be typed in any case, with or without the dash", () => {
    const code = pairingCode("00010203040506070809a0b0c0d0e0f0");
    expect(code).toMatch(/^[2-9A-HJKMNP-TW-Z]{4}-[2-9A-HJKMNP-TW-Z]{4}$/);
    expect(pairingCode("f".repeat(32))).not.toBe(code);
    for (const typed of [code, code.toLowerCase(), code.replace("-", ""), ` ${code.replace("-", " – ")} `])
      expect(readCode(typed)).toBe(code);
    expect(readCode("ab")).toBe("AB");
    expect(pairingText(code)).toContain(`partyline pair ${code}\n`);
  });
});
