/** The question whose a thread shall be: asked once, decided once, and only then cleaned up, with nothing sent twice. */
import { describe, expect, it } from "vitest";
import { epoch, journalSeq, messageId, seatKey, threadId } from "../../../machines/ids.ts";
import { rerouteMachine } from "../../../machines/reroute.machine.ts";
import type { MoveAnswer, Pressed, RerouteInput } from "../../../machines/reroute.machine.ts";
import { chooserKeepMs } from "../../../machines/reroute.rules.ts";
import { faultsOfCoverage, noFaults } from "../../support/charts/coverage.ts";
import { playChart } from "../../support/charts/play.ts";
import { chat, thread } from "../../support/charts/samples.ts";

const source = { chatId: chat, threadId: threadId(77) };
const to = thread(5).target;
const other = thread(6).target;
const asked = { command: null };
const question = messageId(900);
const [one, two] = [journalSeq(1), journalSeq(2)];

const input: RerouteInput = { epoch: epoch(4), id: "4.1", source, asked, isAlbum: false };
const start = (differs: Partial<RerouteInput> = {}) => playChart(rerouteMachine, { ...input, ...differs });
const press = (at = to, query = "q1", message: typeof question | null = question) =>
  ({ type: "chooser.pressed", press: "forward", to: at, query, message }) as const;
const arrived = (isAlbum = false) => ({ type: "content.arrived", isAlbum }) as const;
const accepted = (seq: typeof one) => ({ type: "content.accepted", seq }) as const;
const ended = (seq: typeof one) => ({ type: "content.ended", seq }) as const;
const seatsChanged = { type: "seats.changed" } as const;
const takingAway = { dismissChooser: { epoch: 4, source, message: question } };
const moved = (seqs = [one, two], mayDelete = true): MoveAnswer => ({ kind: "moved", seqs, mayDelete });
const said = (word: string, query = "q1") => ({ type: "reroute.answered", query, word });
const failed = { kind: "failed", reason: "502", retryAfterMs: 2_000 } as const;

const waiting = (message: typeof question | null = question) =>
  start().answer("showChooser", { kind: "shown", message });
const moving = () => waiting().send(press());
const delivering = (answer = moved()) => moving().answer("moveContent", answer);
const cleaning = () => delivering().send(accepted(one)).send(accepted(two));
const uncleaned = () => cleaning().answer("cleanup", failed);
const dismissing = () => moving().answer("moveContent", { kind: "nothing" });

const shown = { epoch: 4, id: "4.1", source, asked, list: "forward" };

