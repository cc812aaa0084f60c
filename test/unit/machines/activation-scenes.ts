/** Scenes of the activation chart: how its tests get to where they begin. */
import { activationMachine } from "../../../machines/activation.machine.ts";
import { epoch } from "../../../machines/ids.ts";
import type { ChatId } from "../../../machines/ids.ts";
import { playChart } from "../../support/charts/play.ts";
import { chat, me, mySeat, reused } from "../../support/charts/samples.ts";

const startIn = (chatId: ChatId | null, hadThread: boolean) =>
  playChart(activationMachine, {
    epoch: epoch(4),
    seat: mySeat,
    me,
    chatId,
    threadName: "Work",
    carried: null,
    capabilityMs: 2_500,
    hadThread,
  });
export const start = (hadThread = false) => startIn(chat, hadThread);
export const startUnpaired = () => startIn(null, true);
export const bound = reused();
export const committed = { kind: "committed" } as const;
export const answered = { type: "polling.answered", added: 1 } as const;
export const troubled = (trouble: "conflict" | "failed") =>
  ({ type: "polling.troubled", trouble, reason: "409" }) as const;
export const broke = { type: "companion.failed", companion: "poller", reason: "no socket" } as const;
export const fenced = { type: "activation.troubled", trouble: "fenced", reason: "the store holds a newer epoch" };

export const provisioning = () => start().answer("identify", { kind: "topics" });
export const seating = () => provisioning().answer("provisioning", bound);
export const listening = () => seating().answer("seatOwn", committed);
export const polled = () => listening().send({ type: "endpoint.open" });
export const active = () => polled().send({ type: "polling.started" });
export const classic = () => start().answer("identify", { kind: "noTopics" }).answer("seatOwn", committed);
export const scheduled = () => classic().after("capabilityInterval");
export const rejected = { kind: "rejected", reason: "no rights" } as const;
export const threadless = () =>
  provisioning().answer("provisioning", rejected).answer("seatOwn", committed).send({ type: "endpoint.open" });
export const activeThreadless = () => threadless().send({ type: "polling.started" });
export const switching = () => scheduled().answer("identify", { kind: "topics" });

export const companions = ["endpoint", "dispatcher", "poller"];
export const running = (chart: ReturnType<typeof start>) =>
  Object.keys(chart.requests).filter((src) => companions.includes(src));
