/** That a recording is held against the charts: what a chart does not have, or does not lead to, is found. */
import { expect, test } from "vitest";
import type { Frame } from "../../../inspector/frames.ts";
import { conformanceOf } from "../../support/inspector/conformance.ts";
import { leads, Story } from "../../support/inspector/story.ts";
import { attachedViewer, leaseActor, started } from "./harness.ts";

/** What a lease that is granted tells of itself. */
async function told(): Promise<readonly Frame[]> {
  const inspector = await started();
  const { actor, grant } = leaseActor(inspector);
  const viewer = await attachedViewer(inspector);
  actor.start();
  grant();
  await viewer.frame("snapshot", ({ value }) => JSON.stringify(value ?? "").includes("holding"));
  return viewer.frames;
}

/** The same with one text in its steps replaced by another. */
const altered = (frames: readonly Frame[], from: string, to: string): Frame[] =>
  frames.map((frame) =>
    frame.kind === "transition"
      ? // Only texts within it differ.
        (JSON.parse(JSON.stringify(frame).replaceAll(from, to)) as Frame)
      : frame,
  );

test("what real actors tell conforms", async () => {
  const { steps, charts, faults } = conformanceOf(await told());
  expect(faults).toEqual([]);
  expect([...charts]).toEqual(["lease"]);
  expect(steps).toBeGreaterThan(2);
});

test("a transition that the chart lacks is found", async () => {
  const frames = altered(await told(), '"guard":"isVacant"', '"guard":"isOver"');
  expect(conformanceOf(frames).faults.join("\n")).toMatch(/a transition that the chart does not have/);
});

test("a step that is left out, and one into a state where nothing leads, are found", async () => {
  const frames = await told();
  const steps = frames.filter((frame) => frame.kind === "transition");
  expect(steps.length).toBeGreaterThan(2);
  const cut = frames.filter((frame) => frame !== steps[1]);
  expect(conformanceOf(cut).faults.join("\n")).toMatch(/at rest in .*, but was in/);
  const first = frames.filter((frame) => frame !== steps[1] && frame.kind === "transition");
  expect(conformanceOf(first).faults.join("\n")).toMatch(/a transition from lease.acquiring, where it was not/);
  const moved = frames.map((frame) => (frame === steps[1] ? { ...steps[1], value: steps[0]?.value } : frame));
  expect(conformanceOf(moved).faults.join("\n")).toMatch(/it is not in .*, where .* leads/);
});

test("a property that the whole breaks is found: two leaders of one epoch", () => {
  const story = leads(leads(new Story(), "i1", 4), "i2", 4);
  expect(conformanceOf(story.frames).faults.join("\n")).toMatch(/lease\/epochIncreases is broken/);
});