describe("asking", () => {
  it("asks at once, in the thread itself", () => {
    expect(start().requests).toEqual({ showChooser: { ...shown, message: null } });
    expect(waiting().state).toBe("choosing.waiting");
    expect(waiting().timers).toEqual({ lifetime: chooserKeepMs });
  });

  it("waits 1.2 s for the rest of an album, from its last part on", () => {
    const reroute = start({ isAlbum: true });
    expect(reroute.requests).toEqual({});
    expect(reroute.timers).toEqual({ albumWindow: 1_200 });
    reroute.send(arrived(true));
    expect(reroute.armed).toEqual(["albumWindow"]);
    reroute.send(arrived());
    expect(reroute.armed).toEqual([]);
    expect(reroute.after("albumWindow").requests).toHaveProperty("showChooser");
  });

  it("updates/OP-41: asks as soon as somebody can be chosen", () => {
    const guided = () => start().answer("showChooser", { kind: "guided" });
    expect(guided().send(seatsChanged).state).toBe("choosing.asking");
    expect(guided().after("showInterval").state).toBe("choosing.asking");
    // That was promised, so it is no matter of half an hour.
    expect(guided().timers).toEqual({ showInterval: 5_000 });
  });

  it("asks nothing any more once some seat has the thread, and takes the question away", () => {
    const reroute = waiting().send(seatsChanged).after("showInterval").answer("showChooser", { kind: "owned" });
    expect(reroute.requests).toEqual({ dismissChooser: { epoch: 4, source, message: question } });
    expect(start().answer("showChooser", { kind: "owned" }).status).toBe("done");
  });

  it("asks again what was certainly not shown", () => {
    const reroute = start().answer("showChooser", { kind: "failed" });
    expect(reroute.timers).toMatchObject({ showPause: 5_000 });
    expect(reroute.after("showPause").fail("showChooser").timers).toMatchObject({ showPause: 10_000 });
    for (let n = 0; n < 9; n += 1) reroute.after("showPause").fail("showChooser");
    expect(reroute.timers).toMatchObject({ showPause: 300_000 });
  });

  it("renews the buttons of a question that stands, at most every 5 s", () => {
    const reroute = waiting().send(seatsChanged).send(seatsChanged);
    expect(reroute.requests).toEqual({});
    expect(reroute.after("showInterval").requests).toEqual({ showChooser: { ...shown, message: question } });
  });

  it("asks a second time only when something more is written and the first was perhaps never sent", () => {
    expect(waiting(null).send(seatsChanged).state).toBe("choosing.waiting");
    expect(waiting(null).send(arrived()).state).toBe("choosing.asking");
    expect(waiting().send(arrived()).requests).toEqual({});
  });

  it("is moved by nobody else's entries", () => {
    expect(waiting().send(accepted(one)).send(ended(two)).state).toBe("choosing.waiting");
  });

  it("updates/OP-40: ends after 30 minutes, whether or not another question is asked meanwhile", () => {
    const reroute = waiting().after("lifetime");
    expect(reroute.requests).toEqual({ dismissChooser: { epoch: 4, source, message: question } });
    expect(reroute.answer("dismissChooser", true).status).toBe("done");
    expect(reroute.facts).toEqual([]);
  });

  it.each([
    ["while it is shown again", () => waiting().send(seatsChanged).after("showInterval")],
    ["while it is to be renewed", () => waiting().send(seatsChanged)],
    ["after a failure", () => start().answer("showChooser", { kind: "failed" })],
    ["when nobody could be chosen", () => start().answer("showChooser", { kind: "guided" })],
  ])("takes a press at any time: %s", (_, at) => {
    expect(at().send(press()).requests).toEqual({ moveContent: { epoch: 4, source, to } });
  });

  it("says that it is under way to a press before any question of this thread", () => {
    expect(start({ isAlbum: true }).send(press()).facts).toEqual([said("underWay")]);
  });
});

describe("a choice", () => {
  it("updates/T-51: gives everything that waits to that thread, in one write", () => {
    expect(moving().requests).toEqual({ moveContent: { epoch: 4, source, to } });
    expect(delivering().facts).toEqual([said("moved"), { type: "reroute.moved", to, seqs: [one, two] }]);
    expect(delivering().state).toBe("delivering");
  });

  it("is asked about again for the same thread when its outcome is not known, whatever is pressed meanwhile", () => {
    const reroute = moving().fail("moveContent").send(press(other, "q2"));
    expect(reroute.facts).toEqual([said("underWay", "q2")]);
    expect(reroute.after("retryInterval").requests).toEqual({ moveContent: { epoch: 4, source, to } });
  });

  it("updates/Q-71: leaves the thread there when its outcome was not known once: more may have moved than is known", () => {
    const reroute = moving()
      .fail("moveContent")
      .after("retryInterval")
      .answer("moveContent", moved([two]));
    expect(reroute.send({ type: "content.accepted", seq: two }).requests).toEqual(takingAway);
  });

  it("updates/OP-34: of somebody who is gone by now moves nothing, and the question stays", () => {
    const reroute = moving().answer("moveContent", { kind: "absent" });
    expect(reroute.facts).toEqual([said("gone")]);
    expect(reroute.requests).toEqual({ showChooser: { ...shown, message: question } });
  });

  it("finds nothing to move: then the question is taken away", () => {
    expect(dismissing().facts).toEqual([said("expired")]);
    expect(dismissing().requests).toEqual({ dismissChooser: { epoch: 4, source, message: question } });
  });

  it("under an epoch that is over moves nothing", () => {
    const reroute = moving().answer("moveContent", { kind: "fenced" });
    expect(reroute.status).toBe("done");
    expect(reroute.facts).toEqual([{ type: "reroute.fenced" }]);
  });

  it.each([
    ["delivering", delivering, "underWay"],
    ["cleaning.deleting", cleaning, "underWay"],
    ["cleaning.unconfirmed", uncleaned, "settled"],
  ] as const)("updates/Q-70: once made, is never made again: %s", (state, at, word) => {
    const reroute = at();
    expect(reroute.state).toBe(state);
    reroute.send(press(other, "q2"));
    expect(reroute.requests).not.toHaveProperty("moveContent");
    expect(reroute.facts.at(-1)).toEqual(said(word, "q2"));
  });
});

