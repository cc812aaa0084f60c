/**
 * What world 2 consists of.
 *
 * Owns: the types that the world and its faults share. Does not own: making it (`bus-world.ts`), harming it
 * (`bus-faults.ts`).
 */
import type { MemoryDatabase } from "../../adapters/store/memory/index.ts";
import type { MemoryNetwork } from "../../adapters/transport/memory/network.ts";
import type { BusInstance } from "./bus-instance.ts";
import type { UpdateLedger } from "./bus-updates.ts";
import type { HostClock } from "./clock.ts";
import type { LeaseGhost } from "./ghost.ts";
import type { Stagehand } from "./stagehand.ts";
import type { TelegramGate } from "./telegram-api.ts";
import type { TelegramWorld } from "./telegram.ts";

export interface BusPlace {
  readonly name: string;
  readonly host: HostClock;
  instance: BusInstance;
}

export interface BusWorld {
  readonly hand: Stagehand;
  readonly database: MemoryDatabase;
  readonly ghost: LeaseGhost;
  readonly storeClock: HostClock;
  readonly network: MemoryNetwork;
  readonly telegram: TelegramWorld;
  readonly gate: TelegramGate;
  readonly ledger: UpdateLedger;
  readonly places: readonly BusPlace[];
  readonly boot: (place: BusPlace) => void;
}
