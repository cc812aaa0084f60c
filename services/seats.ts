/**
 * The leader's seats: one registration chart per follower seat, held in a map.
 *
 * Owns: making and finding seat actors, carrying a request to one and its answer back, telling who is routable.
 * Does not own: any decision about a seat (`machines/registration.machine.ts`).
 *
 * Lives as long as one leadership. Whom the store knows from before is a suspect until heard of: nobody is routable by the
 * store's word.
 */
import type { Actor } from "xstate";
import { routableSitter } from "../machines/registration.machine.ts";
import type {
  Follower,
  RegistrationEvent,
  RegistrationFact,
  registrationMachine,
  SeatReply,
  Sitter,
} from "../machines/registration.machine.ts";
import { compareSlots } from "../machines/names.rules.ts";
import { capability } from "../machines/wire/constants.ts";
import { sameTarget } from "../machines/ids.ts";
import type { Epoch, Generation, InstanceId, SeatKey, ThreadTarget } from "../machines/ids.ts";
import { provideRegistration } from "./registration.ts";
import { tellOfThread } from "./follower-links.ts";
import type { FollowerLinks } from "./follower-links.ts";
import { announceThread } from "./notices.ts";
import { chatOf } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";
import { createOnStage } from "./stage.ts";
import { reopenAsLeader } from "./reopen.ts";
import { takeBackAsLeader } from "./take-back.ts";
import type { ThreadKeeper } from "./thread-sends.ts";

/** Seats of one leadership. Beyond it registrations are refused: a peer must not be able to fill the memory. */
export const defaultSeatsMax = 5_000;

interface Seat {
  readonly key: SeatKey;
  readonly actor: Actor<typeof registrationMachine>;
  /** Who waits for the answer to which request. */
  readonly answers: Map<string, (reply: SeatReply) => void>;
  /** Who was live here last. */
  instance: InstanceId | null;
}

/** A follower that can be written to right now. */
export interface Seated {
  readonly seat: SeatKey;
  readonly sitter: Sitter;
}

export class Seats {
  private readonly seats = new Map<SeatKey, Seat>();
  private isOver = false;
  private readonly doubted = new Set<Generation>();
  private readonly seatByInstance = new Map<InstanceId, SeatKey>();
  private readonly machine: ReturnType<typeof provideRegistration>;
  private readonly runtime: Runtime;
  private readonly links: FollowerLinks;
  private readonly epoch: Epoch;
  private readonly onChange: (seat: SeatKey) => void;

  /** `onChange` runs whenever a seat got or lost its routable holder, with that seat. */
  constructor(
    runtime: Runtime,
    leadership: { readonly epoch: Epoch; readonly links: FollowerLinks },
    onChange: (seat: SeatKey) => void,
  ) {
    this.runtime = runtime;
    this.epoch = leadership.epoch;
    this.onChange = onChange;
    this.links = leadership.links;
    this.machine = provideRegistration(runtime, leadership.links);
  }

  /**
   * Opens a seat for everyone whom the store knows as sitting: they come back by themselves, or are proven dead, and then
   * what they had in hand goes back to the journal.
   */
  async adopt(): Promise<void> {
    const { store } = this.runtime.ports;
    const { registrations } = await store.status.read();
    if (this.hasEnded()) return;
    for (const registration of registrations) {
      if (registration.ended !== null || registration.instanceId === this.runtime.settings.me) continue;
      if (registration.thread === null || this.seats.has(registration.seat)) continue;
      const claim = await store.seats.holderOf(registration.seat);
      if (this.hasEnded()) return;
      this.open(registration.seat, {
        instanceId: registration.instanceId,
        generation: registration.generation,
        incarnation: registration.incarnation,
        endpoint: this.runtime.ports.transport.followerAddress(registration.instanceId),
        threadName: null,
        carried: null,
        previous: null,
        // Only our own peers claim their seats in the store.
        capabilities: claim === null ? [] : [capability.sharedStore],
        thread: registration.thread,
      });
    }
  }