describe("an agent that is to move into the thread", () => {
  const seat = seatKey("manual:owner-5");
  const giving = { epoch: 4, source, seat };
  const pressed = (what: Pressed["press"], query = "q1") => ({ ...press(to, query), press: what });
  const listed = () => waiting().send(pressed("restoreList"));
  const listing = () => listed().answer("showChooser", { kind: "shown", message: question });
  const offering = () => listing().send(pressed("restore", "q2"));
  const bound = () => offering().answer("offerThread", { kind: "accepted", seat });
  const seating = () => bound().answer("giveThread", { kind: "given" });
  const asking = { showChooser: { ...shown, message: question } };

  it("is chosen from a list of its own, with a way back", () => {
    expect(listed().facts).toEqual([said("whom")]);
    expect(listed().requests).toEqual({ showChooser: { ...shown, message: question, list: "restore" } });
    expect(listing().state).toBe("choosing.listing.waiting");
    const back = listing().send(pressed("forwardList", "q2"));
    expect(back.facts.at(-1)).toEqual(said("whose", "q2"));
    expect(back.requests).toEqual(asking);
  });

  it("may still be passed over: buttons of either list decide, whichever is shown", () => {
    expect(listing().send(press()).requests).toHaveProperty("moveContent");
    expect(waiting().send(pressed("restore")).requests).toHaveProperty("offerThread");
    const guided = () => start().answer("showChooser", { kind: "guided" });
    expect(guided().send(pressed("restore")).requests).toHaveProperty("offerThread");
    expect(guided().send(pressed("restoreList")).state).toBe("choosing.listing.asking");
    expect(guided().send(pressed("forwardList")).state).toBe("choosing.asking");
  });

  it("is listed as long as it is there, at most every 5 s, and no longer than the question stands", () => {
    const reroute = listing().send(seatsChanged);
    expect(reroute.state).toBe("choosing.listing.outdated");
    expect(reroute.after("showInterval").requests).toHaveProperty("showChooser");
    expect(listed().answer("showChooser", { kind: "guided" }).state).toBe("guided");
    expect(listed().answer("showChooser", { kind: "owned" }).requests).toEqual(takingAway);
    expect(listed().answer("showChooser", { kind: "failed" }).state).toBe("choosing.listing.outdated");
    expect(listed().fail("showChooser").state).toBe("choosing.listing.outdated");
    expect(listing().after("lifetime").requests).toEqual(takingAway);
    const gone = listed().answer("showChooser", { kind: "shown", message: null });
    expect(gone.send(seatsChanged).state).toBe("choosing.listing.waiting");
    expect(gone.send(arrived()).state).toBe("choosing.asking");
  });

  it("has to say that it takes the thread before anything is bound; then it moves, and the question goes", () => {
    expect(offering().requests).toEqual({ offerThread: { epoch: 4, source, to } });
    expect(bound().requests).toEqual({ giveThread: giving });
    expect(seating().facts.at(-1)).toEqual(said("restored", "q2"));
    expect(seating().requests).toEqual({ seatAgent: giving });
    const reroute = seating().answer("seatAgent", true);
    expect(reroute.facts.at(-1)).toEqual({ type: "reroute.restored", seat });
    expect(reroute.requests).toEqual(takingAway);
  });

  it.each([
    ["refuses it", "refused", () => offering().answer("offerThread", { kind: "refused" })],
    ["cannot be asked", "refused", () => offering().fail("offerThread")],
    ["is gone", "gone", () => offering().answer("offerThread", { kind: "absent" })],
    ["has lost its own thread", "gone", () => bound().answer("giveThread", { kind: "absent" })],
    ["is to have a thread that is being deleted", "refused", () => bound().answer("giveThread", { kind: "gone" })],
  ] as const)("updates/T-53: leaves everything as it was when it %s: the question stays", (_, word, at) => {
    expect(at().facts.at(-1)).toEqual(said(word, "q2"));
    expect(at().requests).toEqual(asking);
    expect(at().send(press()).requests).toHaveProperty("moveContent");
  });

  it("does not get a thread that another seat has by now", () => {
    for (const reroute of [
      offering().answer("offerThread", { kind: "owned" }),
      bound().answer("giveThread", { kind: "owned" }),
    ]) {
      expect(reroute.facts.at(-1)).toEqual(said("expired", "q2"));
      expect(reroute.requests).toEqual(takingAway);
    }
  });

  it("is given the thread again when the outcome is not known, whatever is pressed meanwhile", () => {
    const reroute = bound().fail("giveThread").send(press(other, "q3"));
    expect(reroute.facts.at(-1)).toEqual(said("underWay", "q3"));
    expect(reroute.after("retryInterval").requests).toEqual({ giveThread: giving });
  });

  it("has its seat moved again until it has the thread, for as long as a question stands", () => {
    for (const reroute of [seating().answer("seatAgent", false), seating().fail("seatAgent")]) {
      expect(reroute.state).toBe("restoring.remaining");
      expect(reroute.after("showInterval").requests).toEqual({ seatAgent: giving });
    }
    expect(seating().after("lifetime").requests).toEqual(takingAway);
  });

  it("gets nothing under an epoch that is over", () => {
    expect(bound().answer("giveThread", { kind: "fenced" }).facts.at(-1)).toEqual({ type: "reroute.fenced" });
  });
});

