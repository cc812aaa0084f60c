/**
 * Work that waits here and moves to another live instance, and work that comes from one.
 *
 * Owns: when to look for offers, for the operator's wishes and for what waits here although its thread is another's;
 * hosting the charts of each transfer; what must be on disk before accepted work is in the queue.
 * Does not own: authority over the entries (the store's offers), any decision (`machines/handoff*`), the queue.
 *
 * Donor and recipient meet in the store that they share: no leader stands between them, and none need live. Under a v1 leader
 * nothing is offered and nothing accepted, for no journal of ours is dispatched then.
 */
import { fromPromise } from "xstate";
import type { Actor } from "xstate";
import { agentMeant } from "../machines/agents.rules.ts";
import {
  faultOfOffer,
  offerBudgetMs,
  offerPauseMs,
  placementOf,
  publishTriesMax,
  readPlacement,
  strangeThreadOf,
} from "../machines/handoff.rules.ts";
import type { OfferRef } from "../machines/handoff.rules.ts";
import { handoffDonorMachine } from "../machines/handoffDonor.machine.ts";
import type { CancelAnswer, MakeOfferAnswer, ReturnReason, StandingAnswer } from "../machines/handoffDonor.machine.ts";
import { handoffRecipientMachine } from "../machines/handoffRecipient.machine.ts";
import type { AcceptAnswer } from "../machines/handoffRecipient.machine.ts";
import { offerId } from "../machines/ids.ts";
import type { JournalSeq, OfferId, SeatKey } from "../machines/ids.ts";
import type { NewItem } from "../machines/queue.rules.ts";
import { readUpdate } from "../machines/updates.rules.ts";
import type { AgentSelector } from "../machines/wire/envelopes.ts";
import { takenFrom } from "./holdings.ts";
import type { Holdings, Taken } from "./holdings.ts";
import { ownersOf } from "./inbox.ts";
import type { Holder, Offer } from "./ports.ts";
import type { HeldOut, Queue } from "./queue.ts";
import { chatOf } from "./runtime.ts";
import type { OwnPlace, Runtime } from "./runtime.ts";
import { createOnStage } from "./stage.ts";

/** Between two looks into the store, in milliseconds: nobody tells us of an offer. */
const lookEveryMs = 1_000;
/** How long an operator's wish is tried again while the item is not ready to be offered, in milliseconds. */
const wishPatienceMs = 5_000;

/** What became of an offer. `kept`: the work is where it was. */
export type HandoffOutcome = { readonly kind: "transferred" } | { readonly kind: "kept"; readonly reason: string };

const reasons: Readonly<Record<ReturnReason, string>> = {
  self: "it is this instance that would get it",
  nobody: "no live instance of this line sits there",
  notHeld: "it is not in this instance's hand any more",
  ended: "the offer was withdrawn before it was made",
  notAccepted: "nobody has accepted it",
  recalled: "it was taken back",
};

const kept = (reason: string): HandoffOutcome => ({ kind: "kept", reason });

interface Wish {
  readonly recipientSeat: SeatKey;
  readonly untilMs: number;
}

interface Stray {
  readonly tries: number;
  readonly untilMs: number;
}

export interface HandoffSide {
  readonly holdings: Holdings;
  readonly queue: Queue;
}

export class Handoffs {
  private readonly runtime: Runtime;
  private readonly holdings: Holdings;
  private readonly queue: Queue;
  private readonly donors = new Map<JournalSeq, Actor<typeof handoffDonorMachine>>();
  private readonly recipients = new Map<OfferId, { readonly actor: Actor<AnyRecipient>; readonly entries: number }>();
  private readonly wishes = new Map<JournalSeq, Wish>();
  private readonly strays = new Map<JournalSeq, Stray>();
  private readonly unlisten: () => void;
  private timer: unknown = null;
  private isClosed = false;

  constructor(runtime: Runtime, { holdings, queue }: HandoffSide) {
    this.runtime = runtime;
    this.holdings = holdings;
    this.queue = queue;
    this.unlisten = queue.onRecalled.listen((ids) => {
      for (const id of ids) this.donors.get(id)?.send({ type: "offer.recall" });
    });
    this.lookLater();
  }

  /** Offers the waiting item that has this entry to the agent that is meant; resolves when the offer has ended. */
  async offerTo(seq: JournalSeq, selector: AgentSelector): Promise<HandoffOutcome> {
    const { place } = this.runtime.board;
    if (place?.thread === null || place === null) return kept("this instance has no thread at the moment");
    const { registrations } = await this.runtime.ports.store.status.read();
    const live = registrations.flatMap(({ seat, thread, ended }) =>
      ended === null && thread !== null ? [{ seat, thread }] : [],
    );
    const asked = { by: place.thread.target, chat: chatOf(this.runtime) };
    const meant = agentMeant(live, selector, asked);
    return meant === null ? kept("no other agent is meant by that, or several are") : this.offer(seq, meant.seat);
  }

