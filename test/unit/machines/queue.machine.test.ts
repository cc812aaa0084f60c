/** The queue chart: one turn at a time, what commands do to it and to what waits, updates beside turns, nothing overtakes. */
import { describe, expect, it } from "vitest";
import { journalSeq, messageId } from "../../../machines/ids.ts";
import { queueMachine } from "../../../machines/queue.machine.ts";
import type { GivenCommand } from "../../../machines/queue.machine.ts";
import type { NewItem } from "../../../machines/queue.rules.ts";
import { faultsOfCoverage, noFaults } from "../../support/charts/coverage.ts";
import { playChart } from "../../support/charts/play.ts";

const start = () => playChart(queueMachine, { asidesMax: 2 });
type Play = ReturnType<typeof start>;

const item = (n: number, more: Partial<NewItem> = {}): NewItem => ({
  id: journalSeq(n),
  kind: "prompt",
  lane: "default",
  standing: "waiting",
  members: [{ seq: journalSeq(n), role: "message", message: messageId(100 + n) }],
  ...more,
});
const open = (play: Play, n: number, more: Partial<NewItem> = {}) =>
  play.send({ type: "item.opened", item: item(n, more) });
const give = (play: Play, command: GivenCommand, by: number | null = null) =>
  play.send({ type: "command.given", command, by: by === null ? null : journalSeq(by) });
const reacted = (play: Play, n: number, by: number, [before, after]: readonly (readonly string[])[]) =>
  play.send({
    type: "item.reacted",
    id: journalSeq(n),
    member: { seq: journalSeq(by), role: "change", message: messageId(100 + n) },
    change: { before: before ?? [], after: after ?? [] },
  });
const waiting = (play: Play) => play.context.items.map((each) => each.id);
const turn = (play: Play) => play.state.split(" + ").find((part) => part.startsWith("turns.")) ?? "";
const dispatching = (n = 1) => open(start(), n);
const running = (n = 1) => dispatching(n).answer("takeUp", { kind: "taken" });
const ended = (play: Play) => play.answer("runTurn", undefined);

describe("a turn", () => {
  it("begins with the head once it is taken up, and ends before the next begins", () => {
    const play = open(running(), 2);
    expect(turn(play)).toBe("turns.awaitingHost.running");
    expect(play.requests).toMatchObject({ runTurn: { item: { id: 1 } } });
    ended(play);
    expect(play.requests).toMatchObject({ takeUp: { item: { id: 2 } } });
  });

  it("updates/T-67: stays at its place when the store does not answer, and is tried again", () => {
    const play = open(dispatching(), 2).fail("takeUp");
    expect(waiting(play)).toEqual([1, 2]);
    expect(turn(play)).toBe("turns.pausing");
    play.after("retryInterval");
    expect(play.requests).toMatchObject({ takeUp: { item: { id: 1 } } });
  });

  it("updates/T-31, Q-34, OP-21: no handler has it before it is on disk that it may, and a store that fails is asked again", () => {
    const play = dispatching();
    for (let tries = 0; tries < 3; tries += 1) {
      expect(Object.keys(play.requests)).toEqual(["takeUp"]);
      play.fail("takeUp");
      expect(play.requests).toEqual({});
      play.after("retryInterval");
    }
    expect(Object.keys(play.answer("takeUp", { kind: "taken" }).requests)).toEqual(["runTurn"]);
  });

  it("updates/T-65: a control keeps everything else waiting until its own end", () => {
    const play = open(start(), 1, { kind: "control", lane: "control" }).answer("takeUp", { kind: "taken" });
    const { requests } = play;
    expect(requests).toMatchObject({ runTurn: { item: { id: 1, kind: "control" } } });
    open(open(play, 2), 3, { kind: "control", lane: "control" });
    play.send({ type: "host.held" }).send({ type: "host.released" });
    expect(play.requests).toEqual(requests);
    expect(ended(play).requests).toMatchObject({ takeUp: { item: { id: 3 } } });
  });

  it("updates/OP-47: a run of the host's own neither takes the head that is on its way to it for its own nor ends it", () => {
    const play = dispatching().send({ type: "host.held" });
    expect(play.requests).toMatchObject({ takeUp: { item: { id: 1 } } });
    play.answer("takeUp", { kind: "taken" });
    expect(play.requests).toMatchObject({ runTurn: { item: { id: 1 } } });
    play.send({ type: "host.released" }).send({ type: "host.held" });
    expect(play.requests).toMatchObject({ runTurn: { item: { id: 1 } } });
    expect(turn(open(ended(play), 2))).toBe("turns.held");
  });

  it("does not begin with what is another's by now", () => {
    const play = dispatching().answer("takeUp", { kind: "notOurs" });
    expect(play.latest).toEqual([{ type: "item.lost", seqs: [1] }]);
    expect(turn(play)).toBe("turns.idle");
  });

  it("is over when its slot failed", () => {
    expect(turn(running().fail("runTurn"))).toBe("turns.idle");
  });

  it("updates/T-69, Q-78: does not begin while the host is busy by itself", () => {
    const play = open(start().send({ type: "host.held" }), 1);
    expect(turn(play)).toBe("turns.held");
    give(play, "next");
    expect(play.latest).toMatchObject([{ outcome: { kind: "busy" } }]);
    give(play, "abort");
    expect(play.latest).toMatchObject([{ outcome: { kind: "nothingRuns" } }]);
    play.send({ type: "host.released" });
    expect(turn(play)).toBe("turns.dispatching.wanted");
  });

  it("drops what waits on /stop while held", () => {
    const play = give(open(start().send({ type: "host.held" }), 1), "stop", 9);
    expect(play.latest).toMatchObject([
      { type: "items.discarded", seqs: [1], reason: "stopped" },
      { command: "stop", by: 9, outcome: { kind: "stopped", dropped: 1, aborted: false } },
      { type: "offers.recalled", ids: [] },
    ]);
  });
});