describe("the emptied thread", () => {
  const order = { epoch: 4, seat: "", target: source, asks: "rerouted", seenDead: null };

  it("updates/Q-71: is deleted only when everything was taken elsewhere", () => {
    expect(delivering().requests).toEqual({});
    expect(
      delivering()
        .send(accepted(one))
        .send(accepted(journalSeq(99))).requests,
    ).toEqual({});
    expect(cleaning().requests).toEqual({ cleanup: order });
    expect(cleaning().answer("cleanup", { kind: "removed" }).status).toBe("done");
  });

  it("is deleted at once when all was taken before the write was answered", () => {
    const reroute = moving().send(accepted(two)).send(accepted(one)).answer("moveContent", moved());
    expect(reroute.requests).toEqual({ cleanup: order });
  });

  it("stays when it is not ours to delete, when something of it ended unheard, or was not taken for 30 minutes", () => {
    expect(delivering(moved([one], false)).send(accepted(one)).state).toBe("dismissing.deleting");
    expect(delivering().send(ended(journalSeq(99))).state).toBe("delivering");
    expect(delivering().send(ended(one)).state).toBe("dismissing.deleting");
    expect(delivering().after("lifetime").state).toBe("dismissing.deleting");
  });

  it("stays when something more was written there, which is asked about by itself", () => {
    const reroute = delivering().send(arrived());
    expect(reroute.state).toBe("dismissing.deleting");
    expect(reroute.facts.at(-1)).toEqual({ type: "reroute.left" });
    const late = cleaning().send(arrived());
    expect(late.facts.at(-1)).toEqual({ type: "reroute.left" });
    expect(late.answer("cleanup", { kind: "superseded" }).state).toBe("dismissing.deleting");
    expect(uncleaned().send(arrived()).status).toBe("done");
  });

  it("updates/T-52: when its deletion is not confirmed, a press tries that again and nothing else", () => {
    for (const reroute of [uncleaned(), cleaning().fail("cleanup")]) {
      expect(reroute.state).toBe("cleaning.unconfirmed");
      reroute.send(press(other, "q2"));
      expect(reroute.facts.at(-1)).toEqual(said("settled", "q2"));
      expect(reroute.requests).toEqual({ cleanup: order });
    }
    expect(uncleaned().after("lifetime").status).toBe("done");
  });

  it("is nobody's to delete under an epoch that is over", () => {
    expect(cleaning().answer("cleanup", { kind: "lostOwnership" }).facts.at(-1)).toEqual({ type: "reroute.fenced" });
  });
});

describe("the question itself", () => {
  it("is taken away, and when that is not confirmed a press tries it again", () => {
    for (const reroute of [dismissing().answer("dismissChooser", false), dismissing().fail("dismissChooser")]) {
      expect(reroute.state).toBe("dismissing.unconfirmed");
      expect(reroute.send(press()).requests).toEqual({ dismissChooser: { epoch: 4, source, message: question } });
      expect(reroute.facts.at(-1)).toEqual(said("settled"));
    }
    expect(dismissing().answer("dismissChooser", false).send(arrived()).status).toBe("done");
    expect(dismissing().send(arrived()).facts.at(-1)).toEqual({ type: "reroute.left" });
    expect(dismissing().after("lifetime").status).toBe("done");
  });

  it("that was never shown needs no taking away", () => {
    expect(waiting(null).after("lifetime").status).toBe("done");
  });
});

it("every transition of the chart is taken", () => {
  expect(faultsOfCoverage(rerouteMachine)).toEqual(noFaults);
});
