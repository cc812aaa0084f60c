/**
 * A line as any process of its user reaches it: its state folder, its status, what an operator asks for.
 *
 * Owns: which folder a line has, opening its store. Does not own: putting an instance on it (`index.ts`).
 */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { systemClock } from "./adapters/host/clock.ts";
import { botIdOf, checkProfile, profileFolder, stateHome } from "./adapters/host/home.ts";
import type { Checked } from "./adapters/host/home.ts";
import { systemIds } from "./adapters/host/ids.ts";
import { systemProcesses } from "./adapters/host/processes.ts";
import { openSqliteStore } from "./adapters/store/sqlite/index.ts";
import { recoverStore, storeHealth } from "./adapters/store/sqlite/recover.ts";
import type { Recovery, StoreHealth } from "./adapters/store/sqlite/recover.ts";
import { deadLettersOf, type DeadLetters } from "./services/dead-letters.ts";
import { pairingOf, type Pairing } from "./services/pairing-desk.ts";
import { lineView, type LineView } from "./services/line-view.ts";
import { StartError } from "./services/errors.ts";
import { requestOfOperator, type OperatorReply, type OperatorWish } from "./services/operator.ts";
import type { Store } from "./services/ports.ts";
import type { LineStatus } from "./services/status.ts";

function must<Value>(checked: Checked<Value>): Value {
  if (checked.kind === "invalid") throw new StartError(checked.message);
  return checked.value;
}

/** The folder of a bot's profile, from the same options that `createInstance` takes. Throws a `StartError`. */
export function stateFolder(options: LineOptions): string {
  const home = stateHome(options.home ?? null, {
    platform: process.platform,
    env: process.env,
    userHome: homedir(),
    cwd: process.cwd(),
  });
  return profileFolder(home, must(botIdOf(options.token)), must(checkProfile(options.profile)), process.platform);
}

export async function openStore(folder: string): Promise<Store> {
  const opened = await openSqliteStore({ folder, clock: systemClock() });
  if ("lease" in opened) return opened;
  throw new StartError(opened.reason);
}

function folderOf(options: LineOptions): string {
  const folder = stateFolder(options);
  if (existsSync(folder)) return folder;
  throw new StartError(`No instance of this bot and profile has run here: there is no ${folder}.`);
}

/** Who leads, the seats, the threads, the journal of a profile. Any process may ask; a status is a moment. */
export async function readStatus(options: LineOptions): Promise<LineStatus> {
  const view = await openLine(options);
  try {
    return await view.status();
  } finally {
    await view.close();
  }
}

/** Which line: bot, profile, state folder; as `createInstance` takes them. */
export interface LineOptions {
  readonly token: string;
  readonly home?: string;
  readonly profile?: string;
}

/** Whether the line's store can be used, and what is wrong with it otherwise. Changes nothing. */
export const examineStore = (options: LineOptions): StoreHealth => storeHealth(folderOf(options));

/** Sets a damaged store aside and saves what can be read of it; does nothing to one that is not. All instances must be stopped. */
export const recoverDamagedStore = (options: LineOptions): Promise<Recovery> =>
  recoverStore(folderOf(options), { clock: systemClock(), processes: systemProcesses() });

/** Rejects with a `StartError` when no instance has run there, or the store cannot be used. */
export async function openLine(options: LineOptions): Promise<LineView> {
  return lineView({ store: await openStore(folderOf(options)), processes: systemProcesses(), clock: systemClock() });
}

/** The updates that were set aside. Rejects with a `StartError` when the store cannot be used. */
export async function openDeadLetters(options: LineOptions): Promise<DeadLetters> {
  return deadLettersOf({ store: await openStore(folderOf(options)), clock: systemClock() });
}

/** Who may write to the bot where no user is configured. Rejects with a `StartError` when the store cannot be used. */
export async function openPairing(options: LineOptions): Promise<Pairing> {
  return pairingOf({ store: await openStore(folderOf(options)), clock: systemClock() });
}

/** Asks the leader, and waits for its answer at most `patienceMs`; null = none yet, the next leader carries it out. */
export async function askOperator(
  options: LineOptions,
  wish: OperatorWish,
  patienceMs: number,
): Promise<OperatorReply | null> {
  const store = await openStore(stateFolder(options));
  try {
    return await requestOfOperator({ store, clock: systemClock(), ids: systemIds() }, wish, patienceMs);
  } finally {
    await store.close();
  }
}
