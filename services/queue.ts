/**
 * The queue of one instance on the stage: claimed entries go in, the host's handlers get them.
 *
 * Owns: hosting the queue chart and the charts of open groups, what must be on disk before a handler sees anything, the
 * order in which updates outside turns are handed out. Does not own: any order or decision (`machines/queue.*`), what
 * handlers do (`handlers.ts`), the claims (`inbox.ts`).
 *
 * With `ack: "auto"` an entry is settled just before it is handed out (at most once from there), with `ack: "explicit"` on
 * the handler's word (at least once).
 */
import { fromPromise } from "xstate";
import type { Actor } from "xstate";
import { groupingMachine } from "../machines/grouping.machine.ts";
import type { GroupingFact } from "../machines/grouping.machine.ts";
import { queueMachine } from "../machines/queue.machine.ts";
import type { CommandOutcome, GivenCommand, QueueFact, TakeUpAnswer } from "../machines/queue.machine.ts";
import { asidesMax, holderOfMessage, itemOf, membersOf, seqsOf } from "../machines/queue.rules.ts";
import type { ItemKind, Member, QueueItem, QueueLane } from "../machines/queue.rules.ts";
import { partOf, shapeOf } from "../machines/shape.rules.ts";
import type { GroupPart, PromptShape, Shape } from "../machines/shape.rules.ts";
import { joinedWords, messagesIn } from "../machines/turn.rules.ts";
import { isUrgentLane } from "../machines/updates.rules.ts";
import type { JournalSeq, MessageId } from "../machines/ids.ts";
import type { Holdings, Taken } from "./holdings.ts";
import type { Runtime } from "./runtime.ts";
import { createOnStage } from "./stage.ts";

/** An update as handlers get it. */
export interface HandedUpdate {
  /** The same for every delivery of this update. */
  readonly id: string;
  /** As Telegram sent it. */
  readonly update: unknown;
  /** An earlier process of this seat took it and ended before it was done. */
  readonly redelivered: boolean;
  /** With explicit ack: the update is done. False = it was not ours to settle any more. */
  readonly ack: () => Promise<boolean>;
  /** With explicit ack: the handler failed; the update comes again later, at most twelve times. */
  readonly fail: (reason: string) => Promise<boolean>;
}

/** A turn as its handler gets it: one prompt, made of one or more messages, or one control. */
export interface HandedTurn {
  /** Of its first update. */
  readonly id: string;
  readonly kind: ItemKind;
  readonly updates: readonly Pick<HandedUpdate, "id" | "update">[];
  /** The words of its messages. */
  readonly text: string;
  /** Words of earlier prompts that this one absorbed, oldest first. */
  readonly history: readonly string[];
  readonly redelivered: boolean;
  /** Aborted by `/stop`, `/abort` and `/next`. */
  readonly signal: AbortSignal;
  readonly ack: () => Promise<boolean>;
  readonly fail: (reason: string) => Promise<boolean>;
}

export interface CommandDone {
  readonly command: GivenCommand;
  readonly outcome: CommandOutcome;
  /** The update that gave it; null when it came by the instance's interface. */
  readonly update: unknown;
}

/** The host: whatever works on updates. Its promises never reject. */
export interface QueueHost {
  /** Takes an update to its handlers; resolves when they have ended. */
  readonly handOut: (update: HandedUpdate) => Promise<void>;
  /** Takes a turn to its handler; resolves when it has ended. */
  readonly runTurn: (turn: HandedTurn) => Promise<void>;
  readonly commandDone: (done: CommandDone) => void;
}

/** Who must know whether anybody listens: for updates outside turns, for turns. Told of each change. */
export interface Listening {
  readonly updates: (isHeard: boolean) => void;
  readonly turns: (isHeard: boolean) => void;
}

/** What waits, as shown to people and programs. */
export interface QueuedItem {
  readonly id: string;
  readonly kind: ItemKind;
  readonly lane: QueueLane;
  /** `running`: the host has it. */
  readonly standing: QueueItem["standing"] | "running";
  readonly isSkipped: boolean;
  readonly updates: number;
  readonly text: string;
}

interface Group {
  readonly actor: Actor<typeof groupingMachine>;
  readonly item: JournalSeq;
  /** The part that the chart is asked about; null once it has joined. */
  asking: Member | null;
}

/** Asked of the group's own listener, which runs within the step. */
const hasJoined = ({ asking }: Group): boolean => asking === null;

/** Albums whose item may still wait, remembered for parts that come late. */
const albumsMax = 64;

