/**
 * Questions to the user whose a thread shall be, while we lead: one for each thread that nobody has and something waits in.
 *
 * Owns: making, finding and ending them, their effects at Telegram and in the journal, answering presses. Does not own: the
 * course of a question (`machines/reroute.machine.ts`), who is asked (`machines/reroute.rules.ts`), what waits (the journal).
 *
 * Nothing is kept here that must survive: a later leader finds what waits in the journal, and asks anew; the buttons of
 * before then say that they have expired. What was asked about is not asked about again by itself, only for a press or when
 * more is written.
 */
import { fromPromise } from "xstate";
import type { Actor } from "xstate";
import { messageId, sameTarget } from "../machines/ids.ts";
import type {
  BoundThread,
  ChatId,
  Epoch,
  JournalSeq,
  Lane,
  MessageId,
  SeatKey,
  ThreadTarget,
} from "../machines/ids.ts";
import { canonicalInteger } from "../machines/calls.rules.ts";
import type { DeliveryFact } from "../machines/delivery.machine.ts";
import { fieldsOf } from "../machines/fields.rules.ts";
import { rerouteMachine } from "../machines/reroute.machine.ts";
import type {
  DismissOrder,
  GiveAnswer,
  GiveOrder,
  MoveAnswer,
  MoveOrder,
  OfferAnswer,
  RerouteFact,
  ShowAnswer,
  ShowOrder,
} from "../machines/reroute.machine.ts";
import {
  askedBy,
  chooserId,
  chooserKeyboard,
  choosersMax,
  chooserText,
  guidanceText,
  isOfAlbum,
  pressOf,
  pressWords,
} from "../machines/reroute.rules.ts";
import type { PressWord } from "../machines/reroute.rules.ts";
import { provesThreadGone } from "../machines/threads.rules.ts";
import { laneOfThread, readUpdate, urgentLaneOf } from "../machines/updates.rules.ts";
import { provideCleanup } from "./cleanup.ts";
import type { Work } from "./hand.ts";
import { callAsLeader, callInBackground, reasonOf } from "./leader-calls.ts";
import type { CallOutcome } from "./ports.ts";
import { threadsHeard } from "./outside.ts";
import { Remembered } from "./remembered.ts";
import { Restorer } from "./restoring.ts";
import type { Runtime } from "./runtime.ts";
import type { Seats } from "./seats.ts";
import { createOnStage } from "./stage.ts";

/** Entries and threads that are remembered as asked about, and told, at most. */
const rememberedMax = 10_000;

export interface ChoosingSide {
  readonly epoch: Epoch;
  /** What waits for a choice in these lanes, in their order. */
  readonly waitingIn: (lanes: readonly Lane[]) => readonly Work[];
  /** These entries, which waited in these lanes, are in another one by now. */
  readonly onMoved: (lanes: readonly Lane[], seqs: readonly JournalSeq[]) => void;
  /** A thread that was nobody's is this seat's by now, with what waits there. */
  readonly onRestored: (seat: SeatKey) => void;
  readonly onFenced: () => void;
}

interface Question {
  readonly id: string;
  readonly source: ThreadTarget;
  /** What it is a reply to; null when nothing can be replied to. */
  readonly repliesTo: MessageId | null;
  readonly actor: Actor<typeof rerouteMachine>;
  /** Something was written after it was decided. */
  isLeft: boolean;
  /** Its thread is gone: it stands outside every thread. */
  isOutside: boolean;
}

const keyOf = laneOfThread;
/** What one question is about: the thread's own lane, and that of its urgent commands. */
const lanesOf = (thread: ThreadTarget): readonly Lane[] => [laneOfThread(thread), urgentLaneOf(laneOfThread(thread))];

export class Choosers {
  private readonly runtime: Runtime;
  private readonly seats: Seats;
  private readonly side: ChoosingSide;
  private readonly machine: ReturnType<Choosers["provide"]>;
  /** By thread, in the order in which they were asked. */
  private readonly questions = new Map<Lane, Question>();
  private readonly asked = new Remembered<JournalSeq>(rememberedMax);
  private readonly guided = new Remembered<Lane>(rememberedMax);
  private count = 0;

  constructor(runtime: Runtime, { seats }: { readonly seats: Seats }, side: ChoosingSide) {
    this.runtime = runtime;
    this.seats = seats;
    this.side = side;
    this.machine = this.provide();
  }

  /** An update waits whose thread nobody has. Told again of the same one, nothing happens. */
  unowned(work: Work, isAsked: boolean): void {
    const target = threadOf(work);
    if (target === null || !this.asked.add(work.entry.seq)) return;
    const open = this.questions.get(keyOf(target));
    if (open !== undefined) open.actor.send({ type: "content.arrived", isAlbum: isOfAlbum(work.update) });
    else if (isAsked) this.ask(work, target);
    else this.asked.delete(work.entry.seq);
  }

