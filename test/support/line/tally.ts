/**
 * What became of every message that was sent: lost, doubled, out of order, in the wrong hands.
 *
 * Owns: the counting rule. A message counts as done when an ack of it *landed*, which the store shows: its entry is gone.
 * An ack that a process wrote shortly before it was killed may not have landed; then the entry is still open after the
 * death, and a second delivery, marked as one, is right. Two landed acks of one message are a duplicate, none a loss.
 */
import type { Agent } from "./agent.ts";
import type { Line } from "./line.ts";

interface Sent {
  readonly index: number;
  readonly updateId: number;
  readonly name: string;
}

export interface TallyResult {
  readonly sent: number;
  readonly deliveredOnce: number;
  readonly lost: readonly string[];
  readonly duplicated: readonly string[];
  /** Given to a process that does not own the thread. */
  readonly misdelivered: readonly string[];
  /** Given to one process later than a newer message of the same thread. */
  readonly outOfOrder: readonly string[];
  /** Given a second time without being marked as such. */
  readonly unmarked: readonly string[];
}

export class Tally {
  private readonly line: Line;
  private readonly sent = new Map<string, Sent>();
  /** `<pid>/<update id>` of acks that did not land. */
  private readonly struck = new Set<string>();

  constructor(line: Line) {
    this.line = line;
  }

  get count(): number {
    return this.sent.size;
  }
  get updateIds(): number[] {
    return [...this.sent.values()].map(({ updateId }) => updateId);
  }

  /** Sends the next message into the thread that `name` owns. */
  send(name: string, threadId: number): void {
    const index = this.sent.size;
    const text = `m${index}`;
    this.sent.set(text, { index, name, updateId: this.line.say(threadId, text) });
  }

  /** Whether the agent was given a message with this index or a later one. */
  hasReached(agent: Agent, index: number): boolean {
    return this.reached(agent) >= index;
  }

  /** Index of the message that the agent was given last; -1 before the first. */
  reached(agent: Agent): number {
    const last = agent.updates.at(-1)?.update.message?.text;
    return last === undefined ? -1 : (this.sent.get(last)?.index ?? -1);
  }

  /** To be called once a killed process is gone, before its successor starts. */
  buried(agent: Agent): void {
    const open = new Set(this.line.openUpdates());
    for (const { id, update } of agent.updates)
      if (agent.acks.includes(id) && open.has(update.update_id)) this.struck.add(`${agent.pid}/${update.update_id}`);
  }

  result(): TallyResult {
    const landed = new Map<string, number>();
    const seen = new Set<string>();
    const misdelivered: string[] = [];
    const outOfOrder: string[] = [];
    const unmarked: string[] = [];
    for (const agent of this.line.agents) {
      let newest = -1;
      const acks = new Set(agent.acks);
      for (const { id, update, redelivered } of agent.updates) {
        const text = update.message?.text ?? "";
        const sent = this.sent.get(text);
        if (sent === undefined) continue;
        const what = `${text} at ${agent.label} (pid ${agent.pid})`;
        if (sent.name !== agent.label) misdelivered.push(what);
        if (sent.index < newest) outOfOrder.push(what);
        newest = Math.max(newest, sent.index);
        if (seen.has(text) && redelivered !== true) unmarked.push(what);
        seen.add(text);
        if (acks.has(id) && !this.struck.has(`${agent.pid}/${update.update_id}`))
          landed.set(text, (landed.get(text) ?? 0) + 1);
      }
    }
    const times = (text: string): number => landed.get(text) ?? 0;
    const texts = [...this.sent.keys()];
    return {
      sent: texts.length,
      deliveredOnce: texts.filter((text) => times(text) === 1).length,
      lost: texts.filter((text) => times(text) === 0),
      duplicated: texts.filter((text) => times(text) > 1),
      misdelivered,
      outOfOrder,
      unmarked,
    };
  }
}
