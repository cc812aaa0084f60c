/** Calls into a closed thread: they wait in their order, nobody keeps knocking, and each is made once. */
import { beforeEach, describe, expect, it } from "vitest";
import { HeldCalls } from "../../../services/held-calls.ts";
import type { CallOutcome } from "../../../services/ports.ts";
import { ManualClock, settled } from "../../support/wire/manual-clock.ts";

const closed: CallOutcome = { kind: "rejected", error: { error_code: 400, description: "Bad Request: TOPIC_CLOSED" } };
const ok: CallOutcome = { kind: "ok", result: true };

let clock: ManualClock;
let held: HeldCalls;
let isClosed: boolean;
let isKnown: boolean;
let isOver: boolean;
/** What reached Telegram, and what it said. */
let tried: string[];
let ended: string[];

beforeEach(() => {
  clock = new ManualClock();
  [isClosed, isKnown, isOver] = [true, true, false];
  [tried, ended] = [[], []];
  held = new HeldCalls({
    clock,
    log: { event: () => undefined },
    isOver: () => isOver,
    isClosed: () => Promise.resolve(isClosed && isKnown),
  });
});

const send = (text: string, method = "sendMessage"): void => {
  const make = (): Promise<CallOutcome> => {
    tried.push(text);
    return Promise.resolve(isClosed ? closed : ok);
  };
  void held.run({ method, body: { text } }, make).then((outcome) => ended.push(`${text} ${outcome.kind}`));
};

describe("threads/OP-23, S-94: a closed thread", () => {
  it("keeps what goes there until it is open, and then makes each call once, in order", async () => {
    for (const text of ["a", "b"]) send(text);
    await settled();
    send("c");
    await clock.advance(60_000);
    // Nobody knocks while the store says that it is closed; the third one did not even begin.
    expect([tried, ended]).toEqual([["a", "b"], []]);
    isClosed = false;
    await clock.advance(5_000);
    expect(tried).toEqual(["a", "b", "a", "b", "c"]);
    expect(ended).toEqual(["a ok", "b ok", "c ok"]);
  });

  it("is tried less and less often where nobody told that it was closed", async () => {
    isKnown = false;
    send("a");
    await clock.advance(120_000);
    expect(tried.length).toBeGreaterThan(4);
    expect(tried.length).toBeLessThan(10);
    isClosed = false;
    await clock.advance(31_000);
    expect(ended).toEqual(["a ok"]);
  });

  it("does not keep what needs no open thread", async () => {
    send("edit", "editMessageText");
    send("typing", "sendChatAction");
    await settled();
    expect(ended).toEqual(["edit rejected", "typing rejected"]);
  });

  it("keeps nothing when the instance has stopped: whoever asked is told that nothing was sent", async () => {
    send("a");
    await settled();
    isOver = true;
    await clock.advance(1_000);
    expect([tried, ended]).toEqual([["a"], ["a notSent"]]);
  });
});