  /** A button of ours was pressed, by somebody who may. */
  press(update: unknown): void {
    const press = pressOf(update);
    const query = fieldsOf(fieldsOf(update)?.["callback_query"]);
    const facts = readUpdate(update);
    if (press === null || query === null || facts === null) return;
    const queryId = typeof query["id"] === "string" ? query["id"] : "";
    const question = [...this.questions.values()].find(({ id }) => id === press.id);
    if (question !== undefined) {
      const to = "thread" in press ? { chatId: question.source.chatId, threadId: press.thread } : question.source;
      const { kind } = press;
      question.actor.send({ type: "chooser.pressed", press: kind, to, query: queryId, message: facts.message });
      return;
    }
    this.answer(queryId, "expired");
    const { chat, thread, message } = facts;
    if (chat === null) return;
    if (message !== null) void this.dismiss(chat, message);
    if (thread !== null) this.askAgain({ chatId: chat, threadId: thread });
  }

  /** What became of a delivery, of whatever update. */
  onDelivery(seq: JournalSeq, fact: DeliveryFact["type"]): void {
    const isTaken = fact === "delivery.accepted";
    if (!isTaken && fact !== "delivery.dropped" && fact !== "delivery.deadLettered") return;
    this.asked.delete(seq);
    const type = isTaken ? "content.accepted" : "content.ended";
    for (const { actor } of [...this.questions.values()]) actor.send({ type, seq });
  }

  seatsChanged(): void {
    for (const { actor } of [...this.questions.values()]) actor.send({ type: "seats.changed" });
  }

  stop(): void {
    for (const { actor } of this.questions.values()) actor.stop();
    this.questions.clear();
  }

  /** Asks about what waits there, unless a question stands or nothing does. */
  private askAgain(target: ThreadTarget): void {
    const [first] = this.side.waitingIn(lanesOf(target));
    if (first !== undefined && !this.questions.has(keyOf(target))) this.ask(first, target);
  }

  private ask({ entry, facts, update }: Work, source: ThreadTarget): void {
    this.makeRoom();
    const { stage } = this.runtime.ports;
    const { epoch } = this.side;
    const id = chooserId(epoch, (this.count += 1));
    const input = { epoch, id, source, asked: askedBy(update), isAlbum: isOfAlbum(update) };
    const actor = createOnStage(stage, this.machine, { id: `${this.runtime.settings.me}/reroute/${id}`, input });
    const question: Question = { id, source, repliesTo: facts.message, actor, isLeft: false, isOutside: false };
    this.questions.set(keyOf(source), question);
    stage.log.event("info", "thread-unowned", { thread: source.threadId, seq: entry.seq, question: id });
    actor.on("*", (fact: RerouteFact) => {
      this.onFact(question, fact);
    });
    actor.subscribe({
      complete: () => {
        this.end(question);
      },
      error: (error: unknown) => {
        stage.log.event("error", "chart-broke", { actor: `reroute/${id}`, reason: String(error) });
        this.end(question);
      },
    });
    actor.start();
  }

  private makeRoom(): void {
    const [oldest] = this.questions.values();
    if (this.questions.size < choosersMax || oldest === undefined) return;
    oldest.actor.stop();
    this.end(oldest);
  }

  private onFact(question: Question, fact: RerouteFact): void {
    switch (fact.type) {
      case "reroute.answered":
        this.answer(fact.query, fact.word);
        return;
      case "reroute.moved":
        this.runtime.ports.stage.log.event("info", "thread-rerouted", {
          thread: question.source.threadId,
          to: fact.to.threadId,
        });
        this.side.onMoved(lanesOf(question.source), fact.seqs);
        return;
      case "reroute.restored":
        this.runtime.ports.stage.log.event("info", "thread-restored", {
          thread: question.source.threadId,
          seat: fact.seat,
        });
        this.side.onRestored(fact.seat);
        return;
      case "reroute.left":
        question.isLeft = true;
        return;
      case "reroute.fenced":
        this.side.onFenced();
    }
  }

  private end(question: Question): void {
    if (this.questions.get(keyOf(question.source)) !== question) return;
    this.questions.delete(keyOf(question.source));
    if (question.isLeft) this.askAgain(question.source);
  }

  /** Everybody who can be chosen right now. */
  private candidates({ chatId: chat }: ThreadTarget): readonly BoundThread[] {
    return threadsHeard(this.runtime, this.seats).filter(({ target }) => target.chatId === chat);
  }

  private call(method: string, payload: Readonly<Record<string, unknown>>): Promise<CallOutcome> {
    return callAsLeader(this.runtime, { method, payload, epoch: this.side.epoch });
  }

  /** A press whose answer is lost only looks unanswered. */
  private answer(query: string, word: PressWord): void {
    const payload = { callback_query_id: query, text: pressWords[word] };
    const call = { method: "answerCallbackQuery", payload, epoch: this.side.epoch };
    callInBackground(this.runtime, call, { phase: "press-not-answered" });
  }

