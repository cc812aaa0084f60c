/**
 * Pairing while we lead: who may write to the bot where no user is configured.
 *
 * Owns: reading who is paired, telling the activation chart of changes, writing down who asks, telling them their code.
 * Does not own: who may ask and how often (`machines/pairing.rules.ts`), approving: an operator does, in the store, from any
 * process (`pairing-desk.ts`).
 *
 * A configured user is never read over: the store is not even asked.
 */
import { fromCallback } from "xstate";
import type { PairingFact } from "../machines/activation.contract.ts";
import { chatId } from "../machines/ids.ts";
import type { ChatId, Epoch } from "../machines/ids.ts";
import { askerOf, pairingCode, pairingText } from "../machines/pairing.rules.ts";
import type { Asker } from "../machines/pairing.rules.ts";
import type { Audience, UpdateFacts } from "../machines/updates.rules.ts";
import { callAsLeader, reasonOf } from "./leader-calls.ts";
import { audienceOf } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";

/** Between two looks at who is paired, in milliseconds. */
const lookEveryMs = 500;

/** Who may cause effects, as the store has it now. Rejects when it did not answer: that is no observation. */
export async function readAudience(runtime: Runtime): Promise<Audience | null> {
  const { settings, board, chats, ports } = runtime;
  if (settings.user === null) {
    const paired = (await ports.store.pairing.read()).paired?.userId ?? null;
    board.paired = paired;
    if (settings.chat === null) chats.pair(paired === null ? null : chatId(paired));
  }
  return audienceOf(runtime);
}

/**
 * The watch as a companion of the activation chart: reports the audience's chat at first and when it changes. `onMissing` runs
 * each time that nobody is paired, before the chart hears of it.
 */
export const provideAudienceWatch = (runtime: Runtime, onMissing: () => void) =>
  fromCallback<{ readonly type: "never" }>(({ sendBack }) => {
    if (runtime.settings.user !== null) return () => undefined;
    const { clock, log } = runtime.ports.stage;
    let isOver = false;
    let timer: unknown = null;
    let told: ChatId | "nobody" | null = null;
    const look = async (): Promise<void> => {
      try {
        const audience = await readAudience(runtime);
        const seen = audience?.chat ?? "nobody";
        if (!isOver && seen !== told) {
          if (audience === null || told !== null) giveUpPlace(runtime);
          told = seen;
          if (audience === null) onMissing();
          sendBack(factOf(audience));
        }
      } catch (error) {
        log.event("warn", "pairing-not-read", { reason: String(error) });
      }
      if (!isOver) timer = clock.setTimeout(() => void look(), lookEveryMs);
    };
    void look();
    return () => {
      isOver = true;
      clock.clearTimeout(timer);
    };
  });

/** Nothing of ours is said in a chat any more whose person is not paired: calls wait until there is a place again. */
function giveUpPlace(runtime: Runtime): void {
  runtime.board.place = null;
  runtime.board.lastThread = null;
  runtime.onWayChanged.fire();
}

const factOf = (audience: Audience | null): PairingFact =>
  audience === null ? { type: "pairing.missing" } : { type: "pairing.known", chatId: audience.chat };

interface Asking {
  readonly facts: UpdateFacts;
  readonly update: unknown;
}

/** Writes down who asks by an update, if somebody does, and tells them their code in the background. */
export async function noteAsker(
  runtime: Runtime,
  epoch: Epoch,
  { facts, update }: Asking,
): Promise<"noted" | "nobody" | "fenced"> {
  const asker = askerOf(facts, update);
  if (asker === null) return "nobody";
  const { store, ids, stage, counters } = runtime.ports;
  const code = pairingCode(ids.sha256Hex(ids.secret()));
  const outcome = await store.pairing.ask({ epoch, asker, code, nowMs: stage.clock.nowMs() });
  if (outcome.kind === "fenced") return "fenced";
  if (outcome.kind === "full") counters.count("pairing-full");
  if (outcome.kind !== "noted" || !outcome.isToBeTold) return "noted";
  stage.log.event("warn", "pairing-asked", { user: asker.userId, name: asker.name });
  void tell(runtime, epoch, { asker, text: pairingText(outcome.request.code) });
  return "noted";
}

/** What is not told now is told when the person writes again. */
async function tell(runtime: Runtime, epoch: Epoch, { asker, text }: { asker: Asker; text: string }): Promise<void> {
  const outcome = await callAsLeader(runtime, {
    method: "sendMessage",
    payload: { chat_id: asker.userId, text },
    epoch,
  });
  if (outcome.kind !== "ok")
    runtime.ports.stage.log.event("info", "pairing-code-not-told", { user: asker.userId, reason: reasonOf(outcome) });
}
