/** The role that each state of the instance chart is. Every state is listed: a new one without a word fails here. */
import { describe, expect, it } from "vitest";
import { instanceMachine } from "../../../machines/instance.machine.ts";
import { roleOf } from "../../../machines/role.rules.ts";
import type { Role } from "../../../machines/role.rules.ts";
import { nodesOf, pathOf } from "../../support/charts/naming.ts";
import { start } from "./instance-scenes.ts";

const roles: Readonly<Record<string, Role>> = {
  "starting.looking": "starting",
  "starting.choosing": "starting",
  "starting.claiming": "starting",
  "starting.doubting": "starting",
  "starting.waiting": "starting",
  "online.seeking": "seeking",
  "online.electing": "electing",
  "online.following.joining": "follower",
  "online.following.joined": "follower",
  "online.following.leaving": "stopping",
  "online.leading.activating": "leader",
  "online.leading.bus": "leader",
  "online.leading.classic": "classic",
  "online.leading.leaving": "stopping",
  "online.leading.parting": "stopping",
  "online.leading.givingUp": "stopping",
  "online.disowning": "stopping",
  "online.leading.stopping": "stopping",
  "online.releasing": "stopping",
  draining: "stopping",
  closing: "stopping",
  refused: "stopped",
  stopped: "stopped",
};

const valueAt = (path: string): object | string =>
  path.split(".").reduceRight<object | string>((below, key) => (below === "" ? key : { [key]: below }), "");
const { context } = start("one");

describe("the role of an instance", () => {
  const leaves = nodesOf(instanceMachine).filter((node) => node.type === "atomic" || node.type === "final");

  it("has a word for every state of the chart", () => {
    expect(leaves.map(pathOf).sort()).toEqual(Object.keys(roles).sort());
  });

  it.each(Object.entries(roles))("in %s is %s", (path, role) => {
    const value = valueAt(path) as Parameters<typeof instanceMachine.resolveState>[0]["value"];
    expect(roleOf(instanceMachine.resolveState({ value, context }))).toBe(role);
  });

  it("is stopped in final states only", () => {
    const stopped = leaves.filter((node) => roles[pathOf(node)] === "stopped");
    expect(stopped).toEqual(leaves.filter((node) => node.type === "final"));
  });
});
