/**
 * What `status` says about polling, of any process.
 *
 * Owns: the words, keeping the store's note true without a write per poll. Does not own: what was met (`polling.machine.ts`).
 */
import type { IdentifyAnswer } from "../machines/activation.contract.ts";
import type { Epoch } from "../machines/ids.ts";
import { unpairedText } from "../machines/pairing.rules.ts";
import type { PollingFact } from "../machines/polling.machine.ts";
import { Repeats } from "./repeats.ts";
import { audienceOf } from "./runtime.ts";
import type { Runtime, TopicsJudge } from "./runtime.ts";

/** What `status` says about polling, from what the poller reports. */
export const healthOf = {
  ok: "ok",
  topicsOff: "topics are off in the chat: what threads have to say goes to the main chat",
  unpaired: unpairedText,
  conflict: "conflict: another poller",
  webhook: "a webhook is set; it is being removed",
  unauthorized: "token rejected",
  unpermitted: "lease lost",
  throttled: "throttled by Telegram",
  failed: "Telegram not reachable",
  refusedBatch: "batch refused",
  journalFull: "journal full",
  store: "store not writable",
} as const;

type Health = (typeof healthOf)[keyof typeof healthOf];

/** At most one note a second, unless the health changed. */
const noteEveryMs = 1_000;

/** Keeps the store's note on polling true, without a write per poll. Failures to note are logged, nothing more. */
export function createPollingNotes(runtime: Runtime, epoch: Epoch) {
  const { store, stage } = runtime.ports;
  let noted: { readonly health: string; readonly atMs: number } | null = null;
  let okAtMs: number | null = null;
  return (health: Health): void => {
    const nowMs = stage.clock.nowMs();
    if (health === healthOf.ok || health === healthOf.topicsOff || health === healthOf.unpaired) okAtMs = nowMs;
    if (noted !== null && noted.health === health && nowMs - noted.atMs < noteEveryMs) return;
    noted = { health, atMs: nowMs };
    store.status.notePolling({ epoch, okAtMs, health }).catch((error: unknown) => {
      stage.log.event("warn", "status-note", { reason: String(error) });
    });
  };
}

function healthAfter(fact: PollingFact): Health | null {
  if (fact.type === "polling.answered") return healthOf.ok;
  return fact.type === "polling.troubled" ? healthOf[fact.trouble] : null;
}

/** What one leadership meets at Telegram: noted for `status`, and logged where it is news. */
export class LeaderHealth {
  private readonly runtime: Runtime;
  private readonly note: (health: Health) => void;
  private readonly topics: Pick<TopicsJudge, "areOff">;
  private readonly repeats: Repeats;
  private isRejected = false;

  constructor(
    runtime: Runtime,
    { note, topics }: { readonly note: (health: Health) => void; readonly topics: Pick<TopicsJudge, "areOff"> },
  ) {
    this.runtime = runtime;
    this.note = note;
    this.topics = topics;
    this.repeats = new Repeats(runtime.ports.stage.clock);
  }

  /** After a rejection a good answer is news that a long poll would be late with. */
  onIdentified({ kind }: IdentifyAnswer): void {
    if (kind === "unavailable") return;
    if (kind === "unauthorized") this.note(healthOf.unauthorized);
    else if (this.isRejected) this.note(this.standing());
    this.isRejected = kind === "unauthorized";
  }

  onPolling(fact: PollingFact): void {
    const { log } = this.runtime.ports.stage;
    const health = healthAfter(fact);
    if (health !== null) this.note(health === healthOf.ok ? this.standing() : health);
    if (fact.type === "polling.answered") this.repeats.end();
    if (fact.type === "polling.idsAccepted") log.event("warn", fact.type, { ...fact });
    if (fact.type === "polling.troubled" && this.repeats.isNews(`${fact.trouble} ${fact.reason}`))
      log.event("warn", "polling-troubled", { trouble: fact.trouble, reason: fact.reason });
  }

  private standing(): Health {
    if (audienceOf(this.runtime) === null) return healthOf.unpaired;
    return this.topics.areOff ? healthOf.topicsOff : healthOf.ok;
  }
}
