/**
 * The public way to other agents: what `instance.agents` is.
 *
 * Owns: its types and errors, reading what plain JavaScript may hand in. Does not own: the messages (`agent-calls.ts`).
 */
import type { AgentSelector as WireSelector } from "../machines/wire/envelopes.ts";
import type { AgentTarget } from "./agent-calls.ts";
import type { ComposedInstance } from "./instance.ts";
import type { CallOutcome } from "./ports.ts";

/** Which agent: by its thread's id, or by its name without regard to case. */
export type AgentSelector = { readonly threadId: number } | { readonly threadName: string };

/** Another agent's thread. */
export interface AgentThread {
  readonly chatId: number;
  readonly threadId: number;
  /** `null` where the leader did not tell it. */
  readonly threadName: string | null;
}

/** The other agents on the line, and messages to them. Every method waits up to 30 s for a leader. */
export interface Agents {
  /** `null` when the selector means nobody who is live, more than one, or this instance itself. Rejects with an `AgentError`. */
  resolve(agent: AgentSelector): Promise<AgentThread | null>;
  /**
   * Posts `text` in the other agent's thread and gives it to that agent as a message of the user; resolves when the latter is
   * on disk. `update.message.pi_telegram_agent_source_thread` holds this instance's thread name there. Rejects with a
   * `CallError` when the post failed, with an `AgentError` for the rest. Not guaranteed: that its handler is done with it.
   */
  send(agent: AgentSelector, text: string): Promise<{ readonly messageId: number; readonly thread: AgentThread }>;
}

/** Another agent could not be found or told. */
export class AgentError extends Error {
  override readonly name = "AgentError";
  /**
   * `nobody`: the selector means nobody live, several, or this instance. `unreachable`: no leader answered, nothing was sent.
   * `notRouted`: the message stands in the other's thread and the agent was not told, or it is not known whether it was.
   */
  readonly reason: "nobody" | "unreachable" | "notRouted";
  /** The posted message; `null` when nothing was posted. */
  readonly messageId: number | null;

  constructor(reason: AgentError["reason"], message: string, messageId: number | null) {
    super(message);
    this.reason = reason;
    this.messageId = messageId;
  }
}

const shownAgent = ({ target, threadName }: AgentTarget): AgentThread => ({ ...target, threadName });

/** As the wire reads it; a selector of plain JavaScript may be anything. */
export function selectorOf(agent: AgentSelector): WireSelector {
  const fields: Readonly<Record<string, unknown>> = { ...agent };
  const { threadId, threadName } = fields;
  if (threadName === undefined && typeof threadId === "number" && Number.isSafeInteger(threadId) && threadId > 0)
    return { threadId };
  if (threadId === undefined && typeof threadName === "string" && threadName.trim() !== "")
    return { threadName: threadName.trim() };
  throw new TypeError("An agent is selected by exactly one of threadId, above 0, and threadName, not blank.");
}

/** `callError` makes what a failed post rejects with. */
export const agentsOf = (
  composed: Pick<ComposedInstance, "resolveAgent" | "sendToAgent">,
  callError: (outcome: Exclude<CallOutcome, { kind: "ok" }>) => Error,
): Agents => ({
  async resolve(agent) {
    const outcome = await composed.resolveAgent(selectorOf(agent));
    if (outcome.kind === "failed") throw new AgentError("unreachable", outcome.reason, null);
    return outcome.kind === "nobody" ? null : shownAgent(outcome.agent);
  },
  async send(agent, text) {
    const selector = selectorOf(agent);
    if (text.trim() === "") throw new TypeError("A message to an agent must not be blank.");
    const outcome = await composed.sendToAgent(selector, text);
    switch (outcome.kind) {
      case "sent":
        return { messageId: outcome.messageId, thread: shownAgent(outcome.agent) };
      case "nobody":
        throw new AgentError("nobody", "No live agent, or more than one, is meant, or this one itself.", null);
      case "failed":
        throw new AgentError("unreachable", outcome.reason, null);
      case "notPosted":
        throw callError(outcome.outcome);
      case "notRouted":
        throw new AgentError("notRouted", outcome.reason, outcome.messageId);
    }
  },
});
