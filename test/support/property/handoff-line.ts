/**
 * A line of hosts that work in turns, on one store that fails now and then: for random walks of handoffs.
 *
 * Owns: the real queue, inbox, holdings and handoffs of each process, over the memory store; who leads and dispatches (a
 * plain loop, for that is not looked at here); deaths and next processes; what ran and what was acked.
 * Does not own: any behaviour of these services.
 *
 * A request to the store may fail before it was carried out, after it, or be carried out long after its sender has given up.
 */
import { openMemoryStore, MemoryDatabase } from "../../../adapters/store/memory/index.ts";
import { offerBudgetMs } from "../../../machines/handoff.rules.ts";
import { journalSeq, updateId } from "../../../machines/ids.ts";
import type { Epoch, InstanceId, JournalSeq, SeatKey } from "../../../machines/ids.ts";
import type { OfferEndedView } from "../../../machines/invariants.ts";
import { laneOfThread, readUpdate } from "../../../machines/updates.rules.ts";
import { Handoffs } from "../../../services/handoff.ts";
import type { HandoffOutcome } from "../../../services/handoff.ts";
import { Holdings } from "../../../services/holdings.ts";
import { Inbox } from "../../../services/inbox.ts";
import type { Store } from "../../../services/ports.ts";
import { Queue } from "../../../services/queue.ts";
import type { HandedTurn } from "../../../services/queue.ts";
import { Chats } from "../../../services/chats.ts";
import { createSignal, emptyBoard } from "../../../services/runtime.ts";
import type { Runtime } from "../../../services/runtime.ts";
import { createIds } from "../../../testing/simulator/ids.ts";
import type { Random } from "../../../testing/simulator/random.ts";
import * as the from "../../unit/store/fixtures.ts";
import type { ManualClock } from "../wire/manual-clock.ts";

/** What keeps a donor from learning whose its work is, and a recipient from publishing it: fails more often. */
const blinding: readonly string[] = ["standing", "record"];

export interface Run {
  readonly seq: JournalSeq;
  readonly by: Desk;
  isAcked: boolean;
}

export class HandoffLine {
  readonly clock: ManualClock;
  readonly random: Random;
  readonly plain: Store;
  readonly desks: Desk[] = [];
  readonly runs: Run[] = [];
  /** Offers by how they ended. */
  readonly ends: Record<HandoffOutcome["kind"], number> = { transferred: 0, kept: 0 };
  /** Work that the store has let somebody accept, in order. */
  readonly accepts: { readonly seq: JournalSeq; readonly seat: SeatKey; readonly instanceId: InstanceId }[] = [];
  private ended: OfferEndedView[] = [];
  /** Offers that came back because nobody had accepted them in time. */
  expired = 0;
  /** Requests fail with this chance. */
  faults = 0;
  epoch: Epoch | null = null;
  private written = 0;

  constructor(clock: ManualClock, random: Random) {
    this.clock = clock;
    this.random = random;
    const store = openMemoryStore({ database: new MemoryDatabase("line"), clock });
    const accept: Store["offers"]["accept"] = async (request) => {
      const answer = await store.offers.accept(request);
      const { seat, instanceId } = request.recipient;
      if (answer.kind === "accepted")
        for (const { entry } of answer.entries) this.accepts.push({ seq: entry.seq, seat, instanceId });
      return answer;
    };
    this.plain = { ...store, offers: { ...store.offers, accept } };
  }

  /** An offer has ended for its donor. */
  noteEnd(end: OfferEndedView): void {
    this.ended.push(end);
  }

  /** Offers that have ended since the last look. */
  takeEnded(): readonly OfferEndedView[] {
    const taken = this.ended;
    this.ended = [];
    return taken;
  }

  async open(seats: number): Promise<void> {
    this.epoch = await the.lead(this.plain, 99);
    for (let n = 1; n <= seats; n += 1) this.desks.push(await this.start(n, 1));
  }

