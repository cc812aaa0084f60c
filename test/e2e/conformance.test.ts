/** What real processes did, held against the charts and the properties that the model checker explores. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import type { Frame } from "../../inspector/frames.ts";
import { readRecording } from "../../inspector/replay.ts";
import { conformanceOf } from "../support/inspector/conformance.ts";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();

test("a recording of a line whose leader is killed holds nothing that the charts do not allow, and breaks no property", async () => {
  const line = await open();
  const agents = await line.startAll(["Amber", "Birch", "Cedar"]);
  const file = path.join(line.home, "night.ndjson");
  const recording = line.run(["record", "--out", file, "--seconds", "4"]);
  await until("it has attached", () => existsSync(file) && /"source".*Cedar/.test(readFileSync(file, "utf8")));
  const threads = agents.map((agent) => agent.ready!.thread!.threadId);
  for (const threadId of threads) line.control.userSends({ threadId, text: "before" });
  await agents[0]!.kill();
  for (const threadId of threads.slice(1)) line.control.userSends({ threadId, text: "after" });
  expect((await recording).exit?.code).toBe(0);

  const { frames } = await readRecording(file);
  const { steps, charts, faults } = conformanceOf(frames.map((each) => JSON.parse(each) as Frame));
  expect(faults).toEqual([]);
  expect(steps).toBeGreaterThan(50);
  for (const chart of ["instance", "lease", "activation", "polling", "delivery", "queue"])
    expect(charts).toContain(chart);
});