export class Queue {
  readonly actor: Actor<typeof queueMachine>;
  private readonly runtime: Runtime;
  private readonly holdings: Holdings;
  private readonly host: QueueHost;
  private readonly groups = new Map<string, Group>();
  private readonly albums = new Map<string, JournalSeq>();
  private readonly turns = new Map<JournalSeq, AbortController>();
  /** Updates outside turns are handed out in the order in which the chart lets them go. */
  private lastAside: Promise<void> = Promise.resolve();
  private leaving: { readonly taken: Taken[]; sweptBy: Taken | null } | null = null;
  private takingUp = 0;

  constructor(runtime: Runtime, holdings: Holdings, host: QueueHost) {
    this.runtime = runtime;
    this.holdings = holdings;
    this.host = host;
    const machine = queueMachine.provide({
      actors: {
        takeUp: fromPromise<TakeUpAnswer, { readonly item: QueueItem }>(({ input }) => this.takeUp(input.item)),
        runTurn: fromPromise<undefined, { readonly item: QueueItem }>(({ input }) => this.runTurn(input.item)),
      },
    });
    const { stage } = runtime.ports;
    this.actor = createOnStage(stage, machine, { id: `${runtime.settings.me}/queue`, input: { asidesMax } });
    this.actor.on("*", (fact: QueueFact) => {
      this.onFact(fact);
    });
    this.actor.subscribe({
      error: (error: unknown) => {
        stage.log.event("error", "chart-broke", { actor: "queue", reason: String(error) });
      },
    });
    this.actor.start();
    // Until somebody handles turns there are none.
    this.actor.send({ type: "host.held" });
  }

  /** What the host tells: whether somebody listens. Nobody does at first. */
  readonly listening: Listening = {
    updates: (isHeard) => {
      this.actor.send({ type: isHeard ? "host.attached" : "host.detached" });
    },
    turns: (isHeard) => {
      this.actor.send({ type: isHeard ? "host.released" : "host.held" });
    },
  };

  /** The host takes no turn until what this returns is called. */
  hold(): () => void {
    let isHeld = true;
    this.actor.send({ type: "host.held" });
    return () => {
      if (isHeld) this.actor.send({ type: "host.released" });
      isHeld = false;
    };
  }

  /** A claimed entry, in the order of the claims. */
  arrive(taken: Taken): void {
    if (this.runtime.settings.host === "updates") this.arriveAside(taken);
    else this.arriveShaped(taken, shapeOf(taken.update));
  }

  /** What comes now goes to a handler at once. */
  isFlowing(): boolean {
    const { context, value } = this.actor.getSnapshot();
    return (
      this.runtime.settings.host === "updates" &&
      value.asides === "flowing" &&
      context.asidesAtHost < context.asidesMax &&
      context.asides.length === 0
    );
  }

  /** What waits and what runs, in the order in which it will run. */
  list(): readonly QueuedItem[] {
    const { items, current } = this.actor.getSnapshot().context;
    const shown = (item: QueueItem, standing: QueuedItem["standing"]): QueuedItem => ({
      id: String(item.id),
      kind: item.kind,
      lane: item.lane,
      standing,
      isSkipped: item.skipEmoji !== null,
      updates: membersOf(item).length,
      text: this.wordsIn(item.members),
    });
    return [
      ...(current === null ? [] : [shown(current, "running")]),
      ...items.map((item) => shown(item, item.standing)),
    ];
  }

  give(command: GivenCommand): void {
    this.actor.send({ type: "command.given", command, by: null });
  }

  /** The instance ends: nothing new begins. Resolves when what was on its way to a handler has arrived there. */
  async close(): Promise<void> {
    this.actor.send({ type: "host.held" });
    this.actor.send({ type: "host.detached" });
    await this.lastAside;
    while (this.takingUp > 0) await this.holdings.pause();
  }

  dispose(): void {
    for (const { actor } of this.groups.values()) actor.stop();
    this.groups.clear();
    this.actor.stop();
  }

  // ------------------------------------------------------------------------------------------------- on the way in

  private arriveAside({ entry }: Taken): void {
    this.actor.send({ type: "aside.arrived", aside: { seq: entry.seq, isUrgent: isUrgentLane(entry.lane) } });
  }

  private arriveShaped(taken: Taken, shape: Shape): void {
    const { seq } = taken.entry;
    switch (shape.kind) {
      case "prompt":
        this.arrivePrompt(taken, shape);
        return;
      case "queueCommand":
        if (shape.command === "continue") this.open(seq, "prompt", shape.message);
        else this.actor.send({ type: "command.given", command: shape.command, by: seq });
        return;
      case "exclusiveCommand":
        this.open(seq, "control", shape.message);
        return;
      case "edit":
      case "reaction":
        this.arriveChange(taken, shape);
        return;
      case "aside":
        this.arriveAside(taken);
    }
  }