  /** The same, to whoever sits on a seat. */
  async offer(seq: JournalSeq, recipientSeat: SeatKey): Promise<HandoffOutcome> {
    const place = this.place();
    if (place === null) return kept("this instance has no seat at the moment, or a v1 leader");
    const held = this.queue.offerable(seq);
    if (typeof held === "string") return kept(held);
    const fault = faultOfOffer(held.item, bytesOf(held.taken));
    if (fault !== null) return kept(fault);
    return this.donate(held, { seat: place.seat, instanceId: this.runtime.settings.me }, recipientSeat);
  }

  /** The instance ends: what is offered comes back with its seat, what was accepted goes to the seat's next holder. */
  close(): void {
    this.isClosed = true;
    this.unlisten();
    this.runtime.ports.stage.clock.clearTimeout(this.timer);
    for (const actor of this.donors.values()) actor.stop();
    for (const { actor } of this.recipients.values()) actor.stop();
  }

  // ------------------------------------------------------------------------------------------------------ looking

  private lookLater(): void {
    if (this.isClosed) return;
    this.timer = this.runtime.ports.stage.clock.setTimeout(() => void this.look(), lookEveryMs);
  }

  private async look(): Promise<void> {
    const place = this.place();
    try {
      if (place !== null) await this.lookAs(place, { seat: place.seat, instanceId: this.runtime.settings.me });
    } catch (error) {
      this.log("warn", "handoff-not-looked", { reason: String(error) });
    }
    this.lookLater();
  }

  private async lookAs(place: OwnPlace, me: Holder): Promise<void> {
    const { offers } = this.runtime.ports.store;
    for (const offer of await offers.offersTo(me)) this.stage(offer);
    const nowMs = this.runtime.ports.stage.clock.nowMs();
    for (const { seq, recipientSeat } of await offers.takeWishes(me))
      this.wishes.set(seq, { recipientSeat, untilMs: nowMs + wishPatienceMs });
    for (const [seq, wish] of this.wishes) void this.grant(seq, wish);
    await this.sendStraysHome(place);
  }

  /** Our seat while handoffs are possible. */
  private place(): OwnPlace | null {
    const { place, leader } = this.runtime.board;
    return this.isClosed || leader?.dialect === "v1" ? null : place;
  }

  private async grant(seq: JournalSeq, { recipientSeat, untilMs }: Wish): Promise<void> {
    const isReady = typeof this.queue.offerable(seq) !== "string";
    if (!isReady && this.runtime.ports.stage.clock.nowMs() < untilMs) return;
    this.wishes.delete(seq);
    const outcome = await this.offer(seq, recipientSeat);
    this.log("info", "handoff-wish", { seq, to: recipientSeat, ...outcome });
  }

  /** What waits here although its thread is another live instance's: it goes there without being asked for. */
  private async sendStraysHome(place: OwnPlace): Promise<void> {
    const { clock } = this.runtime.ports.stage;
    const found = this.queue.waiting().flatMap(({ id, lane }) => {
      const target = strangeThreadOf(lane, place.thread?.target ?? null);
      return target === null ? [] : [{ id, target }];
    });
    for (const id of this.strays.keys()) if (!found.some((each) => each.id === id)) this.strays.delete(id);
    for (const { id, target } of found) {
      const before = this.strays.get(id) ?? { tries: 0, untilMs: 0 };
      if (clock.nowMs() < before.untilMs) continue;
      const tries = before.tries + 1;
      this.strays.set(id, { tries, untilMs: clock.nowMs() + offerPauseMs(tries) });
      const seat = await this.runtime.ports.store.offers.sitterOn(target);
      if (seat !== null && seat !== place.seat) void this.offer(id, seat);
    }
  }

  // ------------------------------------------------------------------------------------------------------- donating

  private donate(held: HeldOut, donor: Holder, recipientSeat: SeatKey): Promise<HandoffOutcome> {
    const { ids, stage, store } = this.runtime.ports;
    // Of a token that nobody keeps (updates Q-51): the id can be told and not be guessed.
    const id = offerId(`handoff-${ids.sha256Hex(ids.secret()).slice(0, 32)}`);
    const entries = held.taken.map(({ entry, acquisition }) => ({ seq: entry.seq, acquisition }));
    const placement = placementOf(held.item);
    const nowMs = (): number => stage.clock.nowMs();
    const machine = handoffDonorMachine.provide({
      actors: {
        makeOffer: fromPromise<MakeOfferAnswer, OfferRef>(() =>
          store.offers.offer({ id, donor, entries, recipientSeat, placement, nowMs: nowMs() }),
        ),
        cancelOffer: fromPromise<CancelAnswer, OfferRef>(() => store.offers.cancel({ id, donor, nowMs: nowMs() })),
        findStanding: fromPromise<StandingAnswer, OfferRef>(() => store.offers.standing({ id, entries })),
      },
    });
    const name = `${this.runtime.settings.me}/donor/${String(held.item.id)}`;
    const actor = createOnStage(stage, machine, { id: name, input: { id, budgetMs: offerBudgetMs } });
    this.queue.holdOut(held);
    this.donors.set(held.item.id, actor);
    return new Promise((resolve) => {
      actor.subscribe({
        complete: () => {
          resolve(this.donated(held, actor, recipientSeat));
        },
        error: (error: unknown) => {
          this.log("error", "chart-broke", { actor: name, reason: String(error) });
          resolve(kept("the offer broke"));
        },
      });
      actor.start();
    });
  }

