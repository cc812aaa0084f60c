/** What is sent into a thread that turns out to be gone: held, replaced once, sent again in order, each once. */
import { describe, expect, test } from "vitest";
import type { ApiCall } from "../../../machines/calls.rules.ts";
import type { ThreadTarget } from "../../../machines/ids.ts";
import type { ThreadDoubt } from "../../../machines/provisioning.contract.ts";
import type { CallOutcome } from "../../../services/ports.ts";
import { ThreadSends } from "../../../services/thread-sends.ts";
import type { Stray, ThreadKeeper } from "../../../services/thread-sends.ts";
import { chat, mySeat, thread } from "../../support/charts/samples.ts";

const old = thread(5).target;
const fresh = thread(9).target;
const closed: CallOutcome = { kind: "rejected", error: { error_code: 400, description: "Bad Request: TOPIC_CLOSED" } };
const gone: CallOutcome = {
  kind: "rejected",
  error: { error_code: 400, description: "Bad Request: message thread not found" },
};
const call = (text: string, more: object = {}): ApiCall => ({
  method: "sendMessage",
  body: { chat_id: chat, message_thread_id: 5, text, ...more },
});
const standsIn = (threadId: number | null, messageId: number): CallOutcome => ({
  kind: "ok",
  result: {
    message_id: messageId,
    date: 1,
    chat: { id: chat },
    ...(threadId === null ? {} : { message_thread_id: threadId }),
  },
});

/** A chat in which thread 5 is gone from the start; a replacement ends when the test says so. */
function desk({ answerOld = gone, isTakenBack = true, hasThreads = true, reopens = false } = {}) {
  const made: string[] = [];
  const doubts: ThreadDoubt[] = [];
  const takenBack: (readonly Stray[])[] = [];
  let now: ThreadTarget | null = old;
  let end = (_to: ThreadTarget | null): void => undefined;
  const keeper: ThreadKeeper = {
    seat: mySeat,
    current: () => now,
    hasThreads: () => hasThreads,
    doubt(doubt) {
      doubts.push(doubt);
      return new Promise((resolve) => {
        end = (to) => {
          now = to;
          resolve();
        };
      });
    },
    reopen: () => Promise.resolve(false),
    takeBack(messages) {
      takenBack.push(messages);
      return Promise.resolve(isTakenBack);
    },
  };
  const sends = new ThreadSends({ teller: null, reopens });
  const bodies: unknown[] = [];
  const make = ({ body }: ApiCall): Promise<CallOutcome> => {
    made.push(`${String(body["text"])} → ${String(body["message_thread_id"])}`);
    bodies.push(body);
    return Promise.resolve(body["message_thread_id"] === 5 ? answerOld : standsIn(9, 100 + made.length));
  };
  const send = (asked: ApiCall, by = make) => sends.send({ keeper, own: now ?? old }, asked, by);
  return { made, doubts, takenBack, bodies, send, end: (to: ThreadTarget | null) => end(to) };
}
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
};

test("a refused answer waits for the replacement and is sent there once, with what it replies to allowed to be gone", async () => {
  const { made, doubts, bodies, send, end } = desk();
  const sent = send(call("answer", { reply_parameters: { message_id: 3 } }));
  await settle();
  expect(doubts).toEqual([{ target: old, kind: "gone", reason: "Bad Request: message thread not found" }]);
  expect(made).toEqual(["answer → 5"]);
  end(fresh);
  expect(await sent).toMatchObject({ kind: "ok", result: { message_thread_id: 9 } });
  expect(made).toEqual(["answer → 5", "answer → 9"]);
  expect(bodies[1]).toMatchObject({ reply_parameters: { message_id: 3, allow_sending_without_reply: true } });
});

test("several at once, and those that come meanwhile, are sent there in the order they were asked for, after one replacement", async () => {
  const { made, doubts, send, end } = desk();
  const early = ["a", "b", "c"].map((text) => send(call(text)));
  await settle();
  const late = ["d", "e"].map((text) => send(call(text)));
  await settle();
  expect(doubts.length).toBe(1);
  end(fresh);
  const outcomes = await Promise.all([...early, ...late]);
  expect(outcomes.map(({ kind }) => kind)).toEqual(Array(5).fill("ok"));
  expect(made).toEqual(["a → 5", "b → 5", "c → 5", "a → 9", "b → 9", "c → 9", "d → 9", "e → 9"]);
});

test("what was asked for first goes first, though its refusal comes last", async () => {
  const { made, send, end } = desk();
  let refuse = (): void => undefined;
  let isFirst = true;
  const slow = send(call("slow"), ({ body }) => {
    made.push(`slow → ${String(body["message_thread_id"])}`);
    if (!isFirst) return Promise.resolve(standsIn(9, 1));
    isFirst = false;
    return new Promise((resolve) => (refuse = () => resolve(gone)));
  });
  const quick = send(call("quick"));
  await settle();
  end(fresh);
  await settle();
  expect(made).toEqual(["slow → 5", "quick → 5"]);
  refuse();
  await Promise.all([slow, quick]);
  expect(made).toEqual(["slow → 5", "quick → 5", "slow → 9", "quick → 9"]);
});

