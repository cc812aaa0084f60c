/**
 * Bot API calls of this instance, in whatever role it is.
 *
 * Owns: finding the way (ourselves while we lead, the leader's connection while we follow), waiting for one when there
 * is none, asking again where nothing was carried out.
 * Does not own: what is allowed (`machines/calls.rules.ts`), Telegram.
 *
 * Never repeated: a call that may have been carried out, unless doing it twice is doing it once.
 */
import { asBody, confineOwnCall, faultOfMethod, isRetrySafe } from "../machines/calls.rules.ts";
import type { ApiCall } from "../machines/calls.rules.ts";
import { crossTargetDeliveryMarker, timeoutMs } from "../machines/wire/constants.ts";
import type { Ack } from "../machines/wire/envelopes.ts";
import { wireText } from "../machines/wire/texts.ts";
import { chatIsAnother, inChatOfNow } from "./chats.ts";
import { chatOf } from "./runtime.ts";
import type { LeaderLink, OwnPlace, Runtime } from "./runtime.ts";
import { inItsThread, ownsMessages, recordMessages } from "./follower-calls.ts";
import { sendAsLeader } from "./leader-calls.ts";
import { rejectionOf } from "./token.ts";
import type { CallOutcome, RequestOutcome, TelegramError } from "./ports.ts";

/** How long a call waits for a leader, in milliseconds. */
const wayPatienceMs = 30_000;
/** Between two looks for a way that nobody announced. */
const wayLookMs = 250;

/** Nothing was carried out: look for a way again. */
export interface NoWay {
  readonly kind: "noWay";
  readonly reason: string;
}

/** What one try came to. */
type Try = CallOutcome | NoWay;

/** A refusal that the bus itself gave, in the shape of Telegram's own. */
const forbidden = (description: string): CallOutcome => ({
  kind: "rejected",
  error: { error_code: 403, description: `Forbidden: ${description}` },
});

function readTelegramError(result: unknown): TelegramError | null {
  const error = asBody(asBody(result)?.["telegram"]);
  const code = error?.["error_code"];
  const description = error?.["description"];
  if (typeof code !== "number" || typeof description !== "string") return null;
  const parameters = asBody(error?.["parameters"]);
  const retryAfter = parameters?.["retry_after"];
  const migrate = parameters?.["migrate_to_chat_id"];
  return {
    error_code: code,
    description,
    ...(parameters === null
      ? {}
      : {
          parameters: {
            ...(typeof retryAfter === "number" ? { retry_after: retryAfter } : {}),
            ...(typeof migrate === "number" ? { migrate_to_chat_id: migrate } : {}),
          },
        }),
  };
}

/** Refusals by which a leader says that it carried nothing out and that we should register again. */
export const registrationTexts: readonly string[] = [
  wireText.unknownFollower,
  wireText.staleGeneration,
  wireText.unauthorized,
];

function readRefusal(ack: Ack, method: string): Try {
  const reason = ack.message ?? wireText.callFailed;
  if (ack.error?.code === "commit-unknown") return { kind: "ambiguous", reason };
  const error = readTelegramError(ack.result);
  if (error !== null)
    return error.parameters?.retry_after === undefined
      ? { kind: "rejected", error }
      : { kind: "throttled", retryAfterMs: error.parameters.retry_after * 1_000, error };
  const said = asBody(ack.result);
  if (said?.["refused"] === true) return forbidden(reason);
  if (said?.["notSent"] === true && said["isLeading"] === true) return { kind: "notSent", reason };
  if (said?.["notSent"] === true || registrationTexts.includes(reason)) return { kind: "noWay", reason };
  // The request was not even looked at; under another id it may be.
  if (ack.error?.code === "ledger-overloaded") return { kind: "noWay", reason };
  // A leader that broke over the request may have broken after the call.
  if (reason === wireText.handlerFailed)
    return isRetrySafe(method) ? { kind: "noWay", reason } : { kind: "ambiguous", reason };
  // A v1 leader says nothing but the text, be it its own or Telegram's: it is a refusal (protocol AC-5).
  return reason === wireText.callNotAllowed
    ? forbidden(reason)
    : { kind: "rejected", error: { error_code: 400, description: reason } };
}

/** Without a thread of its own an instance would write into the main chat. */
const noThreadYet = "this instance has no thread yet";

/**
 * Through a v1 leader: it compares chat and thread with our place and fills nothing in, so we do; whose a message is, it
 * knows. It keeps no record for us, so we write down what we made.
 */
async function throughV1Leader(runtime: Runtime, leader: LeaderLink, place: OwnPlace, call: ApiCall): Promise<Try> {
  if (place.thread === null) return forbidden(noThreadYet);
  const { threadId } = place.thread.target;
  const verdict = confineOwnCall(call, { chatId: chatOf(runtime), threadId }, true);
  if (verdict.kind === "refused") return forbidden(verdict.reason);
  // The marker is how it knows a message to another agent (protocol AC-3); it takes it off.
  const marker = call.body[crossTargetDeliveryMarker] === true ? { [crossTargetDeliveryMarker]: true } : {};
  const { method, body } = verdict.call;
  const outcome = await throughLeader(runtime, leader, { method, body: { ...body, ...marker } });
  if (outcome.kind !== "noWay") await recordMessages(runtime, place.seat, verdict.call, outcome);
  return outcome;
}

/** Words of a v1 leader that broke over a request: it may have broken after the call. */
const brokenTexts: readonly string[] = [wireText.handlerFailed, wireText.timedOut];