describe("what gathers, is skipped or is offered", () => {
  it("updates/Q-84, T-64, T-28: a head that is not ready is neither overtaken nor skipped over", () => {
    const play = open(open(start(), 1, { standing: "gathering" }), 2);
    expect(turn(play)).toBe("turns.idle");
    play.send({
      type: "item.grown",
      id: journalSeq(1),
      member: { seq: journalSeq(3), role: "message", message: null },
    });
    play.send({ type: "item.closed", id: journalSeq(1) });
    expect(play.requests).toMatchObject({ takeUp: { item: { id: 1, members: [{ seq: 1 }, { seq: 3 }] } } });
  });

  it("updates/T-57, Q-80, OP-19: a skipped head leaves without a turn, and is settled with its reactions", () => {
    const play = open(running(), 2);
    reacted(play, 2, 8, [[], ["👍"]]);
    reacted(play, 2, 9, [["👍"], ["👍", "💩"]]);
    expect(play.context.items).toMatchObject([{ lane: "priority", skipEmoji: "💩" }]);
    ended(play);
    expect(play.latest).toEqual([{ type: "items.discarded", seqs: [2, 8, 9], reason: "skipped" }]);
    expect(turn(play)).toBe("turns.idle");
  });

  it("updates/Q-45: what is offered is not dispatched, and comes back or leaves", () => {
    const held = () => open(open(start().send({ type: "host.held" }), 1), 2);
    const offered = () =>
      held()
        .send({ type: "item.offered", id: journalSeq(1) })
        .send({ type: "host.released" });
    expect(turn(offered())).toBe("turns.idle");
    const back = offered().send({ type: "offer.ended", id: journalSeq(1), how: "returned" });
    expect(back.requests).toMatchObject({ takeUp: { item: { id: 1 } } });
    const left = offered().send({ type: "offer.ended", id: journalSeq(1), how: "transferred" });
    expect(left.requests).toMatchObject({ takeUp: { item: { id: 2 } } });
  });

  it("updates/OP-7: what is on its way to the host is not offered", () => {
    const play = dispatching().send({ type: "item.offered", id: journalSeq(1) });
    expect(play.requests).toMatchObject({ takeUp: { item: { id: 1, standing: "waiting" } } });
  });

  it("/stop recalls what is offered: should it come back, it ends", () => {
    const play = open(start().send({ type: "host.held" }), 1).send({ type: "item.offered", id: journalSeq(1) });
    give(play, "stop");
    expect(play.latest).toContainEqual({ type: "offers.recalled", ids: [1] });
    play.send({ type: "offer.ended", id: journalSeq(1), how: "returned" });
    expect(play.latest).toEqual([{ type: "items.discarded", seqs: [1], reason: "stopped" }]);
    expect(waiting(play)).toEqual([]);
  });
});

