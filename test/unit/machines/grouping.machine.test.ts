/** An open group: what joins it, what completes it, what begins another one, and that it closes by itself. */
import { describe, expect, it } from "vitest";
import { groupingMachine } from "../../../machines/grouping.machine.ts";
import { messageId } from "../../../machines/ids.ts";
import type { GroupPart } from "../../../machines/shape.rules.ts";
import { faultsOfCoverage, noFaults } from "../../support/charts/coverage.ts";
import { playChart } from "../../support/charts/play.ts";

const part = (message: number, more: Partial<GroupPart> = {}): GroupPart => ({
  key: "k",
  group: "text",
  message: messageId(message),
  textLength: 5,
  isForwarded: false,
  ...more,
});
const gathering = (first: GroupPart) => playChart(groupingMachine, { first });
const album = (message: number) => part(message, { group: "album" });

describe("an open group", () => {
  it("C52: an album's parts join, each opening the window anew", () => {
    const play = gathering(album(1));
    expect(play.timers).toEqual({ window: 1_200 });
    play.send({ type: "part.arrived", part: album(2) });
    expect(play.latest).toEqual([{ type: "part.joined" }]);
    expect(play.armed).toEqual(["window"]);
    play.after("window");
    expect(play.latest).toEqual([{ type: "group.closed" }]);
  });

  it("a comment and its forward complete each other at once, in either order", () => {
    for (const isForwarded of [false, true]) {
      const play = gathering(part(1, { isForwarded }));
      play.send({ type: "part.arrived", part: part(2, { isForwarded: !isForwarded }) });
      expect(play.latest).toEqual([{ type: "part.joined" }, { type: "group.closed" }]);
    }
  });

  it("two texts are two prompts, unless the first is as long as the app splits them", () => {
    const short = gathering(part(1)).send({ type: "part.arrived", part: part(2) });
    expect(short.latest).toEqual([{ type: "part.follows" }, { type: "group.closed" }]);
    const long = gathering(part(1, { textLength: 3_600 })).send({ type: "part.arrived", part: part(2) });
    expect(long.latest).toEqual([{ type: "part.joined" }]);
    expect(long.timers).toEqual({ window: 1_000 });
    const far = gathering(part(1, { textLength: 3_600 })).send({ type: "part.arrived", part: part(14) });
    expect(far.latest).toEqual([{ type: "part.follows" }, { type: "group.closed" }]);
  });

  it("updates/T-63: closes when somebody needs it whole", () => {
    expect(gathering(album(1)).send({ type: "group.close" }).latest).toEqual([{ type: "group.closed" }]);
  });
});

it("every transition of the chart is taken", () => {
  expect(faultsOfCoverage(groupingMachine)).toEqual(noFaults);
});