  private open(seq: JournalSeq, kind: ItemKind, message: MessageId): void {
    const members: readonly Member[] = [{ seq, role: "message", message }];
    this.actor.send({ type: "item.opened", item: { id: seq, kind, lane: "control", standing: "waiting", members } });
  }

  private arrivePrompt({ entry }: Taken, shape: PromptShape): void {
    const member: Member = { seq: entry.seq, role: "message", message: shape.message };
    const part = partOf(shape, entry.lane);
    if (part !== null && this.joins(part, member)) return;
    this.actor.send({
      type: "item.opened",
      item: {
        id: entry.seq,
        kind: "prompt",
        lane: "default",
        standing: part === null ? "waiting" : "gathering",
        members: [member],
      },
    });
    if (part !== null) this.openGroup(part, entry.seq);
  }

  /** Whether the part became one of an open group's item, or of an album that still waits. */
  private joins(part: GroupPart, member: Member): boolean {
    const open = this.groups.get(part.key);
    if (open === undefined) return this.joinsLate(part, member);
    open.asking = member;
    open.actor.send({ type: "part.arrived", part });
    return hasJoined(open);
  }

  /** Albums come in pieces, seconds apart: while its item waits, a late part still belongs to it. */
  private joinsLate(part: GroupPart, member: Member): boolean {
    const id = this.albums.get(part.key);
    const item = id === undefined ? null : itemOf(this.actor.getSnapshot().context, id);
    if (item?.standing !== "waiting") return false;
    this.actor.send({ type: "item.grown", id: item.id, member });
    return true;
  }

  private openGroup(part: GroupPart, item: JournalSeq): void {
    const { stage } = this.runtime.ports;
    const id = `${this.runtime.settings.me}/group/${String(item)}`;
    const actor = createOnStage(stage, groupingMachine, { id, input: { first: part } });
    const group: Group = { actor, item, asking: null };
    this.groups.set(part.key, group);
    if (part.group === "album") this.rememberAlbum(part.key, item);
    actor.on("*", (fact: GroupingFact) => {
      if (fact.type === "part.joined" && group.asking !== null) {
        this.actor.send({ type: "item.grown", id: item, member: group.asking });
        group.asking = null;
      }
      if (fact.type !== "group.closed") return;
      this.groups.delete(part.key);
      this.actor.send({ type: "item.closed", id: item });
    });
    actor.start();
  }

  private rememberAlbum(key: string, item: JournalSeq): void {
    this.albums.set(key, item);
    const [oldest] = this.albums.keys();
    if (this.albums.size > albumsMax && oldest !== undefined) this.albums.delete(oldest);
  }

  private arriveChange(taken: Taken, shape: Extract<Shape, { kind: "edit" | "reaction" }>): void {
    const holder = holderOfMessage(this.actor.getSnapshot().context, shape.message);
    if (holder === null) {
      this.arriveAside(taken);
      return;
    }
    const member: Member = { seq: taken.entry.seq, role: "change", message: shape.message };
    if (shape.kind === "edit") {
      this.actor.send({ type: "item.grown", id: holder.id, member });
      return;
    }
    // What is reacted to is whole.
    for (const group of [...this.groups.values()])
      if (group.item === holder.id) group.actor.send({ type: "group.close" });
    this.actor.send({ type: "item.reacted", id: holder.id, member, change: shape.change });
  }

  // ------------------------------------------------------------------------------------------------ on the way out

  private onFact(fact: QueueFact): void {
    switch (fact.type) {
      case "aside.dispatched":
        this.handAside(fact.seq);
        return;
      case "items.discarded":
        this.leave(fact.seqs, null);
        return;
      case "item.lost":
        this.holdings.drop(this.takenOf(fact.seqs));
        return;
      case "turn.aborted":
        this.turns.get(fact.id)?.abort();
        return;
      case "offers.recalled":
        return;
      case "command.done": {
        const by = fact.by === null ? null : this.holdings.get(fact.by);
        if (by !== null) this.leave([by.entry.seq], fact.command === "stop" ? by : null);
        this.host.commandDone({ command: fact.command, outcome: fact.outcome, update: by?.update ?? null });
      }
    }
  }

  private takenOf(seqs: readonly JournalSeq[]): readonly Taken[] {
    return seqs.flatMap((seq) => this.holdings.get(seq) ?? []);
  }