  private donated(held: HeldOut, actor: Actor<typeof handoffDonorMachine>, to: SeatKey): HandoffOutcome {
    const { output } = actor.getSnapshot();
    this.donors.delete(held.item.id);
    if (output === undefined || this.isClosed) return kept("this instance has ended");
    const outcome = output.kind === "transferred" ? output : kept(reasons[output.reason]);
    this.log("info", "handoff-ended", { id: held.item.id, to, ...outcome });
    this.queue.endOffer(held, output.kind);
    return outcome;
  }

  // ------------------------------------------------------------------------------------------------------ receiving

  /** Begins with an offer unless it is begun, cannot be read, finds no room, or is about what we still hold ourselves. */
  private stage(offer: Offer): void {
    const seqs = offer.entries.map(({ seq }) => seq);
    const item = readPlacement(offer.placement, seqs);
    if (item === null) this.log("warn", "offer-unreadable", { id: offer.id, from: offer.donorSeat });
    if (item === null || this.recipients.has(offer.id)) return;
    const staged = [...this.recipients.values()].reduce((sum, { entries }) => sum + entries, 0);
    // It comes back to where it was: the old item leaves first, or the new one would be taken for it.
    const isStillHere = seqs.some((seq) => this.holdings.get(seq) !== null);
    if (isStillHere || !this.holdings.hasRoom(staged + seqs.length - 1, false)) return;
    const { stage } = this.runtime.ports;
    const machine = provideRecipient(this.runtime, {
      offer,
      place: () => this.place(),
      publish: (taken) => {
        this.publish(item, taken);
      },
    });
    const name = `${this.runtime.settings.me}/recipient/${offer.id}`;
    const actor = createOnStage(stage, machine, { id: name, input: { id: offer.id, triesMax: publishTriesMax } });
    this.recipients.set(offer.id, { actor, entries: seqs.length });
    actor.subscribe({
      complete: () => {
        this.recipients.delete(offer.id);
        this.log("info", "handoff-received", { id: item.id, from: offer.donorSeat, ...actor.getSnapshot().output });
      },
      error: (error: unknown) => {
        this.recipients.delete(offer.id);
        this.log("error", "chart-broke", { actor: name, reason: String(error) });
      },
    });
    actor.start();
  }

  private publish(item: NewItem, taken: readonly Taken[]): void {
    if (this.isClosed) throw new Error("this instance has ended");
    for (const each of taken) this.holdings.take(each);
    this.queue.receive(item);
  }

  private log(level: "info" | "warn" | "error", phase: string, fields: Readonly<Record<string, unknown>>): void {
    this.runtime.ports.stage.log.event(level, phase, fields);
  }
}

type AnyRecipient = ReturnType<typeof provideRecipient>;

interface Receiving {
  readonly offer: Offer;
  readonly place: () => OwnPlace | null;
  readonly publish: (taken: readonly Taken[]) => void;
}

/** The recipient's chart for one offer. Its acquisitions are minted once: asking again changes nothing. */
function provideRecipient({ ports, settings }: Runtime, { offer, place, publish }: Receiving) {
  const { ids, store } = ports;
  const acquisitions = offer.entries.map(() => ids.acquisition());
  let taken: readonly Taken[] = [];
  const placeNow = (): OwnPlace => {
    const now = place();
    if (now === null) throw new Error("we have no seat at the moment");
    return now;
  };
  return handoffRecipientMachine.provide({
    actors: {
      acceptOffer: fromPromise<AcceptAnswer, OfferRef>(async () => {
        const { seat, generation } = placeNow();
        const recipient = { seat, instanceId: settings.me, generation };
        const outcome = await store.offers.accept({ id: offer.id, recipient, acquisitions });
        if (outcome.kind !== "accepted") return outcome;
        taken = outcome.entries.map(({ entry, acquisition }) => takenFrom(entry, acquisition, false));
        // Accepted, and lost with our seat before we heard of it.
        return taken.length < offer.entries.length ? { kind: "conflict" } : { kind: "accepted" };
      }),
      publish: fromPromise<undefined, OfferRef>(async () => {
        const { seat } = placeNow();
        const owners = taken.flatMap(({ update }) => {
          const facts = readUpdate(update);
          return facts === null ? [] : ownersOf(facts, seat);
        });
        // Reactions and edits that follow name the message only: they must find their way to us.
        await store.ownership.record(owners);
        publish(taken);
        return undefined;
      }),
      giveBack: fromPromise<undefined, OfferRef>(async () => {
        const entries = taken.map(({ entry, acquisition }) => ({ seq: entry.seq, acquisition }));
        await store.offers.giveBack({ entries });
        return undefined;
      }),
    },
  });
}

/** Of their JSON, in UTF-8. */
const bytesOf = (taken: readonly Taken[]): number =>
  taken.reduce((sum, { update }) => sum + new TextEncoder().encode(JSON.stringify(update)).length, 0);
