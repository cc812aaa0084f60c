/**
 * The leader's seats: one registration chart per follower seat, held in a map.
 *
 * Owns: making and finding seat actors, carrying a request to one and its answer back, telling who is routable.
 * Does not own: any decision about a seat (`machines/registration.machine.ts`).
 *
 * Lives as long as one leadership: it starts empty, and nothing is ever loaded into it.
 */
import type { Actor } from "xstate";
import { registrationMachine, routableSitter } from "../machines/registration.machine.ts";
import type {
  Follower,
  RegistrationEvent,
  RegistrationFact,
  SeatReply,
  Sitter,
} from "../machines/registration.machine.ts";
import { sameTarget } from "../machines/ids.ts";
import type { Epoch, Generation, InstanceId, SeatKey, ThreadTarget } from "../machines/ids.ts";
import { provideRegistration } from "./registration.ts";
import type { FollowerLinks } from "./follower-links.ts";
import { chatOf } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";
import { createOnStage } from "./stage.ts";

type SeatActor = Actor<typeof registrationMachine>;

/** Seats of one leadership. Beyond it registrations are refused: a peer must not be able to fill the memory. */
export const seatsMax = 5_000;

export interface Seats {
  register(requestId: string, seat: SeatKey, follower: Follower): Promise<SeatReply>;
  /** `unknown` when no seat knows this instance. */
  ask(
    type: "follower.heartbeat" | "follower.disconnect",
    from: { readonly requestId: string; readonly instanceId: InstanceId; readonly generation: Generation },
  ): Promise<SeatReply>;
  /** The routable holder with this instance id; null when it is not routable. */
  sitterByInstance(instance: InstanceId): { readonly seat: SeatKey; readonly sitter: Sitter } | null;
  /** The routable holder of the seat. */
  sitterOf(seat: SeatKey): Sitter | null;
  /** The seat whose routable holder has this thread. */
  seatByThread(target: ThreadTarget): SeatKey | null;
  /** Authenticated traffic of this follower: it lives. */
  heard(instance: InstanceId, generation: Generation): void;
  /** A connection that this registration used has closed. */
  linkClosed(seat: SeatKey, generation: Generation): void;
  /** Slots of all routable followers, ascending. */
  slots(): readonly string[];
  stop(): void;
}

interface Held {
  readonly actor: SeatActor;
  readonly answers: Map<string, (reply: SeatReply) => void>;
}

export function createSeats(runtime: Runtime, epoch: Epoch, links: FollowerLinks, onChange: () => void): Seats {
  const { stage } = runtime.ports;
  const held = new Map<SeatKey, Held>();
  const seatByInstance = new Map<InstanceId, SeatKey>();
  const machine = provideRegistration(runtime, links);

  const onFact = (seat: SeatKey, { answers }: Pick<Held, "answers">, fact: RegistrationFact): void => {
    if (fact.type === "seat.answered") {
      answers.get(fact.requestId)?.(fact.reply);
      answers.delete(fact.requestId);
      return;
    }
    const instanceId = fact.type === "seat.live" ? fact.sitter.instanceId : fact.instanceId;
    if (fact.type === "seat.live") seatByInstance.set(instanceId, seat);
    stage.log.event("info", fact.type, { seat, instanceId, ...("why" in fact ? { why: fact.why } : {}) });
    onChange();
  };

  const openSeat = (seat: SeatKey): Held => {
    const known = held.get(seat);
    if (known !== undefined) return known;
    const input = { seat, epoch, chatId: chatOf(runtime.settings), timings: runtime.settings.seats };
    const actor = createOnStage(stage, machine, { id: `${runtime.settings.me}/seat/${seat}`, input });
    const opened: Held = { actor, answers: new Map() };
    held.set(seat, opened);
    actor.on("*", (fact) => {
      onFact(seat, opened, fact);
    });
    actor.subscribe({
      error: (error: unknown) => {
        brokenSeat(seat, opened, error);
      },
    });
    actor.start();
    return opened;
  };

  const brokenSeat = (seat: SeatKey, { answers }: Held, error: unknown): void => {
    stage.log.event("error", "seat-broke", { seat, reason: String(error) });
    held.delete(seat);
    for (const answer of answers.values()) answer({ kind: "failed", reason: String(error) });
    onChange();
  };

  const send = ({ actor, answers }: Held, requestId: string, event: RegistrationEvent): Promise<SeatReply> =>
    new Promise((resolve) => {
      answers.set(requestId, resolve);
      actor.send(event);
    });

  const byInstance = (instance: InstanceId): { readonly seat: SeatKey; readonly held: Held } | null => {
    const seat = seatByInstance.get(instance);
    const found = seat === undefined ? undefined : held.get(seat);
    return seat === undefined || found === undefined ? null : { seat, held: found };
  };

  const routable = ({ actor }: Held): Sitter | null => routableSitter(actor.getSnapshot());

  return {
    register(requestId, seat, follower) {
      if (!held.has(seat) && held.size >= seatsMax)
        return Promise.resolve({ kind: "refused", reason: `a leader has at most ${String(seatsMax)} seats` });
      return send(openSeat(seat), requestId, { type: "follower.register", requestId, follower });
    },
    ask(type, { requestId, instanceId, generation }) {
      const found = byInstance(instanceId);
      if (found === null) return Promise.resolve({ kind: "unknown" });
      // Another instance may sit there now: for this one the seat is lost.
      const { sitter } = found.held.actor.getSnapshot().context;
      if (sitter?.instanceId !== instanceId) return Promise.resolve({ kind: "unknown" });
      return send(found.held, requestId, { type, requestId, generation });
    },
    sitterByInstance(instance) {
      const found = byInstance(instance);
      const sitter = found === null ? null : routable(found.held);
      return found === null || sitter?.instanceId !== instance ? null : { seat: found.seat, sitter };
    },
    sitterOf(seat) {
      const found = held.get(seat);
      return found === undefined ? null : routable(found);
    },
    seatByThread(target) {
      for (const [seat, each] of held) {
        const sitter = routable(each);
        if (sitter !== null && sameTarget(sitter.thread.target, target)) return seat;
      }
      return null;
    },
    heard(instance, generation) {
      byInstance(instance)?.held.actor.send({ type: "follower.heard", generation });
    },
    linkClosed(seat, generation) {
      held.get(seat)?.actor.send({ type: "link.closed", generation });
    },
    slots() {
      return [...held.values()]
        .flatMap((each) => routable(each)?.thread.slot ?? [])
        .filter((slot) => slot !== "")
        .sort();
    },
    stop() {
      for (const { actor, answers } of held.values()) {
        actor.stop();
        answers.clear();
      }
      held.clear();
    },
  };
}
