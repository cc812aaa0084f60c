/** Scenes of the registration chart: how its tests get to where they begin. */
import { epoch, generation } from "../../../machines/ids.ts";
import { defaultSeatTimings, registrationMachine } from "../../../machines/registration.machine.ts";
import type { SeatReply, Sitter } from "../../../machines/registration.machine.ts";
import { playChart } from "../../support/charts/play.ts";
import { chat, follower, mySeat, reused, thread } from "../../support/charts/samples.ts";

export const timings = { ...defaultSeatTimings, proofLooksMax: 2, lostThreadsMax: 1 };

export const register = (gen: string, requestId = `register ${gen}`) =>
  ({ type: "follower.register", requestId, follower: follower(gen) }) as const;
export const beat = (gen: string) =>
  ({ type: "follower.heartbeat", requestId: `beat ${gen}`, generation: generation(gen) }) as const;
export const disconnect = (gen: string, requestId = `disconnect ${gen}`) =>
  ({ type: "follower.disconnect", requestId, generation: generation(gen) }) as const;
export const heard = (gen: string) => ({ type: "follower.heard", generation: generation(gen) }) as const;
export const closed = (gen: string) => ({ type: "link.closed", generation: generation(gen) }) as const;

export const answered = (requestId: string, reply: SeatReply) => ({ type: "seat.answered", requestId, reply }) as const;
export const sitter = (gen: string) => ({ ...follower(gen), thread: thread() });
export const bound = reused();
export const committed = { kind: "committed" } as const;

/** A seat at the start of an epoch; the store may know who sits there. */
const begun = (sitting: Sitter | null) =>
  playChart(registrationMachine, { seat: mySeat, epoch: epoch(4), chatId: chat, timings, sitter: sitting });
export const vacant = () => begun(null);
export type Seat = ReturnType<typeof vacant>;
/** The one of an earlier leader's time sits there. */
export const inherited = () => begun(sitter("g1"));

export const provisioning = () => vacant().send(register("g1"));
export const fencing = () => provisioning().answer("provisioning", bound);
export const rethreading = () => fencing().answer("commitRegistration", { kind: "threadGone" });
export const refencing = () => fencing().fail("commitRegistration");
export const live = () => fencing().answer("commitRegistration", committed);
/** Somebody sits, and another registration of the seat is under way. */
export const replacing = () => live().send(register("g2"));
export const confirming = () => live().send(closed("g1"));
export const suspect = () => live().after("silence");
export const ending = () => confirming().answer("proveDeath", "dead");
export const preserved = () => ending().answer("endRegistration", { kind: "ended" });
export const disconnecting = () => live().send(disconnect("g1"));

/** Replies to one request. */
export const repliesTo = (seat: Seat, requestId: string): readonly SeatReply[] =>
  seat.facts.flatMap((fact) => (fact.type === "seat.answered" && fact.requestId === requestId ? [fact.reply] : []));