  /** Takes the seat for its next process; whoever had it is dead. */
  async start(seat: number, number: number): Promise<Desk> {
    const process = 10 * number + seat;
    const before = await this.plain.seats.holderOf(the.seat(seat));
    await this.plain.seats.claim({
      seat: the.seat(seat),
      instanceId: the.instance(process),
      incarnation: the.incarnation(process),
      expected: before?.instanceId ?? null,
      threadGraceMs: null,
    });
    const registration = the.registration(seat, process, `g${process}`);
    await this.plain.registrations.commit({ epoch: this.epochNow(), registration });
    return new Desk(this, { seat, number, process });
  }

  /** Kills a process; after a while that is proven, and the next one of its seat starts. */
  lose(desk: Desk, proofMs: number): void {
    desk.kill();
    const replace = async (): Promise<void> => {
      this.desks[this.desks.indexOf(desk)] = await this.start(desk.seat, desk.number + 1);
    };
    this.clock.setTimeout(() => void replace(), proofMs);
  }

  /** Somebody writes into the thread of a seat. */
  async write(seat: number): Promise<void> {
    this.written += 1;
    const n = this.written;
    const { chatId, threadId } = the.target(seat);
    const message = {
      message_id: n,
      message_thread_id: threadId,
      is_topic_message: true,
      chat: { id: chatId, type: "supergroup" },
      from: { id: 1, is_bot: false },
      text: `text ${n}`,
    };
    const body = JSON.stringify({ update_id: n, message });
    const update = { updateId: updateId(n), lane: laneOfThread(the.target(seat)), body };
    await the.admit(this.plain, this.epochNow(), [update], this.clock.nowMs());
  }

  /** What a leader does: the head of each lane goes to whom it belongs. */
  async dispatch(): Promise<void> {
    const heads = await this.plain.journal.heads({ except: [], only: null, perLane: 4, limit: 99 });
    for (const { seq, updateId: id, body, redelivered, assignedTo } of heads) {
      const update: unknown = JSON.parse(body);
      const thread = readUpdate(update)?.thread ?? null;
      const isFor = ({ seat }: Desk): boolean =>
        assignedTo === null ? the.target(seat).threadId === thread : the.seat(seat) === assignedTo;
      void this.desks.find(isFor)?.take({ updateId: id, seq, update, redelivered });
    }
  }

  async openCount(): Promise<number> {
    const { journal } = await this.plain.status.read();
    return journal.waiting + journal.claimed;
  }

  epochNow(): Epoch {
    if (this.epoch === null) throw new Error("nobody leads");
    return this.epoch;
  }

  /** The store as a process reaches it; while that is deaf it learns of no offer. */
  storeFor(isDeaf: () => boolean): Store {
    const ask = async <Answer>(what: string, perform: () => Promise<Answer>): Promise<Answer> => {
      if (what === "offersTo" && isDeaf()) throw new Error("the store did not tell of offers");
      return this.ask(what, perform);
    };
    const { plain } = this;
    const over = <Port extends object>(port: Port): Port =>
      // Every method of a port takes one request and answers with a promise.
      new Proxy(port, {
        get: (of, name) => (request: unknown) =>
          ask(
            String(name),
            () =>
              (of as Record<string | symbol, (request: unknown) => Promise<unknown>>)[name]?.(request) ??
              Promise.reject(new Error("no such method")),
          ),
      });
    return {
      ...plain,
      work: over(plain.work),
      queue: over(plain.queue),
      offers: over(plain.offers),
      ownership: over(plain.ownership),
    };
  }

  private async ask<Answer>(what: string, perform: () => Promise<Answer>): Promise<Answer> {
    const { random, clock } = this;
    const times = blinding.includes(what) ? 5 : 1;
    if (!random.chance(this.faults * times)) return perform();
    const how = random.pick(["before", "after", "late"] as const);
    if (how === "after") await perform();
    if (how === "late") clock.setTimeout(() => void perform().catch(() => undefined), random.between(1, 3_000));
    throw new Error(`the store did not answer: ${how}`);
  }
}

interface DeskTraits {
  readonly seat: number;
  readonly number: number;
  readonly process: number;
}

/** One process of a seat. */
export class Desk {
  readonly seat: number;
  readonly number: number;
  private readonly instanceId: InstanceId;
  private readonly queue: Queue;
  private readonly handoffs: Handoffs;
  isAlive = true;
  private deafUntilMs = 0;
  private readonly line: HandoffLine;
  private readonly runtime: Runtime;
  private readonly inbox: Inbox;
  private readonly holdings: Holdings;

