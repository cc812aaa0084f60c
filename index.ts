/**
 * Partyline: many agent processes share one Telegram bot.
 *
 * `createInstance` puts this process on the line. It leads or follows as needed, emits the updates of its own thread,
 * and makes Bot API calls confined to that thread.
 *
 * Owns: the public API and the composition of the real ports. Does not own: anything that decides (`machines/`).
 */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { stopwatchMs, systemClock } from "./adapters/host/clock.ts";
import { systemIds } from "./adapters/host/ids.ts";
import { isolated } from "./adapters/host/isolated-log.ts";
import { systemProcesses } from "./adapters/host/processes.ts";
import { redactor } from "./adapters/host/redact.ts";
import { readTokenFile } from "./adapters/host/token-file.ts";
import { sqliteBackups } from "./adapters/store/sqlite/backup.ts";
import { openOwnerStore, v1Folder } from "./adapters/store/v1-owner/index.ts";
import { ownerSelf } from "./adapters/store/v1-owner/self.ts";
import { createTelegramClient } from "./adapters/telegram/client/index.ts";
import { createUnixTransport } from "./adapters/transport/unix/transport.ts";
import { sameSecret } from "./adapters/transport/wire/secret.ts";
import { noInspection, openWatching } from "./inspector/instance.ts";
import type { InspectSettings } from "./inspector/instance.ts";
import { LineInstance } from "./instance.ts";
import type { Instance, InstanceEvents, InstanceTurn, InstanceUpdate } from "./instance.ts";
import { openStore, stateFolder } from "./line.ts";
import type { BoundThread, Epoch } from "./machines/ids.ts";
import { defaultOwnerTimings } from "./machines/owner.contract.ts";
import { roleOf } from "./machines/role.rules.ts";
import type { Role } from "./machines/role.rules.ts";
import { checkOptions, settingsFrom } from "./options.ts";
import type { InstanceOptions } from "./options.ts";
import { AgentError } from "./services/agents-api.ts";
import type { Agents, AgentSelector, AgentThread } from "./services/agents-api.ts";
import { BackupTimes } from "./services/backups.ts";
import { Counts } from "./services/counts.ts";
import type { DeadLetter, DeadLetterOutcome, DeadLetters } from "./services/dead-letters.ts";
import { CallError, StartError } from "./services/errors.ts";
import { Handlers } from "./services/handlers.ts";
import type { Trouble } from "./services/handlers.ts";
import type { HandoffOutcome } from "./services/handoff.ts";
import { composeInstance } from "./services/instance.ts";
import type { ComposedInstance } from "./services/instance.ts";
import type { LineQueue, LineView, LineWork, MoveReply } from "./services/line-view.ts";
import type { OperatorReply, OperatorWish } from "./services/operator.ts";
import type { Pairing, PairingAsker, PairingReply, PairingState } from "./services/pairing-desk.ts";
import type { Clock, Log, TelegramError } from "./services/ports.ts";
import type { V1Fleet } from "./services/ports/owner.ts";
import type { InstanceQueue } from "./services/queue-face.ts";
import type { CommandDone, QueuedItem } from "./services/queue.ts";
import type { Settings } from "./services/runtime.ts";
import { describeLine } from "./services/status.ts";
import type { LineStatus } from "./services/status.ts";
import { updatesIn, watchPorts } from "./services/traffic.ts";
import type { Crossing } from "./services/traffic.ts";
import { version } from "./version.ts";

export type { Instance, InstanceEvents, InstanceOptions, InstanceTurn, InstanceUpdate };
export type { Agents, AgentSelector, AgentThread, BoundThread, Epoch, InspectSettings, LineStatus, Log, Role };
export type { LineQueue, LineView, LineWork, MoveReply };
export type { CommandDone, HandoffOutcome, InstanceQueue, QueuedItem };
export type { OperatorReply, OperatorWish, TelegramError, Trouble };
export type { DeadLetter, DeadLetterOutcome, DeadLetters };
export type { Pairing, PairingAsker, PairingReply, PairingState };
export {
  askOperator,
  examineStore,
  openDeadLetters,
  openLine,
  openPairing,
  readStatus,
  recoverDamagedStore,
  stateFolder,
} from "./line.ts";
export type { Recovery, SavedTable, StoreHealth } from "./adapters/store/sqlite/recover.ts";
export type { LineOptions } from "./line.ts";
export { AgentError, CallError, StartError, version };

