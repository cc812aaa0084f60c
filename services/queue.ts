/**
 * The queue of one instance on the stage: claimed entries go in, the host's handlers get them.
 *
 * Owns: hosting the queue chart, what must be on disk before a handler sees anything, the order in which updates outside
 * turns are handed out, what is held out to another instance or comes from one. Does not own: any order or decision
 * (`machines/queue.*`), open groups (`queue-groups.ts`), what handlers do (`handlers.ts`), the claims (`inbox.ts`), when
 * something is offered (`handoff.ts`).
 *
 * With `ack: "auto"` an entry is settled just before it is handed out (at most once from there), with `ack: "explicit"` on
 * the handler's word (at least once).
 */
import { fromPromise } from "xstate";
import type { Actor } from "xstate";
import { queueMachine } from "../machines/queue.machine.ts";
import type { CommandOutcome, GivenCommand, QueueFact, TakeUpAnswer } from "../machines/queue.machine.ts";
import { asidesMax, holderOfMessage, isOffered, membersOf, refusalOfOffer, seqsOf } from "../machines/queue.rules.ts";
import type { ItemKind, Member, NewItem, QueueItem, QueueLane } from "../machines/queue.rules.ts";
import { partOf, shapeOf } from "../machines/shape.rules.ts";
import type { PromptShape, Shape } from "../machines/shape.rules.ts";
import { joinedWords, messagesIn } from "../machines/turn.rules.ts";
import { isUrgentLane } from "../machines/updates.rules.ts";
import type { JournalSeq, Lane, MessageId } from "../machines/ids.ts";
import type { Holdings, Taken } from "./holdings.ts";
import { Groups } from "./queue-groups.ts";
import { createSignal } from "./runtime.ts";
import type { Runtime, Signal } from "./runtime.ts";
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

function itemOfSurely(item: QueueItem | null): QueueItem {
  if (item === null) throw new Error("an item may be offered and is not there");
  return item;
}

/** An item held out to another instance, and what it is made of. */
export interface HeldOut {
  readonly item: QueueItem;
  readonly taken: readonly Taken[];
}

export class Queue {
  /** Tells which offered items are not wanted any more. */
  readonly onRecalled: Signal<readonly JournalSeq[]> = createSignal();
  readonly actor: Actor<typeof queueMachine>;
  private readonly runtime: Runtime;
  private readonly holdings: Holdings;
  private readonly host: QueueHost;
  private readonly groups: Groups;
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
    this.groups = new Groups(runtime, this.actor);
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
    // Given back by whoever had it, while our own old item still stands offered: it waits for that offer's end.
    if (this.isOffered(taken.entry.seq)) return;
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

  /** What may be offered now, whichever of its entries is named; a text says why it may not. */
  offerable(seq: JournalSeq): HeldOut | string {
    const { context } = this.actor.getSnapshot();
    const item = context.items.find((each) => seqsOf(each).includes(seq)) ?? null;
    const refusal = refusalOfOffer(context, item?.id ?? seq);
    return refusal ?? { item: itemOfSurely(item), taken: this.takenOf(seqsOf(itemOfSurely(item))) };
  }

  /** What waits and could be offered, with the lane of its first entry in the journal. */
  waiting(): readonly { readonly id: JournalSeq; readonly lane: Lane }[] {
    const { context } = this.actor.getSnapshot();
    return context.items.flatMap(({ id }) => {
      const first = refusalOfOffer(context, id) === null ? this.holdings.get(id) : null;
      return first === null ? [] : [{ id, lane: first.entry.lane }];
    });
  }

  /** From here to the end of its offer nothing here touches it. */
  holdOut({ item }: HeldOut): void {
    this.actor.send({ type: "item.offered", id: item.id });
  }

  /** `transferred`: another instance has its entries, or they have ended. */
  endOffer({ item, taken }: HeldOut, how: "transferred" | "returned"): void {
    if (how === "transferred") this.holdings.drop(taken);
    this.actor.send({ type: "offer.ended", id: item.id, how });
    if (how === "returned") return;
    // Ours again meanwhile, under a new acquisition.
    for (const again of this.takenOf(seqsOf(item))) this.arrive(again);
  }

  /** An item of another instance, accepted: its entries are in our hand. */
  receive(item: NewItem): void {
    if (this.runtime.settings.host === "turns") this.actor.send({ type: "item.opened", item });
    else for (const each of this.takenOf(item.members.map(({ seq }) => seq))) this.arriveAside(each);
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
    this.groups.dispose();
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
    if (part !== null && this.groups.joins(part, member)) return;
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
    if (part !== null) this.groups.open(part, entry.seq);
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
    this.groups.close((item) => item === holder.id);
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
        if (fact.ids.length > 0) this.onRecalled.fire(fact.ids);
        return;
      case "command.done": {
        const by = fact.by === null ? null : this.holdings.get(fact.by);
        if (by !== null) this.leave([by.entry.seq], fact.command === "stop" ? by : null);
        this.host.commandDone({ command: fact.command, outcome: fact.outcome, update: by?.update ?? null });
      }
    }
  }

  private isOffered(seq: JournalSeq): boolean {
    return this.actor.getSnapshot().context.items.some((item) => isOffered(item) && seqsOf(item).includes(seq));
  }

  private takenOf(seqs: readonly JournalSeq[]): readonly Taken[] {
    return seqs.flatMap((seq) => this.holdings.get(seq) ?? []);
  }

  /** What leaves in one step leaves in one transaction, a command with what it ended. */
  private leave(seqs: readonly JournalSeq[], sweptBy: Taken | null): void {
    this.groups.close((item) => seqs.includes(item));
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