  /** What leaves in one step leaves in one transaction, a command with what it ended. */
  private leave(seqs: readonly JournalSeq[], sweptBy: Taken | null): void {
    for (const [, group] of this.groups) if (seqs.includes(group.item)) group.actor.send({ type: "group.close" });
    const isFirst = this.leaving === null;
    this.leaving ??= { taken: [], sweptBy: null };
    this.leaving.taken.push(...this.takenOf(seqs));
    this.leaving.sweptBy ??= sweptBy;
    if (isFirst) queueMicrotask(() => void this.leaveTogether());
  }

  private async leaveTogether(): Promise<void> {
    const batch = this.leaving;
    this.leaving = null;
    if (batch === null) return;
    if (batch.sweptBy !== null) await this.sweep(batch.sweptBy);
    await this.holdings.discard(batch.taken);
  }

  /** `/stop` also ends what was written before it in its thread and is in nobody's hand yet. */
  private async sweep({ entry, acquisition }: Taken): Promise<void> {
    const { store, stage } = this.runtime.ports;
    try {
      await store.queue.sweep({ seq: entry.seq, acquisition, nowMs: stage.clock.nowMs() });
    } catch (error) {
      stage.log.event("error", "queue-not-swept", { seq: entry.seq, reason: String(error) });
    }
  }

  private handAside(seq: JournalSeq): void {
    const taken = this.holdings.get(seq);
    if (taken === null) {
      this.actor.send({ type: "aside.ended" });
      return;
    }
    const isOurs = this.prepare([taken], true);
    this.lastAside = this.lastAside.then(async () => {
      if (await isOurs) void this.runAside(taken);
      else this.endAside(taken);
    });
  }

  private async runAside(taken: Taken): Promise<void> {
    await this.host.handOut(this.handed(taken));
    this.endAside(taken);
  }

  private endAside({ entry, acquisition }: Taken): void {
    this.holdings.done(entry.seq, acquisition);
    this.actor.send({ type: "aside.ended" });
  }

  /** What must be on disk before a handler sees it. Asked for together, so that a burst is one commit. */
  private async prepare(taken: readonly Taken[], isSurely: boolean): Promise<boolean> {
    if (this.runtime.settings.ack === "explicit" || taken.every((each) => each.isSettled)) return true;
    const isOurs = isSurely ? this.holdings.settleSurely(taken) : this.holdings.settle(taken);
    if (await isOurs) return true;
    this.runtime.ports.stage.log.event("warn", "update-superseded", { seqs: taken.map(({ entry }) => entry.seq) });
    this.holdings.drop(taken);
    return false;
  }

  private async takeUp(item: QueueItem): Promise<TakeUpAnswer> {
    this.takingUp += 1;
    try {
      return { kind: (await this.prepare(this.takenOf(seqsOf(item)), false)) ? "taken" : "notOurs" };
    } finally {
      this.takingUp -= 1;
    }
  }

  private async runTurn(item: QueueItem): Promise<undefined> {
    const taken = this.takenOf(seqsOf(item));
    const controller = new AbortController();
    this.turns.set(item.id, controller);
    await this.host.runTurn(this.turnOf(item, taken, controller.signal));
    this.turns.delete(item.id);
    for (const { entry, acquisition } of taken) this.holdings.done(entry.seq, acquisition);
    return undefined;
  }

  private turnOf(item: QueueItem, taken: readonly Taken[], signal: AbortSignal): HandedTurn {
    const messages = messagesIn(item.members, (seq) => this.holdings.get(seq)?.update);
    const isExplicit = this.runtime.settings.ack === "explicit";
    return {
      id: String(item.id),
      kind: item.kind,
      updates: messages.map(({ seq, update }) => ({ id: String(seq), update })),
      text: this.wordsIn(item.members),
      history: item.history.map((members) => this.wordsIn(members)),
      redelivered: taken.some(({ entry }) => entry.redelivered),
      signal,
      ack: () => (isExplicit ? this.holdings.settle(taken) : Promise.resolve(true)),
      fail: async (reason) => {
        if (!isExplicit) return false;
        const returned = await Promise.all(taken.map((each) => this.holdings.fail(each, reason)));
        return returned.every((each) => each);
      },
    };
  }

  private wordsIn(members: readonly Member[]): string {
    return joinedWords(messagesIn(members, (seq) => this.holdings.get(seq)?.update).map((message) => message.update));
  }

  private handed(taken: Taken): HandedUpdate {
    const { entry, update } = taken;
    const isExplicit = this.runtime.settings.ack === "explicit";
    return {
      id: String(entry.seq),
      update,
      redelivered: entry.redelivered,
      ack: () => (isExplicit ? this.holdings.settle([taken]) : Promise.resolve(true)),
      fail: (reason) => (isExplicit ? this.holdings.fail(taken, reason) : Promise.resolve(false)),
    };
  }
}