function openTelegram({ token, apiRoot, tokenFile }: InstanceOptions, folder: string, { log, tokens }: Renewing) {
  const filesFolder = join(folder, "files");
  const renew = async (): Promise<string | null> => {
    if (tokenFile === undefined) return null;
    const read = await readTokenFile(tokenFile, token);
    if (read.kind === "unfit") {
      log.event("warn", "token-not-read", { reason: read.reason });
      return null;
    }
    tokens.add(read.token);
    return read.token;
  };
  try {
    return createTelegramClient({ token, filesFolder, renew, ...(apiRoot === undefined ? {} : { apiRoot }) });
  } catch (error) {
    throw new StartError(error instanceof Error ? error.message : String(error));
  }
}
/** Where this instance's endpoints go: beside its store, or where v1 peers look for them. */
const placeOfEndpoints = ({ compat, profile = "default" }: InstanceOptions, folder: string) =>
  compat === undefined
    ? { folder }
    : { folder: v1Folder(compat.agentDir), profile: profile === "default" ? null : profile, agentDir: compat.agentDir };

function v1Fleet({ compat, profile = "default" }: InstanceOptions, settings: Settings, clock: Clock): V1Fleet | null {
  if (compat === undefined) return null;
  const { me: instanceId, secret } = settings;
  return {
    store: openOwnerStore({ folder: v1Folder(compat.agentDir), slot: profile, clock }),
    self: ownerSelf({ instanceId, secret, nowMs: clock.nowMs() }),
    timings: defaultOwnerTimings,
    mintEpoch: () => randomUUID(),
  };
}
const silent: Log = { event: () => undefined };
interface Renewing {
  readonly log: Log;
  /** Every token that this instance has had: none of them is shown. */
  readonly tokens: Set<string>;
}
function keepBackups({ actor }: ComposedInstance, ports: ConstructorParameters<typeof BackupTimes>[0]): BackupTimes {
  const times = new BackupTimes(ports);
  actor.subscribe((snapshot) => {
    times.tell(roleOf(snapshot));
  });
  return times;
}
/**
 * Puts this process on the line and resolves as soon as its store is open; `ready` tells when it can be written to.
 *
 * Rejects with a `StartError` for options that cannot work: a token without the shape of one, a state folder that
 * cannot be written or used, a bad name. What can heal (no network, a rejected token, a busy store) does not reject;
 * it is told through `error` and tried again.
 */
export async function createInstance(options: InstanceOptions): Promise<Instance> {
  checkOptions(options);
  const folder = stateFolder(options);
  const [clock, ids, processes] = [systemClock(), systemIds(), systemProcesses()];
  const [secret, tokens] = [ids.secret(), new Set([options.token])];
  const redact = redactor(() => [...tokens, secret]);
  const log = isolated(options.log ?? silent, redact);
  const telegram = openTelegram(options, folder, { log, tokens });
  const settings = settingsFrom(options, { ids, processes, clock, secret });
  const store = await openStore(folder);
  const counts = new Counts(store.status, clock, log);
  const counters = {
    count: (reason: string, cause?: unknown) => {
      log.event("debug", reason, cause === undefined ? {} : { cause });
      counts.add(reason);
    },
  };
  const transport = createUnixTransport({ ...placeOfEndpoints(options, folder), clock, counters });
  const handlers = new Handlers(log, settings.host);
  const inspection = await openWatching(options.inspect, {
    folder,
    instance: settings.me,
    name: settings.name,
    plain: (value) => redact.value(value),
    nowMs: () => clock.nowMs(),
    stopwatchMs,
    status: () => describeLine({ store, processes, clock }),
    onTrouble: (reason) => log.event("warn", "inspection", { reason }),
  });
  const ports = {
    stage: { clock, log, inspect: inspection.observe },
    counters,
    ids,
    processes,
    store,
    transport,
    telegram,
    v1: v1Fleet(options, settings, clock),
  };
  const see = (crossing: Crossing): void => inspection.message({ by: settings.me, ...crossing });
  const composed = composeInstance(
    inspection.message === noInspection.message ? ports : watchPorts(ports, { see }),
    settings,
    {
      handOut: (update) => {
        see({ way: "host", name: "handed to its handler", id: update.id, phase: "end", ...updatesIn(update.update) });
        return handlers.handOut(update);
      },
      runTurn: (turn) => handlers.runTurn(turn),
      commandDone: (done) => {
        handlers.commandDone(done);
      },
      drained: () => handlers.drained(),
      isSecret: sameSecret,
    },
  );
  handlers.reportTo(composed.queue.listening);
  const backups = keepBackups(composed, { backups: sqliteBackups({ folder, clock }), clock, log });
  return new LineInstance({ composed, handlers, inspectorUrl: inspection.pageUrl }, async () => {
    try {
      await composed.dispose();
      await backups.close();
      await counts.flush();
    } finally {
      await inspection.close();
      telegram.close();
      await store.close();
    }
  });
}