describe("commands", () => {
  it("updates/T-71: /stop ends the turn and all that waits", () => {
    const play = open(open(running(), 2), 3);
    give(play, "stop", 9);
    expect(play.latest).toMatchObject([
      { type: "items.discarded", seqs: [2, 3], reason: "stopped" },
      { outcome: { kind: "stopped", dropped: 2, aborted: true } },
      { type: "offers.recalled" },
      { type: "turn.aborted", id: 1 },
    ]);
    expect(turn(play)).toBe("turns.awaitingHost.aborting");
    expect(turn(ended(play))).toBe("turns.idle");
  });

  it("updates/OP-20: /stop ends what still gathers, too", () => {
    const play = give(open(running(), 2, { standing: "gathering" }), "stop", 9);
    expect(play.latest).toContainEqual({ type: "items.discarded", seqs: [2], reason: "stopped" });
    expect(waiting(play)).toEqual([]);
  });

  it("updates/T-70: /next ends the turn, and exactly the head starts", () => {
    const play = give(open(open(running(), 2), 3), "next");
    expect(play.latest).toMatchObject([{ type: "turn.aborted", id: 1 }, { outcome: { kind: "started" } }]);
    ended(play);
    expect(play.requests).toMatchObject({ takeUp: { item: { id: 2 } } });
    expect(waiting(play)).toEqual([3]);
  });

  it("updates/T-68: after /abort the next prompt absorbs what waited, in one turn with all entries", () => {
    const play = give(open(open(running(), 2), 3), "abort");
    ended(play);
    expect(turn(play)).toBe("turns.folding");
    open(play, 4);
    expect(play.requests).toMatchObject({
      takeUp: { item: { id: 4, history: [[{ seq: 2 }], [{ seq: 3 }]], members: [{ seq: 4 }] } },
    });
    expect(waiting(play)).toEqual([]);
  });

  it.each([
    ["updates/OP-48: /continue", (play: Play) => open(play, 5, { lane: "control" }), 5],
    ["/next", (play: Play) => give(play, "next"), 2],
  ] as const)("after /abort %s goes on without absorbing", (_, act, head) => {
    const play = ended(give(open(running(), 2), "abort"));
    act(play);
    expect(play.requests).toMatchObject({ takeUp: { item: { id: head, history: [] } } });
  });

  it("after /abort /stop clears, /next on nothing says so, and /abort finds no run", () => {
    const folding = () => ended(give(open(running(), 2), "abort"));
    const stopped = give(folding(), "stop");
    expect(stopped.latest).toContainEqual({ type: "items.discarded", seqs: [2], reason: "stopped" });
    expect(turn(stopped)).toBe("turns.idle");
    const idle = give(ended(give(running(), "abort")), "next");
    expect(idle.latest).toMatchObject([{ outcome: { kind: "empty" } }]);
    expect(turn(give(folding(), "abort"))).toBe("turns.folding");
  });

  it("say so when there is nothing to act on", () => {
    expect(give(start(), "next").latest).toMatchObject([{ outcome: { kind: "empty" } }]);
    expect(give(start(), "abort").latest).toMatchObject([{ outcome: { kind: "nothingRuns" } }]);
    expect(give(start(), "stop").latest).toContainEqual(expect.objectContaining({ command: "stop" }));
    expect(give(running(), "next").latest).toMatchObject([{ outcome: { kind: "empty" } }]);
    expect(give(open(start(), 1, { standing: "gathering" }), "next").latest).toMatchObject([
      { outcome: { kind: "started" } },
    ]);
  });

  it.each(["stop", "abort", "next"] as const)("/%s calls back what is on its way to the host", (command) => {
    const play = give(dispatching(), command);
    expect(turn(play)).toBe("turns.dispatching.revoked");
    play.answer("takeUp", { kind: "taken" });
    expect(play.latest).toEqual([{ type: "items.discarded", seqs: [1], reason: "stopped" }]);
    expect(turn(play)).toBe("turns.idle");
    const unanswered = give(dispatching(), command).fail("takeUp");
    expect(unanswered.latest).toEqual([{ type: "items.discarded", seqs: [1], reason: "stopped" }]);
    expect(waiting(unanswered)).toEqual([]);
  });
});

describe("updates beside turns", () => {
  const arrive = (play: Play, n: number, isUrgent = false) =>
    play.send({ type: "aside.arrived", aside: { seq: journalSeq(n), isUrgent } });
  const dispatched = (play: Play) => play.facts.flatMap((fact) => (fact.type === "aside.dispatched" ? [fact.seq] : []));

  it("wait for somebody to listen, and then go in order", () => {
    const play = arrive(arrive(start(), 1), 2);
    expect(dispatched(play)).toEqual([]);
    play.send({ type: "host.attached" });
    expect(dispatched(play)).toEqual([1, 2]);
  });

  it("C74: never wait for a turn", () => {
    const play = arrive(running().send({ type: "host.attached" }), 7);
    expect(dispatched(play)).toEqual([7]);
  });

  it("are at most so many at once; an urgent one goes ahead of what waits", () => {
    const play = start().send({ type: "host.attached" });
    for (const n of [1, 2, 3]) arrive(play, n);
    arrive(play, 4, true);
    arrive(play, 5, true);
    expect(dispatched(play)).toEqual([1, 2]);
    play.send({ type: "aside.ended" }).send({ type: "aside.ended" }).send({ type: "aside.ended" });
    expect(dispatched(play)).toEqual([1, 2, 4, 5, 3]);
  });

  it("wait again when nobody listens any more", () => {
    const play = start().send({ type: "host.attached" }).send({ type: "host.detached" });
    expect(dispatched(arrive(play, 1))).toEqual([]);
    const full = start().send({ type: "host.attached" });
    for (const n of [1, 2]) arrive(full, n);
    full.send({ type: "host.detached" }).send({ type: "aside.ended" });
    expect(dispatched(arrive(full, 3))).toEqual([1, 2]);
  });
});

it("every transition of the chart is taken", () => {
  // Declared as of no consequence where they stand.
  open(start(), 1).send({ type: "host.detached" });
  start().send({ type: "host.attached" }).send({ type: "host.attached" });
  expect(faultsOfCoverage(queueMachine)).toEqual(noFaults);
});
