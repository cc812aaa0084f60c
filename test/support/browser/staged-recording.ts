/**
 * A recording made by hand: a line of three, an update delivered, the leader killed, another one leading, and at the end an update
 * settled twice.
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { AnyStateMachine } from "xstate";
import { showChart } from "../../../inspector/charts.ts";
import { activationMachine } from "../../../machines/activation.machine.ts";
import { instanceMachine } from "../../../machines/instance.machine.ts";
import { leaseMachine } from "../../../machines/lease.machine.ts";
import { queueMachine } from "../../../machines/queue.machine.ts";
import { Story } from "../inspector/story.ts";

const machines: readonly AnyStateMachine[] = [instanceMachine, leaseMachine, activationMachine, queueMachine];
const [amber, birch, cedar] = ["101:1", "102:1", "103:1"] as const;
const names: Readonly<Record<string, string>> = { [amber]: "Amber", [birch]: "Birch", [cedar]: "Cedar" };
const everybody = [amber, birch, cedar] as const;
const seatOf = (id: string): string => `manual:0123456789abcdef:${names[id] ?? id}`;

const lineUnder = (epoch: number, leader: string, alive: readonly string[]) => ({
  epoch,
  leader: {
    instanceId: leader,
    pid: Number.parseInt(leader),
    process: "alive",
    sinceMs: 850,
    leaseRemainingMs: 4_700,
    renewals: 3,
  },
  cursor: 810_000_008,
  seats: everybody.map((id) => ({
    seat: seatOf(id),
    role: id === leader ? "leader" : "follower",
    instanceId: id,
    pid: Number.parseInt(id),
    process: alive.includes(id) ? "alive" : "gone",
    ended: null,
  })),
  threads: everybody.map((id, index) => ({
    slot: "ABC"[index],
    name: names[id],
    threadId: index + 1,
    seat: seatOf(id),
    state: "open",
    reason: "",
  })),
  journal: { waiting: 0, claimed: 1, deadLetters: 1 },
  polling: { okAtMs: 900, health: "ok" },
  drops: { "topic-service-message": 3 },
  unresolved: [],
});

function follow(story: Story, id: string, epoch: number): void {
  story.rest(id, "", { value: { online: { following: "joined" } }, context: { epoch, name: names[id] } });
  story.rest(id, "lease", { value: { observing: "resting" }, context: { epoch: 0 } });
  story.rest(id, "queue", { value: { asides: "flowing", turns: "idle" }, context: { items: [], holds: 0 } });
}

function lead(story: Story, id: string, epoch: number): void {
  const actor = { id, session: id };
  story.tell({ kind: "event", actor, chart: "instance", event: { type: "lease.granted", epoch } }, { from: id });
  const transitions = showChart(instanceMachine)
    .flatMap((node) => node.transitions)
    .filter((each) => each.event === "lease.granted" && each.target.join().endsWith(".leading"))
    .slice(0, 1);
  const value = { online: { leading: "activating" } };
  story.tell(
    { kind: "transition", actor, chart: "instance", event: "lease.granted", transitions, value },
    { from: id },
  );
  story.rest(id, "lease", { value: { holding: "held" }, context: { epoch, evidence: "vacant", remainingMs: 6_000 } });
  story.rest(id, "", { value, context: { epoch, name: names[id], output: { kind: "stopped" } } });
  story.rest(id, "activation", { value: { serving: { polled: "active" } }, context: { epoch, failures: 0 } });
}

function deliver(story: Story, update: number, leader: string, to: string): void {
  const ids = { updates: [update], seat: seatOf(to) };
  story.crossing(leader, { way: "telegram", name: "getUpdates", id: `poll-${update}`, updates: [update] });
  story.crossing(leader, { way: "journal", name: "admit", id: `admit-${update}`, updates: [update] });
  const forward = { name: "leader.forwardMessage", id: `forward-${update}`, ...ids };
  story.message(leader, { ...forward, way: "out", peer: to, phase: "begin" });
  story.message(to, { ...forward, way: "in", peer: leader, phase: "begin" });
  story.crossing(to, { way: "journal", name: "claim", id: `claim-${update}`, ...ids });
  story.message(to, {
    way: "host",
    name: "handed to its handler",
    id: String(update),
    phase: "end",
    updates: [update],
  });
  story.message(leader, { ...forward, way: "out", peer: to, phase: "end", outcome: "ok" });
  const call = {
    way: "out",
    peer: leader,
    name: "follower.callApi sendMessage",
    id: `call-${update}`,
    thread: 2,
  } as const;
  story.crossing(to, call);
  story.crossing(to, { way: "journal", name: "settle", id: `settle-${update}`, updates: [update] });
}

export interface StagedRecording {
  readonly file: string;
  /** Steps at which Birch leads, and at which the update was settled a second time. */
  readonly takeover: number;
  readonly failure: number;
}

export function stageRecording(): StagedRecording {
  const story = new Story();
  for (const id of everybody) story.attach(id, names[id] ?? id);
  for (const id of everybody) follow(story, id, 1);
  lead(story, amber, 1);
  story.tell({ kind: "line", status: lineUnder(1, amber, everybody) });
  deliver(story, 810_000_007, amber, birch);
  story.crossing(cedar, {
    way: "out",
    peer: amber,
    name: "follower.heartbeat",
    id: "beat-1",
    outcome: "no answer: closed",
  });
  story.tell({ kind: "source", id: amber, state: "gone", reason: "its process ended or it stopped" }, { afterMs: 900 });
  lead(story, birch, 2);
  const takeover = story.history.end - 1;
  story.tell({ kind: "line", status: lineUnder(2, birch, [birch, cedar]) });
  deliver(story, 810_000_008, birch, cedar);
  story.tell({ kind: "note", text: "Cedar was stopped for a second", about: cedar });
  story.tell({ kind: "dropped", dropped: 12 }, { from: cedar });
  for (let count = 0; count < 300; count += 1)
    story.crossing(cedar, { way: "out", peer: birch, name: "follower.heartbeat", id: `beat-2-${count}` });
  story.crossing(cedar, { way: "journal", name: "settle", id: "settle-again", updates: [810_000_008] });
  const failure = story.history.end - 1;
  for (let count = 0; count < 5; count += 1) follow(story, cedar, 2);
  return { file: write(story), takeover, failure };
}

function write(story: Story): string {
  const head = { protocol: "partyline-inspect", version: 1, seq: 0 };
  const charts = everybody.flatMap((from) =>
    machines.map((machine) => ({ from, ...head, kind: "chart", chart: machine.id, nodes: showChart(machine) })),
  );
  const header = { format: "partyline-recording", version: 1, source: "live", title: "a night that went wrong" };
  const file = path.join(mkdtempSync(path.join(os.tmpdir(), "partyline-staged-")), "night.ndjson");
  writeFileSync(file, [header, ...charts, ...story.frames].map((line) => `${JSON.stringify(line)}\n`).join(""));
  return file;
}
