/**
 * What world 2 consists of.
 *
 * Owns: the types that the world and its faults share. Does not own: making it (`bus-world.ts`), harming it
 * (`bus-faults.ts`).
 */
import type { MemoryDatabase } from "../../adapters/store/memory/index.ts";
import type { MemoryNetwork } from "../../adapters/transport/memory/network.ts";
import type { RequestHandler, Store } from "../../services/ports.ts";
import type { BusInstance } from "./bus-instance.ts";
import type { CallLedger } from "./bus-calls.ts";
import type { ExchangeWatch } from "./bus-exchanges.ts";
import type { TelegramWatch } from "./bus-telegram.ts";
import type { UpdateLedger } from "./bus-updates.ts";
import type { HostClock } from "./clock.ts";
import type { LeaseGhost } from "./ghost.ts";
import type { RegistrationGhost } from "./registration-ghost.ts";
import type { Stagehand } from "./stagehand.ts";
import type { StoreSteps } from "./store-steps.ts";
import type { TelegramGate } from "./telegram-api.ts";
import type { TelegramWorld } from "./telegram.ts";

export interface BusPlace {
  readonly name: string;
  readonly host: HostClock;
  /** Unnamed ones take whatever seat of their parent is free. */
  readonly isNamed: boolean;
  instance: BusInstance;
}

export interface BusWorld {
  readonly hand: Stagehand;
  readonly database: MemoryDatabase;
  readonly ghost: LeaseGhost;
  readonly registrations: RegistrationGhost;
  readonly exchanges: ExchangeWatch;
  readonly steps: StoreSteps;
  readonly apiCalls: TelegramWatch;
  readonly storeClock: HostClock;
  readonly network: MemoryNetwork;
  readonly telegram: TelegramWorld;
  readonly gate: TelegramGate;
  readonly ledger: UpdateLedger;
  readonly calls: CallLedger;
  readonly places: readonly BusPlace[];
  /** Names of further properties that are false at this moment. */
  readonly alsoCheck: () => readonly string[];
  /** Starts the place's next process, unless the last one lives; what happened, for the trace. */
  readonly boot: (place: BusPlace) => string | null;
}

/** Faults planted between the store or the wire and whoever watches them, to see that they are caught. */
export interface BusPlant {
  readonly store?: (real: Store, database: MemoryDatabase) => Store;
  readonly serve?: (real: RequestHandler) => RequestHandler;
}
