/**
 * Effects of giving a thread that nobody has to an agent, which then moves there.
 *
 * Owns: asking the agent, the one write, having its seat moved, the thread's name. Does not own: the order of these
 * (`machines/reroute.machine.ts`), how a seat moves (`registration.machine.ts`, `activation.machine.ts`).
 */
import { sameTarget } from "../machines/ids.ts";
import type { Epoch, SeatKey, ThreadTarget } from "../machines/ids.ts";
import type { GiveAnswer, GiveOrder, MoveOrder, OfferAnswer } from "../machines/reroute.machine.ts";
import { giveThread, isNamedByPerson, nameSeen } from "./give-thread.ts";
import { callAsLeader, reasonOf } from "./leader-calls.ts";
import type { Runtime } from "./runtime.ts";
import type { Seats } from "./seats.ts";
import type { ThreadKeeper } from "./thread-sends.ts";

export class Restorer {
  private readonly runtime: Runtime;
  private readonly seats: Seats;

  constructor(runtime: Runtime, seats: Seats) {
    this.runtime = runtime;
    this.seats = seats;
  }

  /** We ourselves take what we are given; a follower has to say so. */
  async offer({ source, to }: MoveOrder): Promise<OfferAnswer> {
    if ((await this.runtime.ports.store.threads.seatOf(source)) !== null) return { kind: "owned" };
    const { place } = this.runtime.board;
    const own = place?.thread?.target;
    if (place !== null && own !== undefined && sameTarget(own, to)) return { kind: "accepted", seat: place.seat };
    const seat = this.seats.seatByThread(to);
    if (seat === null) return { kind: "absent" };
    const kind = await this.seats.offer(seat, source);
    return kind === "accepted" ? { kind, seat } : { kind };
  }

  async give({ epoch, source, seat }: GiveOrder): Promise<GiveAnswer> {
    const answer = await this.bind({ epoch, source, seat });
    if (answer.kind !== "given" && answer.kind !== "fenced") this.seats.misled(seat);
    return answer;
  }

  /** Its registration is written anew, with the thread that the store has for it: as when its thread was lost. */
  async seat({ source, seat }: GiveOrder): Promise<boolean> {
    const keeper = this.keeperOf(seat);
    const before = keeper?.current() ?? null;
    if (keeper === null || before === null || sameTarget(before, source)) return true;
    await keeper.doubt({ target: before, kind: "suspect", reason: "the user gave its seat another thread" });
    const after = keeper.current();
    return after === null || sameTarget(after, source);
  }

  private async bind({ epoch, source, seat }: GiveOrder): Promise<GiveAnswer> {
    const { store, stage } = this.runtime.ports;
    const owner = await store.threads.seatOf(source);
    if (owner !== null) return { kind: owner === seat ? "given" : "owned" };
    const before = await store.threads.bindingOf({ seat, chatId: source.chatId });
    if (before === null) return { kind: "absent" };
    const { observations } = await store.cleanups.view();
    const atMs = stage.clock.nowMs();
    const outcome = await giveThread(this.runtime, {
      epoch,
      provisionId: null,
      binding: {
        seat,
        thread: {
          ...before.thread,
          target: source,
          threadName: nameSeen(observations, source) ?? before.thread.threadName,
        },
        createdAtMs: atMs,
        // The user pressed a button there.
        standing: "open",
        reason: "given by the user",
        provenAtMs: atMs,
      },
    });
    if (outcome.kind === "fenced" || outcome.kind === "gone") return { kind: outcome.kind };
    const { threadName } = before.thread;
    if (threadName !== "" && !isNamedByPerson(observations, source)) void this.rename(epoch, source, threadName);
    return { kind: "given" };
  }

  private keeperOf(seat: SeatKey): ThreadKeeper | null {
    const { place, keeper } = this.runtime.board;
    if (place?.seat === seat) return keeper;
    const sitter = this.seats.sitterOf(seat);
    return sitter === null ? null : this.seats.keeperOf(seat, sitter.generation);
  }

  /** The agent's own name goes along, if Telegram lets it; nothing depends on it. */
  private async rename(epoch: Epoch, target: ThreadTarget, name: string): Promise<void> {
    const { store, stage } = this.runtime.ports;
    const payload = { chat_id: target.chatId, message_thread_id: target.threadId, name };
    try {
      const outcome = await callAsLeader(this.runtime, { method: "editForumTopic", payload, epoch });
      if (outcome.kind !== "ok") {
        stage.log.event("info", "thread-not-renamed", { thread: target.threadId, reason: reasonOf(outcome) });
        return;
      }
      // Telegram tells a bot nothing of its own doing.
      const evidence = { target, what: "renamed", name, by: "bot", atMs: stage.clock.nowMs() } as const;
      await store.cleanups.observe({ epoch, evidence });
    } catch (error) {
      stage.log.event("info", "thread-not-renamed", { thread: target.threadId, reason: String(error) });
    }
  }
}