  constructor(line: HandoffLine, { seat, number, process }: DeskTraits) {
    this.line = line;
    this.seat = seat;
    this.number = number;
    this.instanceId = the.instance(process);
    const place = {
      seat: the.seat(seat),
      generation: the.generation(`g${process}`),
      thread: the.thread(seat),
      isClassic: false,
    };
    // Only what these services look at: they meet neither the wire nor Telegram.
    this.runtime = {
      ports: {
        stage: { clock: line.clock, log: { event: () => undefined }, inspect: () => undefined },
        counters: { count: () => undefined },
        ids: createIds(process, line.random.split(`ids ${process}`)),
        store: line.storeFor(() => line.clock.nowMs() < this.deafUntilMs),
      },
      settings: { me: the.instance(process), host: "turns", ack: "explicit", chat: the.target(1).chatId },
      chats: new Chats(the.target(1).chatId),
      board: { ...emptyBoard(), place },
      onWayChanged: createSignal(),
      onPlaceMoved: createSignal(),
    } as unknown as Runtime;
    this.holdings = new Holdings(this.runtime);
    this.queue = new Queue(this.runtime, this.holdings, {
      handOut: () => Promise.resolve(),
      runTurn: (turn) => this.run(turn),
      commandDone: () => undefined,
    });
    const hand = { holdings: this.holdings, isFlowing: () => this.queue.isFlowing() };
    this.inbox = new Inbox(this.runtime, hand, (taken) => {
      if (this.isAlive) this.queue.arrive(taken);
    });
    this.handoffs = new Handoffs(this.runtime, { holdings: this.holdings, queue: this.queue });
    this.queue.listening.updates(true);
    this.queue.listening.turns(true);
  }

  async take(arrival: Parameters<Inbox["take"]>[0]): Promise<void> {
    const { place } = this.runtime.board;
    if (!this.isAlive || place === null) return;
    await this.inbox.take(arrival, place).catch(() => undefined);
  }

  /** What waits here and might be offered. */
  offerable(): readonly string[] {
    return this.queue.list().flatMap(({ id, standing }) => (standing === "waiting" ? [id] : []));
  }

  /** Turns are kept back for so long. */
  hold(ms: number): void {
    const release = this.queue.hold();
    this.line.clock.setTimeout(() => {
      if (this.isAlive) release();
    }, ms);
  }

  /** Lives and works, and learns of no offer for so long. */
  deafen(ms: number): void {
    this.deafUntilMs = this.line.clock.nowMs() + ms;
  }

  /** Offers what waits here to whoever sits on a seat. */
  async offer(id: string, seat: number): Promise<void> {
    const { accepts } = this.line;
    const [seq, recipient, before] = [journalSeq(Number(id)), the.seat(seat), accepts.length];
    const dueMs = this.line.clock.nowMs() + offerBudgetMs;
    const { kind } = await this.handoffs.offer(seq, recipient);
    this.line.ends[kind] += 1;
    if (kind === "kept" && this.isAlive && this.line.clock.nowMs() >= dueMs) this.line.expired += 1;
    const taken = accepts.slice(before).filter((each) => each.seq === seq && each.instanceId !== this.instanceId);
    this.line.noteEnd({ recipient, isTransferred: kind === "transferred", takenBy: taken.map((each) => each.seat) });
  }

  /** Dead at once: what it has asked of the store may still be carried out. */
  kill(): void {
    this.isAlive = false;
    this.handoffs.close();
    this.inbox.close();
    this.holdings.close();
    this.queue.dispose();
  }

  private async run(turn: HandedTurn): Promise<void> {
    const runs = turn.updates.map(({ id }): Run => ({ seq: journalSeq(Number(id)), by: this, isAcked: false }));
    this.line.runs.push(...runs);
    await this.pause(this.line.random.between(10, 400));
    while (this.isAlive) {
      try {
        const isOurs = await turn.ack();
        for (const run of runs) run.isAcked = isOurs;
        return;
      } catch {
        await this.pause(200);
      }
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.line.clock.setTimeout(resolve, ms);
    });
  }
}
