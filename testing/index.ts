/**
 * `partyline/testing`: check a host of your own with what checks the line.
 *
 * Owns: what is public of it. `checkWorld` explores every state of a bounded world of statecharts; `simulateHost` runs whole
 * instances with your host in virtual time; `invariants` is the list that both evaluate; `updatesOf` makes updates.
 * See docs/checking.md. For tests only: nothing here is needed, or loaded, by the line itself.
 */
export { checkWorld } from "./check-world.ts";
export type { Counterexample, WorldReport } from "./check-world.ts";
export * from "./explorer/index.ts";
export { invariants, judgedWith, judgeOf } from "../machines/invariants.ts";
export type { Invariant, Shown, WorldView } from "../machines/invariants.ts";
export { companion, slot } from "../machines/slots.ts";
export { MemoryDatabase, openMemoryStore } from "../adapters/store/memory/index.ts";
export { simulateHost } from "./simulate-host.ts";
export type { HostSimulation } from "./simulate-host.ts";
export type { HostSurroundings, SimulatedHost } from "./simulator/bus-host.ts";
export { calm } from "./simulator/faults.ts";
export type { Swarm } from "./simulator/faults.ts";
export type { SimulationResult } from "./simulator/lease-world.ts";
export { createRandom } from "./simulator/random.ts";
export type { Random } from "./simulator/random.ts";
export { createScheduler } from "./simulator/scheduler.ts";
export type { Scheduler } from "./simulator/scheduler.ts";
export { createTelegramWorld } from "./simulator/telegram.ts";
export type { TelegramWorld } from "./simulator/telegram.ts";
export { updatesOf } from "./updates.ts";
export type { SampleUpdate, UpdateTraits } from "./updates.ts";