  private async show({ id, source, asked, message, list }: ShowOrder): Promise<ShowAnswer> {
    if ((await this.runtime.ports.store.threads.seatOf(source)) !== null) return { kind: "owned" };
    const threads = this.candidates(source);
    if (threads.length === 0) return this.guide(source);
    const outside = chooserKeyboard(id, threads, "outside");
    const isOutside = this.questions.get(keyOf(source))?.isOutside === true;
    const inside = isOutside ? outside : chooserKeyboard(id, threads, list);
    if (message !== null) return this.renew(source, message, inside);
    const outcome = await this.send(source, chooserText(asked), { inside, outside });
    if (outcome.kind === "ok") {
      const sent = canonicalInteger(fieldsOf(outcome.result)?.["message_id"]);
      return { kind: "shown", message: sent === null ? null : messageId(sent) };
    }
    this.runtime.ports.stage.log.event("info", "question-not-shown", {
      thread: source.threadId,
      reason: reasonOf(outcome),
    });
    return outcome.kind === "ambiguous" ? { kind: "shown", message: null } : { kind: "failed" };
  }

  /** In its thread, as a reply to what was written there; outside every thread when that one is gone. */
  private async send(
    source: ThreadTarget,
    text: string,
    keyboards: { readonly inside: object; readonly outside: object },
  ): Promise<CallOutcome> {
    const question = this.questions.get(keyOf(source));
    const repliesTo = question?.repliesTo ?? null;
    const reply = { message_id: repliesTo, allow_sending_without_reply: true };
    const inside = await this.call("sendMessage", {
      chat_id: source.chatId,
      message_thread_id: source.threadId,
      text,
      reply_markup: keyboards.inside,
      ...(repliesTo === null ? {} : { reply_parameters: reply }),
    });
    const isGone = inside.kind === "rejected" && provesThreadGone(inside.error.description);
    if (!isGone || question === undefined) return inside;
    question.isOutside = true;
    return this.call("sendMessage", { chat_id: source.chatId, text, reply_markup: keyboards.outside });
  }

  private async renew(source: ThreadTarget, message: MessageId, keyboard: object): Promise<ShowAnswer> {
    const outcome = await this.call("editMessageReplyMarkup", {
      chat_id: source.chatId,
      message_id: message,
      reply_markup: keyboard,
    });
    // The user may have deleted it: what is written next is asked about with a new one.
    const isGone = outcome.kind === "rejected" && /message to edit not found/i.test(outcome.error.description);
    return { kind: "shown", message: isGone ? null : message };
  }

  private async guide(source: ThreadTarget): Promise<ShowAnswer> {
    if (!this.guided.add(keyOf(source))) return { kind: "guided" };
    const outcome = await this.call("sendMessage", {
      chat_id: source.chatId,
      message_thread_id: source.threadId,
      text: guidanceText,
    });
    if (outcome.kind === "ok" || outcome.kind === "ambiguous") return { kind: "guided" };
    this.guided.delete(keyOf(source));
    return { kind: "failed" };
  }

  /** Whose thread it is is looked at now, at the press, and once more in the write itself. */
  private async move({ epoch, source, to }: MoveOrder): Promise<MoveAnswer> {
    const { store } = this.runtime.ports;
    if (!this.candidates(source).some(({ target }) => sameTarget(target, to))) return { kind: "absent" };
    const { leftovers } = await store.threads.view();
    const outcome = await store.journal.redirect({ epoch, from: source, to });
    if (outcome.kind !== "redirected") return { kind: outcome.kind };
    // What is left over is the operator's to delete; of what is gone only the question is still there.
    const isLeftOver = leftovers.some(({ target }) => sameTarget(target, source));
    const mayDelete = !isLeftOver && this.questions.get(keyOf(source))?.isOutside !== true;
    return { kind: "moved", seqs: outcome.seqs, mayDelete };
  }

  private async dismiss(chat: ChatId, message: MessageId): Promise<boolean> {
    const outcome = await this.call("deleteMessage", { chat_id: chat, message_id: message });
    if (outcome.kind === "ok") return outcome.result === true;
    return outcome.kind === "rejected" && /message to delete not found/i.test(outcome.error.description);
  }

  private provide() {
    const restorer = new Restorer(this.runtime, this.seats);
    return rerouteMachine.provide({
      actors: {
        showChooser: fromPromise<ShowAnswer, ShowOrder>(({ input }) => this.show(input)),
        moveContent: fromPromise<MoveAnswer, MoveOrder>(({ input }) => this.move(input)),
        offerThread: fromPromise<OfferAnswer, MoveOrder>(({ input }) => restorer.offer(input)),
        giveThread: fromPromise<GiveAnswer, GiveOrder>(({ input }) => restorer.give(input)),
        seatAgent: fromPromise<boolean, GiveOrder>(({ input }) => restorer.seat(input)),
        dismissChooser: fromPromise<boolean, DismissOrder>(({ input }) =>
          this.dismiss(input.source.chatId, input.message),
        ),
        cleanup: provideCleanup(this.runtime),
      },
    });
  }
}

function threadOf({ facts }: Work): ThreadTarget | null {
  return facts.chat === null || facts.thread === null ? null : { chatId: facts.chat, threadId: facts.thread };
}
