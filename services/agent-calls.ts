/**
 * Messages to other agents, from this instance, in whatever role it is.
 *
 * Owns: finding the leader (ourselves while we lead), the visible message, then its route; asking again under the same id
 * where a repetition is recognised.
 * Does not own: who is meant and the turn that it becomes (the leader's `agents.ts`), what calls are allowed.
 *
 * The visible message comes first, so a route can fail after it: that is told, never repeated by itself.
 */
import { asBody } from "../machines/calls.rules.ts";
import type { BoundThread } from "../machines/ids.ts";
import { chatId, threadId } from "../machines/ids.ts";
import type { ThreadTarget } from "../machines/ids.ts";
import type { AgentMessage } from "../machines/agents.rules.ts";
import { crossTargetDeliveryMarker, timeoutMs } from "../machines/wire/constants.ts";
import type { AgentSelector } from "../machines/wire/envelopes.ts";
import { wireText } from "../machines/wire/texts.ts";
import { callAsInstance, onTheWay, registrationTexts } from "./calls.ts";
import type { NoWay } from "./calls.ts";
import type { CallOutcome } from "./ports.ts";
import type { LeaderLink, Runtime } from "./runtime.ts";

/** Another agent's thread. `threadName` is null where the leader did not tell it. */
export interface AgentTarget {
  readonly target: ThreadTarget;
  readonly threadName: string | null;
}

export type ResolveOutcome =
  | { readonly kind: "found"; readonly agent: AgentTarget }
  /** Nobody live, several, or this instance itself. */
  | { readonly kind: "nobody" }
  | { readonly kind: "failed"; readonly reason: string };

export type SendOutcome =
  | { readonly kind: "sent"; readonly agent: AgentTarget; readonly messageId: number }
  | Exclude<ResolveOutcome, { kind: "found" }>
  /** The visible message is not there, or it is not known whether it is. */
  | { readonly kind: "notPosted"; readonly outcome: Exclude<CallOutcome, { kind: "ok" }> }
  /** The visible message is there; the agent was not told, or it is not known whether it was. */
  | { readonly kind: "notRouted"; readonly messageId: number; readonly reason: string };

const noWay = (reason: string): NoWay => ({ kind: "noWay", reason });

function readTarget(result: unknown): AgentTarget | null {
  const fields = asBody(result);
  const chat = fields?.["chatId"];
  const thread = fields?.["threadId"];
  const name = fields?.["threadName"];
  if (!Number.isSafeInteger(chat) || !Number.isSafeInteger(thread)) return null;
  return {
    target: { chatId: chatId(Number(chat)), threadId: threadId(Number(thread)) },
    threadName: typeof name === "string" ? name : null,
  };
}

/** What every request of ours to this leader has. */
const fence = ({ settings }: Runtime, leader: LeaderLink) => ({
  auth: leader.secret,
  instanceId: settings.me,
  registrationGeneration: leader.generation,
});

async function askForAgent(
  runtime: Runtime,
  leader: LeaderLink,
  selector: AgentSelector,
): Promise<ResolveOutcome | NoWay> {
  const { ids, stage } = runtime.ports;
  const outcome = await leader.link.request(
    {
      kind: "follower.resolveAgentTarget",
      requestId: ids.requestId(runtime.settings.me),
      ...fence(runtime, leader),
      selector,
      sentAtMs: stage.clock.nowMs(),
    },
    timeoutMs.call,
  );
  // Nothing changes by asking, so an answer that was lost is asked for again.
  if (outcome.kind !== "answered") return noWay(outcome.reason);
  const { ok, message, result } = outcome.ack;
  if (!ok) {
    const reason = message ?? "Telegram bus agent message failed.";
    if (reason === wireText.agentTargetUnavailable) return { kind: "nobody" };
    return registrationTexts.includes(reason) ? noWay(reason) : { kind: "failed", reason };
  }
  const agent = readTarget(result);
  return agent === null
    ? { kind: "failed", reason: "Telegram bus returned an invalid agent target." }
    : { kind: "found", agent };
}

/** Our own thread while we lead, and the desk that knows the others; null while we do not. */
function ownDesk({ board, gate }: Runtime) {
  const thread = board.place?.thread ?? null;
  return board.agents === null || thread === null || gate.permit() === null ? null : { desk: board.agents, thread };
}

