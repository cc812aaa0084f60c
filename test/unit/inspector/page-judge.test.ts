/** What the page finds broken, and what it does not. */
import { expect, test } from "vitest";
import type { Frame } from "../../../inspector/frames.ts";
import { History } from "../../../inspector/page/model.ts";
import { sliceOf } from "../../../inspector/page/slice.ts";
import { leads, Story } from "../../support/inspector/story.ts";

const quiet = (story: Story): Story => story.tell({ kind: "note", text: "time goes by" }, { afterMs: 1_000 });

test("an update settled twice is broken from the second settlement on", () => {
  const story = leads(new Story(), "i1", 1);
  story.crossing("i1", { way: "journal", name: "settle", id: "1", updates: [7] });
  expect(story.brokenNow).toEqual([]);
  story.crossing("i1", { way: "journal", name: "settle", id: "2", updates: [7] });
  expect(story.brokenNow).toEqual(["delivery/settledOnce"]);
  const it = story.judge.breakOf("delivery/settledOnce", story.history.end - 1);
  expect(it).toMatchObject({ step: story.history.end - 1, detail: "update 7" });
  expect(story.judge.brokenAt(story.history.end - 2).size).toBe(0);
});

test("a settlement that the store refused is none", () => {
  const story = leads(new Story(), "i1", 1);
  story.crossing("i1", { way: "journal", name: "settle", id: "1", updates: [7] });
  story.crossing("i1", { way: "journal", name: "settle", id: "2", updates: [7], outcome: "notYours" });
  expect(story.brokenNow).toEqual([]);
});

const handOut = { way: "host", name: "handed to its handler", updates: [7] } as const;

test("an update handed out twice is broken; after its first holder is gone it is not", () => {
  const twice = leads(new Story(), "i1", 1);
  twice.message("i1", { ...handOut, id: "1", phase: "end" }).message("i1", { ...handOut, id: "2", phase: "end" });
  expect(twice.brokenNow).toEqual(["delivery/handedOutOnce"]);

  const again = leads(new Story(), "i1", 1).attach("i2", "i2");
  again.message("i2", { ...handOut, id: "1", phase: "end" }).tell({ kind: "source", id: "i2", state: "gone" });
  again.message("i1", { ...handOut, id: "2", phase: "end" });
  expect(again.brokenNow).toEqual([]);
});

test("an update that the next poll gives up must have been admitted", () => {
  const poll = { way: "telegram", name: "getUpdates" } as const;
  const fetched = (): Story =>
    leads(new Story(), "i1", 1)
      .crossing("i1", { ...poll, id: "1", updates: [7] })
      .rest("i1", "poller", { value: "fetching", context: { cursor: 8 } });
  const lost = fetched().message("i1", { ...poll, id: "2", phase: "begin" });
  expect(lost.brokenNow).toEqual(["polling/confirmedIsDurable"]);

  const kept = fetched().crossing("i1", { way: "journal", name: "admit", id: "3", updates: [7] });
  expect(kept.message("i1", { ...poll, id: "2", phase: "begin" }).brokenNow).toEqual([]);

  // The admission may be what was left out.
  const unseen = fetched().tell({ kind: "dropped", dropped: 2 }, { from: "i1" });
  expect(unseen.message("i1", { ...poll, id: "2", phase: "begin" }).brokenNow).toEqual([]);
});

test("two holders of one epoch are broken when they still are after a while, from where that began", () => {
  const story = leads(leads(new Story(), "i1", 3), "i2", 3);
  expect(story.brokenNow).toContain("lease/epochIncreases");
  expect(story.brokenNow).not.toContain("lease/oneHolderPerEpoch");
  const began = story.history.end - 2;
  quiet(story);
  expect(story.judge.breakOf("lease/oneHolderPerEpoch", story.history.end - 1)?.step).toBe(began);
  story.rest("i1", "lease", { value: "lost", context: { epoch: 3 } });
  expect(story.brokenNow).not.toContain("lease/oneHolderPerEpoch");
  expect(story.judge.brokenAt(story.history.end - 2)).toContain("lease/oneHolderPerEpoch");
});

