/** The tests of `activation.machine.test.ts` about who may write to the bot, where no user is configured. */
import { describe, expect, it } from "vitest";
import { chatId } from "../../../machines/ids.ts";
import { chat } from "../../support/charts/samples.ts";
import {
  active,
  answered,
  bound,
  classic,
  committed,
  polled,
  running,
  startUnpaired,
  troubled,
} from "./activation-scenes.ts";

const known = { type: "pairing.known", chatId: chat } as const;
const missing = { type: "pairing.missing" } as const;
const asking = () => startUnpaired().send(missing);
const others = { type: "pairing.known", chatId: chatId(99) } as const;

describe("updates §3.3 nobody is known who may write to the bot", () => {
  it("looks first: while it does not know, it does nothing", () => {
    const chart = startUnpaired();
    expect(chart.requests).toEqual({ audience: undefined });
    expect(chart.facts).toEqual([]);
  });

  it("goes on as ever when somebody is paired already, in that person's chat", () => {
    const chart = startUnpaired().send(known);
    expect(chart.requests).toEqual({ identify: undefined });
    chart.answer("identify", { kind: "topics" });
    expect(chart.requests).toMatchObject({ provisioning: { wish: { chatId: chat } } });
  });

  it("says that nobody is, polls to hear who asks, and has neither endpoint nor thread", () => {
    const chart = asking();
    expect(chart.latest).toMatchObject([{ type: "activation.troubled", trouble: "unpaired" }]);
    expect(Object.keys(chart.requests).sort()).toEqual(["audience", "dispatcher", "poller"]);
    expect(chart.send(answered).told).toEqual([{ to: "dispatcher", event: { type: "journal.changed" } }]);
    expect(chart.send(missing).state).toBe("pairing.polled");
    expect(chart.send(troubled("conflict")).latest).toEqual([{ type: "activation.doubted" }]);
    expect(chart.send(troubled("failed")).latest).toEqual([]);
  });

  it("becomes leader in full as soon as somebody is paired", () => {
    const chart = asking().send(known);
    expect(running(chart)).toEqual([]);
    chart.answer("identify", { kind: "topics" }).answer("provisioning", bound).answer("seatOwn", committed);
    chart.send({ type: "endpoint.open" }).send({ type: "polling.started" });
    expect(chart.state).toBe("serving.polled.active.settled");
  });

  it.each(["polling.fenced", "dispatcher.fenced"] as const)("stands still on %s", (type) => {
    expect(asking().send({ type }).state).toBe("fencedOff");
  });
});

describe("updates §3.3 the pairing changes while we lead", () => {
  it.each([
    ["the bus", active],
    ["the bus while the poller starts", polled],
    ["classic", classic],
  ])("revoked: %s ends, and it asks who comes next", (_, reached) => {
    const chart = reached().send(missing);
    expect(chart.requests).toEqual({ audience: undefined });
    expect(chart.timers).toEqual({});
    chart.send(missing).send(others).answer("identify", { kind: "topics" });
    expect(chart.requests).toMatchObject({ provisioning: { wish: { chatId: 99, carried: null } } });
  });

  it.each([
    ["the bus", active],
    ["the bus while the poller starts", polled],
    ["classic", classic],
  ])("somebody else is paired: %s begins anew in their chat", (_, reached) => {
    const chart = reached().send(others);
    expect(chart.requests).toEqual({ identify: undefined });
    chart.answer("identify", { kind: "topics" });
    expect(chart.requests).toMatchObject({ provisioning: { wish: { chatId: 99, carried: null } } });
  });

  it.each([
    ["the bus", active],
    ["classic", classic],
  ])("the same person: %s goes on", (_, reached) => {
    const { state } = reached();
    expect(reached().send(known).state).toBe(state);
  });

  it("a late word about it moves nothing", () => {
    const chart = startUnpaired().send(known);
    expect(chart.send(missing).send(others).state).toBe("identifying");
  });
});
