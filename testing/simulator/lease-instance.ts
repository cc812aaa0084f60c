/**
 * One instance that has nothing but the lease: the real chart with its real effects, over simulated ports.
 *
 * Owns: booting a process with the chart in it, what becomes of the chart's facts.
 * Does not own: when it is killed or paused (`lease-world.ts`), any decision of the lease.
 */
import type { Actor } from "xstate";
import { instanceId, type Epoch, type InstanceId } from "../../machines/ids.ts";
import type { InstanceView } from "../../machines/invariants.ts";
import type { leaseMachine } from "../../machines/lease.machine.ts";
import type { LeaseTimings } from "../../machines/lease.rules.ts";
import { createLeaseGate, provideLease, type LeaseGate } from "../../services/lease.ts";
import type { LeaseStore } from "../../services/ports.ts";
import { createOnStage } from "../../services/stage.ts";
import type { HostClock } from "./clock.ts";
import { createRequests, leaseOver } from "./requests.ts";
import type { SimulatedProcess } from "./process.ts";
import type { Stagehand } from "./stagehand.ts";

/** Faults planted into the code under test, to see that they are caught. */
export interface LeasePlant {
  readonly lease?: (real: LeaseStore) => LeaseStore;
  readonly gate?: (real: LeaseGate) => LeaseGate;
}

export interface LeaseInstance {
  readonly id: InstanceId;
  readonly process: SimulatedProcess;
  readonly gate: LeaseGate;
  readonly holds: () => Epoch | null;
  readonly view: () => InstanceView;
  /** Someone saw the leader's connection close. */
  readonly hint: () => void;
  readonly leave: () => void;
  readonly isLeaving: () => boolean;
}

export interface LeaseInstanceTraits {
  readonly hand: Stagehand;
  readonly name: string;
  readonly host: HostClock;
  readonly lease: LeaseStore;
  readonly timings: LeaseTimings;
  readonly plant: LeasePlant;
}

const isHolding = (actor: Actor<typeof leaseMachine>): Epoch | null => {
  const snapshot = actor.getSnapshot();
  return snapshot.matches("holding") ? snapshot.context.epoch : null;
};

export function startLeaseInstance(traits: LeaseInstanceTraits): LeaseInstance {
  const { hand, name, plant } = traits;
  const process = hand.newProcess(name, traits.host);
  const { incarnation, processes } = hand.table.enter(process);
  const id = instanceId(`${process.pid}:${process.clock.nowMs()}`);
  hand.table.assign(id, process);
  const ask = createRequests({ ...hand, process, random: hand.random.split(`requests ${process.pid}`) });
  const machine = provideLease({
    store: leaseOver(ask, traits.lease),
    processes,
    clock: process.clock,
    me: { instanceId: id, incarnation, endpoint: `memory:${name}`, secret: "simulated" },
  });
  const realGate = createLeaseGate(process.clock);
  const stage = { clock: process.clock, log: hand.log(name), inspect: () => undefined };
  const actor = createOnStage(stage, machine, { id: `${name}/lease`, input: { me: id, timings: traits.timings } });
  let isLeaving = false;
  actor.on("*", (fact) => {
    const epoch = "epoch" in fact ? ` ${fact.epoch}` : "";
    hand.scheduler.note(`${name} ${fact.type}${epoch}`);
    realGate.onFact(fact);
    if (fact.type === "lease.released") process.kill();
  });
  actor.subscribe({ error: (error: unknown) => hand.violate("lease/chartBroke", `${name}: ${String(error)}`) });
  actor.start();
  return {
    id,
    process,
    gate: plant.gate?.(realGate) ?? realGate,
    holds: () => (process.state() === "dead" ? null : isHolding(actor)),
    view: () => ({
      id,
      alive: process.state() !== "dead",
      holds: isHolding(actor),
    }),
    hint: () => process.deliver("hint", () => actor.send({ type: "lease.check" })),
    leave() {
      isLeaving = true;
      process.deliver("leave", () => actor.send({ type: "lease.release" }));
    },
    isLeaving: () => isLeaving,
  };
}
