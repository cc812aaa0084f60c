/**
 * Messages between agents, at the leader (protocol §3.8, §3.9, §4.8).
 *
 * Owns: who can be written to right now (our own thread and the live seats, never a binding of the store), turning a route
 * into an update in the journal.
 * Does not own: whom a selector means and what the update is (`machines/agents.rules.ts`), its delivery.
 *
 * Invariant: a route is answered only once its update is on disk. It never moves the cursor: the update is not Telegram's.
 */
import { agentMeant, agentUpdate, agentUpdateId, agentUpdateText } from "../machines/agents.rules.ts";
import type { BoundThread, Epoch } from "../machines/ids.ts";
import { laneOf, readUpdate } from "../machines/updates.rules.ts";
import type { AgentSelector } from "../machines/wire/envelopes.ts";
import type { Desk, LiveAgent, RouteAnswer, RouteRequest } from "./desk.ts";
import { audienceOf, chatOf } from "./runtime.ts";
import type { Runtime, Signal } from "./runtime.ts";
import type { Seats } from "./seats.ts";

/** The leader's own words of protocol AG-5, for the log only. */
const goneText = "Telegram agent target is no longer live.";

export class AgentDesk implements Desk {
  private readonly runtime: Runtime;
  private readonly seats: Seats;
  private readonly epoch: Epoch;
  private readonly admitted: Signal;

  /** `admitted` fires when the journal has a new update. */
  constructor(runtime: Runtime, { seats, epoch }: { readonly seats: Seats; readonly epoch: Epoch }, admitted: Signal) {
    this.runtime = runtime;
    this.seats = seats;
    this.epoch = epoch;
    this.admitted = admitted;
  }

  /** Null when the selector means nobody, several, or the one who asks. */
  resolve(by: BoundThread, selector: AgentSelector): LiveAgent | null {
    const chat = chatOf(this.runtime);
    return agentMeant(this.candidates(), selector, { by: by.target, chat });
  }

  /** Rejects only when the store did not answer. */
  async route({ sender, from, requestId, message }: RouteRequest): Promise<RouteAnswer> {
    const { ports } = this.runtime;
    const audience = audienceOf(this.runtime);
    const answer = (said: RouteAnswer, reason: string): RouteAnswer => {
      ports.counters.count("agent-message-not-routed");
      ports.stage.log.event("warn", "agent-message-not-routed", { from: sender, reason });
      return said;
    };
    if (audience === null || this.resolve(from, message.target) === null) return answer({ kind: "gone" }, goneText);
    const id = agentUpdateId(ports.ids.sha256Hex(agentUpdateText(sender, requestId)));
    const update = agentUpdate(id, from.threadName, message, audience);
    const facts = readUpdate(update);
    if (facts === null) throw new Error("an agent's message became an update that nobody can read");
    const outcome = await ports.store.journal.admit({
      epoch: this.epoch,
      updates: [{ updateId: id, lane: laneOf(facts), body: JSON.stringify(update) }],
      cursor: null,
      nowMs: ports.stage.clock.nowMs(),
    });
    if (outcome.kind !== "admitted")
      return answer({ kind: "failed", reason: outcome.kind }, `the journal is ${outcome.kind}`);
    this.admitted.fire();
    return { kind: "routed" };
  }

  private candidates(): readonly LiveAgent[] {
    const { place } = this.runtime.board;
    const thread = place?.thread ?? null;
    const own = thread === null ? [] : [{ thread, isLeader: true }];
    return [...own, ...this.seats.sitting().map(({ sitter }) => ({ thread: sitter.thread, isLeader: false }))];
  }
}