test("without a replacement each hears Telegram's own word, and nothing is sent again", async () => {
  const { made, send, end } = desk();
  const sent = send(call("answer"));
  await settle();
  end(old);
  expect(await sent).toBe(gone);
  expect(made).toEqual(["answer → 5"]);
});

test("a seat that is given up meanwhile sends nothing more", async () => {
  const { send, end } = desk();
  const first = send(call("answer"));
  await settle();
  const behind = send(call("behind"));
  end(null);
  expect(await first).toBe(gone);
  expect(await behind).toMatchObject({ kind: "notSent" });
});

test("C24 a message that came to stand outside the thread is taken back, then sent into the replacement", async () => {
  const { made, doubts, takenBack, send, end } = desk({ answerOld: standsIn(null, 77) });
  const sent = send(call("secret"));
  await settle();
  expect(doubts).toMatchObject([{ kind: "suspect" }]);
  end(fresh);
  expect(await sent).toMatchObject({ result: { message_thread_id: 9 } });
  expect(takenBack).toEqual([[{ chatId: chat, messageId: 77 }]]);
  expect(made).toEqual(["secret → 5", "secret → 9"]);
});

test("a message that may still stand elsewhere is not sent again", async () => {
  const elsewhere = standsIn(null, 77);
  const { made, send, end } = desk({ answerOld: elsewhere, isTakenBack: false });
  const sent = send(call("secret"));
  await settle();
  end(fresh);
  expect(await sent).toBe(elsewhere);
  expect(made).toEqual(["secret → 5"]);
});

test("while messages go to the main chat, one that stands there says nothing against the thread", async () => {
  const { doubts, send } = desk({ answerOld: standsIn(null, 77), hasThreads: false });
  expect(await send(call("to all"))).toMatchObject({ kind: "ok" });
  expect(doubts).toEqual([]);
});

test("an id alone, a typing action, another thread and an unknown outcome say nothing against the thread", async () => {
  const ids = desk({ answerOld: { kind: "ok", result: { message_id: 3 } } });
  expect(await ids.send(call("copied"))).toMatchObject({ kind: "ok" });
  const ambiguous = desk({ answerOld: { kind: "ambiguous", reason: "cut" } });
  expect(await ambiguous.send(call("pay"))).toMatchObject({ kind: "ambiguous" });
  const typing = desk();
  expect(await typing.send({ method: "sendChatAction", body: call("x").body })).toBe(gone);
  const elsewhere = desk();
  expect(await elsewhere.send(call("x", { message_thread_id: 6 }))).toMatchObject({ kind: "ok" });
  for (const { doubts } of [ids, ambiguous, typing, elsewhere]) expect(doubts).toEqual([]);
});

describe("C30 a closed thread under the policy `reopen`", () => {
  /** Closed until it is opened; `open` ends an opening. */
  function closedDesk() {
    const made: string[] = [];
    let isOpen = false;
    let openings: ((isDone: boolean) => void)[] = [];
    const keeper: ThreadKeeper = {
      seat: mySeat,
      current: () => old,
      hasThreads: () => true,
      doubt: () => Promise.reject(new Error("a closed thread is not gone")),
      reopen: () => new Promise((resolve) => openings.push(resolve)),
      takeBack: () => Promise.resolve(false),
    };
    const sends = new ThreadSends({ teller: null, reopens: true });
    const make = ({ body }: ApiCall): Promise<CallOutcome> => {
      made.push(String(body["text"]));
      return Promise.resolve(isOpen ? standsIn(5, made.length) : closed);
    };
    return {
      made,
      openings: () => openings.length,
      send: (text: string, by = make) => sends.send({ keeper, own: old }, call(text), by),
      open: (isDone: boolean) => {
        isOpen = isDone;
        for (const end of openings) end(isDone);
        openings = [];
      },
    };
  }

  test("is opened once for all that met it closed, and each goes there once, in order", async () => {
    const { made, openings, send, open } = closedDesk();
    const sent = ["a", "b", "c"].map((text) => send(text));
    await settle();
    const late = send("d");
    await settle();
    expect([openings(), made]).toEqual([1, ["a", "b", "c"]]);
    open(true);
    const outcomes = await Promise.all([...sent, late]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["ok", "ok", "ok", "ok"]);
    expect(made).toEqual(["a", "b", "c", "a", "b", "c", "d"]);
  });

  test("that cannot be opened answers as it did, and is tried again for the next call only", async () => {
    const { made, openings, send, open } = closedDesk();
    const sent = send("a");
    await settle();
    open(false);
    expect(await sent).toBe(closed);
    expect([openings(), made]).toEqual([0, ["a"]]);
    void send("b");
    await settle();
    expect(openings()).toBe(1);
  });

  test("whose refusal comes after the opening needs no second one", async () => {
    const { made, openings, send, open } = closedDesk();
    let refuse = (): void => undefined;
    let isFirst = true;
    const slow = send("slow", () => {
      made.push("slow");
      if (!isFirst) return Promise.resolve(standsIn(5, 9));
      isFirst = false;
      return new Promise((resolve) => {
        refuse = () => {
          resolve(closed);
        };
      });
    });
    const quick = send("quick");
    await settle();
    open(true);
    await settle();
    refuse();
    expect((await slow).kind).toBe("ok");
    expect((await quick).kind).toBe("ok");
    expect([openings(), made]).toEqual([0, ["slow", "quick", "slow", "quick"]]);
  });
});