  register(requestId: string, key: SeatKey, follower: Follower): Promise<SeatReply> {
    const { seatsMax } = this.runtime.settings;
    if (!this.seats.has(key) && this.seats.size >= seatsMax)
      return Promise.resolve({ kind: "refused", reason: `a leader has at most ${String(seatsMax)} seats` });
    return send(this.open(key, null), { type: "follower.register", requestId, follower });
  }

  /** `unknown` when no seat has this instance. */
  ask(
    type: "follower.heartbeat" | "follower.disconnect",
    from: { readonly requestId: string; readonly instanceId: InstanceId; readonly generation: Generation },
  ): Promise<SeatReply> {
    const seat = this.find(from.instanceId);
    // Another instance may sit there now: for this one the seat is lost.
    if (seat?.actor.getSnapshot().context.sitter?.instanceId !== from.instanceId)
      return Promise.resolve({ kind: "unknown" });
    const { requestId, generation } = from;
    return send(seat, { type, requestId, generation });
  }

  /** The routable holder with this instance id; null when it is not routable. */
  byInstance(instance: InstanceId): Seated | null {
    const seat = this.find(instance);
    const sitter = seat === null ? null : routable(seat);
    return seat === null || sitter?.instanceId !== instance ? null : { seat: seat.key, sitter };
  }

  /** Everybody routable. */
  sitting(): readonly Seated[] {
    return [...this.seats.values()].flatMap((seat) => {
      const sitter = routable(seat);
      return sitter === null ? [] : [{ seat: seat.key, sitter }];
    });
  }

  /** The routable holder of the seat. */
  sitterOf(key: SeatKey): Sitter | null {
    const seat = this.seats.get(key);
    return seat === undefined ? null : routable(seat);
  }

  /** The seat whose routable holder has this thread. */
  seatByThread(target: ThreadTarget): SeatKey | null {
    for (const seat of this.seats.values()) {
      const sitter = routable(seat);
      if (sitter !== null && sameTarget(sitter.thread.target, target)) return seat.key;
    }
    return null;
  }

  /** Who decides about the thread of this registration; it has none once the registration is over. */
  keeperOf(key: SeatKey, generation: Generation): ThreadKeeper {
    const sitter = (): Sitter | null => {
      const found = this.sitterOf(key);
      return found?.generation === generation ? found : null;
    };
    return {
      seat: key,
      current: () => sitter()?.thread.target ?? null,
      hasThreads: () => this.runtime.board.topics?.areOff !== true,
      doubt: (doubt) => this.replaced(key, { type: "thread.doubted", generation, doubt }),
      reopen: (target) => reopenAsLeader(this.runtime, target),
      takeBack: (messages) => takeBackAsLeader(this.runtime, messages),
    };
  }

  /**
   * Asks the seat's holder to take another thread, of which nothing is written yet: `accepted` only by its own word. One
   * that may believe in that thread all the same is written to no more, until it registers and is told what it has.
   */
  async offer(key: SeatKey, to: ThreadTarget): Promise<"accepted" | "refused" | "absent"> {
    const sitter = this.sitterOf(key);
    if (sitter === null) return "absent";
    const told = await tellOfThread(this.runtime, this.links, { seat: key, sitter, from: sitter.thread.target, to });
    if (told.kind === "told") return "accepted";
    this.runtime.ports.stage.log.event("info", "follower-did-not-move", { seat: key, reason: told.reason });
    if (told.kind === "lost") this.linkClosed(key, sitter.generation);
    return "refused";
  }

  /** Its holder may believe in a thread that is not the seat's: it registers anew, and is told which is. */
  misled(key: SeatKey): void {
    const sitter = this.sitterOf(key);
    if (sitter !== null) this.linkClosed(key, sitter.generation);
  }

  /** Resolves when the seat has left the state in which its thread is replaced, or never came to it. */
  private replaced(key: SeatKey, event: RegistrationEvent): Promise<void> {
    const actor = this.seats.get(key)?.actor;
    if (actor === undefined) return Promise.resolve();
    return new Promise((resolve) => {
      const look = (snapshot: ReturnType<typeof actor.getSnapshot>): void => {
        if (snapshot.status === "active" && snapshot.matches({ live: "replacing" })) return;
        subscription.unsubscribe();
        resolve();
      };
      const subscription = actor.subscribe({ next: look, complete: resolve, error: () => resolve() });
      actor.send(event);
      look(actor.getSnapshot());
    });
  }