const asTarget = (thread: BoundThread): AgentTarget => ({ target: thread.target, threadName: thread.threadName });

/** Whom a selector means right now; waits up to 30 s for a leader. */
export async function resolveAgent(runtime: Runtime, selector: AgentSelector): Promise<ResolveOutcome> {
  const outcome = await onTheWay<ResolveOutcome>(runtime, async () => {
    const { leader } = runtime.board;
    if (leader !== null) return askForAgent(runtime, leader, selector);
    const own = ownDesk(runtime);
    if (own === null) return noWay("there is no leader at the moment");
    const found = own.desk.resolve(own.thread, selector);
    return found === null ? { kind: "nobody" } : { kind: "found", agent: asTarget(found.thread) };
  });
  return outcome.kind === "notSent" ? { kind: "failed", reason: outcome.reason } : outcome;
}

type Routed = { readonly kind: "routed" } | { readonly kind: "failed"; readonly reason: string };

interface Route {
  readonly requestId: string;
  readonly message: AgentMessage;
}

async function askToRoute(
  runtime: Runtime,
  leader: LeaderLink,
  { requestId, message }: Route,
): Promise<Routed | NoWay> {
  const { target, messageId, text, sentAtMs } = message;
  const outcome = await leader.link.request(
    {
      kind: "follower.routeAgentMessage",
      requestId,
      ...fence(runtime, leader),
      message: { target, messageId, text },
      sentAtMs,
    },
    timeoutMs.call,
  );
  if (outcome.kind === "notSent") return noWay(outcome.reason);
  // Leaders of ours know a repetition by their journal; a v1 leader's memory of it ends with its process.
  if (outcome.kind === "lost")
    return leader.dialect === "own"
      ? noWay(outcome.reason)
      : { kind: "failed", reason: `the leader's answer was lost: ${outcome.reason}` };
  const { ok, message: said } = outcome.ack;
  if (ok) return { kind: "routed" };
  const reason = said ?? "Telegram bus agent message failed.";
  return registrationTexts.includes(reason) ? noWay(reason) : { kind: "failed", reason };
}

async function routeAsLeader(runtime: Runtime, { requestId, message }: Route): Promise<Routed | NoWay> {
  const own = ownDesk(runtime);
  if (own === null) return noWay("there is no leader at the moment");
  try {
    const answer = await own.desk.route({ sender: runtime.settings.me, from: own.thread, requestId, message });
    if (answer.kind === "gone") return { kind: "failed", reason: wireText.agentTargetUnavailable };
    return answer.kind === "failed" ? noWay(answer.reason) : answer;
  } catch (error) {
    return noWay(String(error));
  }
}

/** The message goes into the other's thread for everybody to see, then the agent there gets it as a turn of its user. */
export async function sendToAgent(runtime: Runtime, selector: AgentSelector, text: string): Promise<SendOutcome> {
  const resolved = await resolveAgent(runtime, selector);
  if (resolved.kind !== "found") return resolved;
  const { agent } = resolved;
  const posted = await callAsInstance(runtime, {
    method: "sendMessage",
    body: {
      chat_id: agent.target.chatId,
      message_thread_id: agent.target.threadId,
      text,
      [crossTargetDeliveryMarker]: true,
    },
  });
  if (posted.kind !== "ok") return { kind: "notPosted", outcome: posted };
  const messageId = Number(asBody(posted.result)?.["message_id"]);
  if (!Number.isSafeInteger(messageId) || messageId <= 0)
    return { kind: "failed", reason: "Telegram answered a message without its id" };
  const { ids, stage } = runtime.ports;
  const route: Route = {
    requestId: ids.requestId(runtime.settings.me),
    message: { target: agent.target, messageId, text, sentAtMs: stage.clock.nowMs() },
  };
  const routed = await onTheWay<Routed>(runtime, async () => {
    const { leader } = runtime.board;
    return leader === null ? routeAsLeader(runtime, route) : askToRoute(runtime, leader, route);
  });
  return routed.kind === "routed"
    ? { kind: "sent", agent, messageId }
    : { kind: "notRouted", messageId, reason: routed.reason };
}