/** A v1 leader's refusal is Telegram's text or its own, and in either case definite (protocol §6.11 AC-5). */
function readV1Refusal(ack: Ack, method: string): Try {
  const reason = ack.message ?? wireText.callFailed;
  if (ack.error?.code === "commit-unknown") return { kind: "ambiguous", reason };
  if (registrationTexts.includes(reason)) return { kind: "noWay", reason };
  if (reason === wireText.callNotAllowed) return forbidden(reason);
  if (brokenTexts.includes(reason))
    return isRetrySafe(method) ? { kind: "noWay", reason } : { kind: "ambiguous", reason };
  const afterSeconds = /retry after (\d+)/i.exec(reason)?.[1];
  if (afterSeconds === undefined) return { kind: "rejected", error: { error_code: 400, description: reason } };
  const parameters = { retry_after: Number(afterSeconds) };
  const error = { error_code: 429, description: reason, parameters };
  return { kind: "throttled", retryAfterMs: parameters.retry_after * 1_000, error };
}

async function throughLeader(runtime: Runtime, leader: LeaderLink, call: ApiCall): Promise<Try> {
  const { ids, stage } = runtime.ports;
  const { me } = runtime.settings;
  const outcome: RequestOutcome = await leader.link.request(
    {
      kind: "follower.callApi",
      requestId: ids.requestId(me),
      auth: leader.secret,
      instanceId: me,
      registrationGeneration: leader.generation,
      method: "call",
      args: [call.method, call.body],
      sentAtMs: stage.clock.nowMs(),
    },
    timeoutMs.call,
  );
  if (outcome.kind === "notSent") return { kind: "noWay", reason: outcome.reason };
  if (outcome.kind === "lost")
    return isRetrySafe(call.method)
      ? { kind: "noWay", reason: outcome.reason }
      : { kind: "ambiguous", reason: `the leader's answer was lost: ${outcome.reason}` };
  if (outcome.ack.ok) return { kind: "ok", result: outcome.ack.result };
  const read = leader.dialect === "v1" ? readV1Refusal : readRefusal;
  return read(outcome.ack, call.method);
}

async function asLeader(runtime: Runtime, place: OwnPlace, asked: ApiCall): Promise<Try> {
  if (place.thread === null && !place.isClassic) return forbidden(noThreadYet);
  const chatId = chatOf(runtime);
  const known = inChatOfNow(runtime, asked);
  if (known === null) return forbidden(chatIsAnother);
  let owns: boolean;
  let call: ApiCall;
  try {
    owns = await ownsMessages(runtime, place.seat, { chatId }, known);
    call =
      place.thread === null
        ? known
        : await inItsThread(runtime, { seat: place.seat, target: place.thread.target }, known);
  } catch (error) {
    return { kind: "notSent", reason: String(error) };
  }
  const verdict = confineOwnCall(call, { chatId, threadId: place.thread?.target.threadId ?? null }, owns);
  if (verdict.kind === "refused") return forbidden(verdict.reason);
  const make = ({ method, body: payload }: ApiCall): Promise<CallOutcome> =>
    sendAsLeader(runtime, { method, payload, epoch: null });
  const { keeper } = runtime.board;
  const own = place.thread?.target ?? null;
  const outcome = await (keeper === null || own === null
    ? make(verdict.call)
    : runtime.sends.send({ keeper, own }, verdict.call, make));
  await recordMessages(runtime, place.seat, verdict.call, outcome);
  return outcome.kind === "notSent" && runtime.gate.permit() === null
    ? { kind: "noWay", reason: outcome.reason }
    : outcome;
}

async function tryOnce(runtime: Runtime, call: ApiCall): Promise<Try> {
  const { place, leader } = runtime.board;
  if (leader?.dialect === "v1" && place !== null) return throughV1Leader(runtime, leader, place, call);
  if (leader !== null) return throughLeader(runtime, leader, call);
  if (place !== null && runtime.gate.permit() !== null) return asLeader(runtime, place, call);
  return (await rejectionOf(runtime)) ?? { kind: "noWay", reason: "there is no leader at the moment" };
}

/** Resolves when something changed on the way to Telegram, or after a short while. */
function wayChanged(runtime: Runtime): Promise<void> {
  const { clock } = runtime.ports.stage;
  return new Promise((resolve) => {
    const done = (): void => {
      clock.clearTimeout(timer);
      unlisten();
      resolve();
    };
    const unlisten = runtime.onWayChanged.listen(done);
    const timer = clock.setTimeout(done, wayLookMs);
  });
}

/** Tries until there was a way, for up to 30 s. */
export async function onTheWay<Outcome extends { readonly kind: string }>(
  runtime: Runtime,
  tryOnce: () => Promise<Outcome | NoWay>,
): Promise<Outcome | { readonly kind: "notSent"; readonly reason: string }> {
  const { clock } = runtime.ports.stage;
  const startedAtMs = clock.elapsedMs();
  for (;;) {
    const outcome = await tryOnce();
    if (!isNoWay(outcome)) return outcome;
    if (runtime.board.isOver) return { kind: "notSent", reason: "the instance has stopped" };
    if (clock.elapsedMs() - startedAtMs >= wayPatienceMs) return { kind: "notSent", reason: outcome.reason };
    await wayChanged(runtime);
  }
}

const isNoWay = <Outcome extends { readonly kind: string }>(outcome: Outcome | NoWay): outcome is NoWay =>
  outcome.kind === "noWay";

/** Makes a call confined to this instance's thread; waits up to 30 s for a leader. Never rejects for what Telegram says. */
export function callAsInstance(runtime: Runtime, call: ApiCall): Promise<CallOutcome> {
  // Not even asked for (protocol AC-2).
  const fault = faultOfMethod(call.method);
  if (fault !== null) return Promise.resolve(forbidden(fault));
  return onTheWay<CallOutcome>(runtime, () => tryOnce(runtime, call));
}