  /** Authenticated traffic of this registration: it lives. */
  heard(instance: InstanceId, generation: Generation): void {
    this.find(instance)?.actor.send({ type: "follower.heard", generation });
  }

  /** A connection that this registration used has closed. */
  linkClosed(key: SeatKey, generation: Generation): void {
    this.seats.get(key)?.actor.send({ type: "link.closed", generation });
  }

  /** Seats on which somebody sits, or is about to: their threads are theirs. */
  held(): readonly SeatKey[] {
    return [...this.seats.values()].filter(({ actor }) => !isFree(actor.getSnapshot())).map(({ key }) => key);
  }

  /** Slots of all routable followers, ascending. A v1 peer knows those of one letter (threads OP-6). */
  slots(isOwn: boolean): readonly string[] {
    return [...this.seats.values()]
      .flatMap((seat) => routable(seat)?.thread.slot ?? [])
      .filter((slot) => slot.length === 1 || (isOwn && slot !== ""))
      .sort(compareSlots);
  }

  /** Nobody sits here any more, nor is taken up by what was under way. */
  stop(): void {
    this.isOver = true;
    for (const { actor, answers } of this.seats.values()) {
      actor.stop();
      answers.clear();
    }
    this.seats.clear();
  }

  /** Asked anew after each wait: it may have come meanwhile. */
  private hasEnded(): boolean {
    return this.isOver;
  }

  private find(instance: InstanceId): Seat | null {
    const key = this.seatByInstance.get(instance);
    return key === undefined ? null : (this.seats.get(key) ?? null);
  }

  private open(key: SeatKey, sitter: Sitter | null): Seat {
    const known = this.seats.get(key);
    if (known !== undefined) return known;
    const { settings, ports } = this.runtime;
    const actor = createOnStage(ports.stage, this.machine, {
      id: `${settings.me}/seat/${key}`,
      input: { seat: key, epoch: this.epoch, chatId: chatOf(this.runtime), timings: settings.seats, sitter },
    });
    const seat: Seat = { key, actor, answers: new Map(), instance: null };
    this.seats.set(key, seat);
    actor.on("*", (fact) => {
      this.onFact(seat, fact);
    });
    actor.subscribe({
      error: (error: unknown) => {
        this.onBroken(seat, String(error));
      },
    });
    actor.start();
    // From here on: at its start it is vacant, too.
    actor.subscribe((snapshot) => {
      if (snapshot.status === "active" && snapshot.matches("vacant")) this.forget(seat);
    });
    return seat;
  }

  /** A seat that was given up, and of which nobody waits for anything, is opened anew for whoever comes. */
  private forget(seat: Seat): void {
    const { key, actor, answers } = seat;
    if (answers.size > 0 || actor.getSnapshot().context.deferred.length > 0 || this.seats.get(key) !== seat) return;
    this.seats.delete(key);
    this.disown(seat);
    actor.stop();
  }

  private disown(seat: Seat): void {
    if (seat.instance !== null && this.seatByInstance.get(seat.instance) === seat.key)
      this.seatByInstance.delete(seat.instance);
    seat.instance = null;
  }

  private onFact(seat: Seat, fact: RegistrationFact): void {
    if (fact.type === "seat.answered") {
      seat.answers.get(fact.requestId)?.(fact.reply);
      seat.answers.delete(fact.requestId);
      return;
    }
    if (fact.type === "seat.connected") {
      announceThread(this.runtime, fact.thread, this.epoch);
      return;
    }
    if (fact.type === "seat.moved") {
      this.onMoved(seat, fact.sitter, fact.from);
      return;
    }
    const instanceId = fact.type === "seat.live" ? fact.sitter.instanceId : fact.instanceId;
    if (fact.type === "seat.live") {
      if (seat.instance !== instanceId) this.disown(seat);
      seat.instance = instanceId;
      this.seatByInstance.set(instanceId, seat.key);
      this.displace(seat, fact.sitter);
    }
    if (fact.type === "seat.unprovable") {
      this.doubt(seat);
      return;
    }
    const why = "why" in fact ? { why: fact.why } : "reason" in fact ? { reason: fact.reason } : {};
    this.runtime.ports.stage.log.event("info", fact.type, { seat: seat.key, instanceId, ...why });
    this.onChange(seat.key);
  }