test("a leader side that outlives its lease for a moment is nothing, for longer it is", () => {
  const story = leads(new Story(), "i1", 1);
  quiet(story.rest("i1", "lease", { value: "lost", context: { epoch: 1 } }));
  expect(story.brokenNow).toContain("instance/leadsOnlyWhatItHolds");
  const quick = leads(new Story(), "i1", 1);
  quick.rest("i1", "lease", { value: "lost", context: { epoch: 1 } });
  quiet(quick.rest("i1", "activation", { value: "stopped", status: "done" }));
  expect(quick.brokenNow).toEqual([]);
});

test("while frames are missing no moment is judged", () => {
  const story = leads(new Story(), "i1", 1).rest("i1", "lease", { value: "lost", context: { epoch: 1 } });
  story.tell({ kind: "dropped", dropped: 9 }, { from: "i1" });
  expect(quiet(story).brokenNow).toEqual([]);
  expect(quiet(quiet(story)).brokenNow).toEqual(["instance/leadsOnlyWhatItHolds"]);
});

test("a seat with two holders in the store is broken", () => {
  const seat = (instanceId: string) => ({ seat: "manual:x:A", instanceId, ended: null });
  const story = leads(new Story(), "i1", 1);
  quiet(
    story.tell({ kind: "line", status: { epoch: 1, leader: { instanceId: "i1" }, seats: [seat("i2"), seat("i3")] } }),
  );
  expect(story.brokenNow).toEqual(["registration/oneSeatOneHolder"]);
});

test("two heartbeats, or two polls, of one instance under way at a time are broken; one after the other is not", () => {
  const beat = { way: "out", name: "follower.heartbeat" } as const;
  const story = leads(new Story(), "i1", 1).attach("i2", "i2");
  quiet(story.crossing("i2", { ...beat, id: "1" }).message("i2", { ...beat, id: "2", phase: "begin" }));
  // The leader's own word of it is no second one.
  quiet(story.message("i1", { ...beat, way: "in", peer: "i2", id: "2", phase: "begin" }));
  expect(story.brokenNow).toEqual([]);
  quiet(story.message("i2", { ...beat, id: "3", phase: "begin" }));
  expect(story.brokenNow).toEqual(["membership/oneQuestionAtATime"]);

  const poll = { way: "telegram", name: "getUpdates" } as const;
  const polling = leads(new Story(), "i1", 1).message("i1", { ...poll, id: "1", phase: "begin" });
  expect(quiet(polling).brokenNow).toEqual([]);
  quiet(polling.message("i1", { ...poll, id: "2", phase: "begin" }));
  expect(polling.brokenNow).toEqual(["polling/oneAtATime"]);
});

test("a follower that polls is broken", () => {
  const story = leads(new Story(), "i1", 1).attach("i2", "i2");
  quiet(story.message("i2", { way: "telegram", name: "getUpdates", id: "1", phase: "begin" }));
  expect(story.brokenNow).toEqual(["instance/pollsOnlyAsLeader"]);
});

test("a recording's own verdict counts, and ends when it is taken back", () => {
  const story = new Story().tell({ kind: "verdict", broken: ["toy/bothHeard"] });
  expect(story.brokenNow).toEqual(["toy/bothHeard"]);
  expect(story.tell({ kind: "verdict", broken: [] }).brokenNow).toEqual([]);
});

test("the slice that shows a break is a recording by itself, and is broken at its end too", () => {
  const story = leads(new Story(), "i1", 1);
  for (let count = 0; count < 700; count += 1) story.tell({ kind: "note", text: "something else" });
  story.crossing("i1", { way: "journal", name: "settle", id: "1", updates: [7] });
  story.crossing("i1", { way: "journal", name: "settle", id: "2", updates: [7] });
  const it = story.judge.breakOf("delivery/settledOnce", story.history.end - 1)!;
  const lines = sliceOf(story.history, it).trimEnd().split("\n");
  const [header, ...frames] = lines.map((line) => JSON.parse(line) as Frame);
  expect(header).toMatchObject({ format: "partyline-recording", version: 1, property: "delivery/settledOnce" });
  expect(frames.length).toBeLessThan(12);
  const read = new History();
  for (const frame of frames) read.add(frame);
  expect([...read.head.actors.values()].map((actor) => [actor.id, actor.value])).toContainEqual([
    "i1/lease",
    { holding: "held" },
  ]);
  expect(read.head.broken).toEqual(["delivery/settledOnce"]);
});
