/** Scenes of the instance chart: how its tests get to where they begin. */
import { epoch, generation } from "../../../machines/ids.ts";
import { instanceMachine } from "../../../machines/instance.machine.ts";
import type { SeenClaim } from "../../../machines/seat.rules.ts";
import { playChart } from "../../support/charts/play.ts";
import { leader, me, mySeat, rival, thread } from "../../support/charts/samples.ts";

export const observed = (at: number) => ({ type: "lease.observed", epoch: epoch(at), holder: leader() }) as const;
export const granted = (at: number) => ({ type: "lease.granted", epoch: epoch(at), remainingMs: 6_000 }) as const;
export const registeredAs = (gen: string) =>
  ({ type: "membership.registered", generation: generation(gen), thread: thread() }) as const;
export const activated = { type: "activation.active", thread: thread() } as const;
/** Followers are served; the own thread could not be had. */
export const activatedThreadless = { type: "activation.active", thread: null } as const;
export const stop = { type: "instance.stop", leave: false } as const;
export const leave = { type: "instance.stop", leave: true } as const;

const request = { me, owner: "profile", name: "one" };
export const freeSeat = { request, claims: [] };

export const start = (name: string | null) => playChart(instanceMachine, { me, name });
export const choosing = (claims: readonly SeenClaim[]) => start("one").answer("readSeatClaims", { request, claims });
export const taken: SeenClaim = { seat: mySeat, instanceId: rival, liveness: "alive" };
/** The name is taken, at the first look and at ten more. */
export const refused = () => {
  const instance = choosing([taken]);
  while (instance.state === "starting.doubting")
    instance.after("doubtInterval").answer("readSeatClaims", { request, claims: [taken] });
  return instance;
};
export const claiming = () => choosing([]);
export const seeking = () => claiming().answer("claimSeat", { kind: "claimed" });
export const electing = () => seeking().send({ type: "lease.standing" });
export const following = () => seeking().send(observed(3));
export const joined = () => following().send(registeredAs("g1"));
export const leading = () => electing().send(granted(4));
export const bus = () => leading().send(activated);
export const threadlessBus = () => leading().send(activatedThreadless);
export const classic = () => leading().send({ type: "activation.classic" });

export const lastFact = (instance: ReturnType<typeof start>) => instance.facts.at(-1);