  /** An instance and a thread have one seat (protocol P-25): whoever had either elsewhere can be written to no more. */
  private displace(by: Seat, { instanceId, thread }: Sitter): void {
    for (const other of this.seats.values()) {
      const sitter = other === by ? null : routable(other);
      if (sitter === null) continue;
      if (sitter.instanceId !== instanceId && !sameTarget(sitter.thread.target, thread.target)) continue;
      other.actor.send({ type: "link.closed", generation: sitter.generation });
    }
  }

  /**
   * Its holder hears of it by the wire (protocol §6.15), the user in the thread. One that did not say that it has heard
   * believes in the old thread: it is written to no more, until its next heartbeat makes it register, which tells it.
   */
  private onMoved({ key }: Seat, sitter: Sitter, from: ThreadTarget): void {
    const { log } = this.runtime.ports.stage;
    const { target } = sitter.thread;
    log.event("info", "seat.moved", {
      seat: key,
      instanceId: sitter.instanceId,
      from: from.threadId,
      to: target.threadId,
    });
    const notTold = (reason: string): void => {
      log.event("warn", "follower-not-told-of-its-thread", { seat: key, reason });
      this.linkClosed(key, sitter.generation);
    };
    tellOfThread(this.runtime, this.links, { seat: key, sitter, from, to: target }).then(
      (told) => {
        if (told.kind !== "told") notTold(told.reason);
      },
      (error: unknown) => {
        notTold(String(error));
      },
    );
    announceThread(this.runtime, sitter.thread, this.epoch);
    this.onChange(key);
  }

  /** Shown to the operator, since when and why; once for each registration. */
  private doubt({ key, actor }: Seat): void {
    const { sitter } = actor.getSnapshot().context;
    if (sitter === null || this.doubted.has(sitter.generation)) return;
    this.doubted.add(sitter.generation);
    const { store, stage } = this.runtime.ports;
    stage.log.event("info", "seat.unprovable", { seat: key, instanceId: sitter.instanceId });
    const reason =
      sitter.incarnation === null
        ? "it told nothing by which its end can be proven"
        : "its process lives on another host or in another pid namespace, or this host cannot tell";
    const doubt = { sinceMs: stage.clock.nowMs(), reason };
    store.cleanups.doubt({ epoch: this.epoch, seat: key, generation: sitter.generation, doubt }).catch(() => {
      this.doubted.delete(sitter.generation);
    });
  }

  private onBroken(seat: Seat, reason: string): void {
    this.runtime.ports.stage.log.event("error", "seat-broke", { seat: seat.key, reason });
    this.seats.delete(seat.key);
    this.disown(seat);
    for (const answer of seat.answers.values()) answer({ kind: "failed", reason });
    this.onChange(seat.key);
  }
}

/** Nobody sits, or nobody who is heard of. */
const isFree = (snapshot: {
  readonly matches: (state: "vacant" | "preserved" | "suspect" | "rethreading") => boolean;
}) => (["vacant", "preserved", "suspect", "rethreading"] as const).some((state) => snapshot.matches(state));

const routable = ({ actor }: Seat): Sitter | null => routableSitter(actor.getSnapshot());

type Request = Extract<RegistrationEvent, { readonly requestId: string }>;

/** Two instances may ask the same seat under one id, at the same time: each gets the answer to its own request. */
const send = ({ actor, answers }: Seat, event: Request): Promise<SeatReply> =>
  new Promise((resolve) => {
    let { requestId } = event;
    while (answers.has(requestId)) requestId += "+";
    answers.set(requestId, resolve);
    actor.send({ ...event, requestId });
  });
