/**
 * Answers of the handlers: what they asked to have sent, what they were told of it, what users saw.
 *
 * Owns: naming every answer, noting where it is visible and what its call came to.
 * Does not own: making the call (`bus-instance.ts`), Telegram (`telegram.ts`), judging it (`machines/invariants/delivery.ts`).
 * Invariant: an answer is forgotten only when `knownMax` newer ones are remembered; one that is seen then counts as seen twice.
 */
import { threadId as threadOf, type InstanceId, type ThreadId, type UpdateId } from "../../machines/ids.ts";
import type { AnswerView } from "../../machines/invariants.ts";
import type { CallOutcome } from "../../services/ports.ts";

interface Wanted {
  readonly to: UpdateId;
  readonly by: InstanceId;
  readonly threadId: number | null;
}

interface Answer extends Omit<Wanted, "threadId"> {
  /** Where it belongs. */
  threadId: ThreadId | null;
  readonly text: string;
  readonly begunAtMs: number;
  readonly seenIn: (ThreadId | null)[];
  outcome: AnswerView["outcome"];
}

export interface CallLedger {
  /** A handler is about to answer into a thread; the text is found nowhere else. */
  readonly begin: (wanted: Wanted) => { readonly text: string; readonly ended: (outcome: CallOutcome) => void };
  /** Answers asked for before a moment by processes that live, and whose call has not ended. */
  readonly openSince: (beforeMs: number) => readonly string[];
  /** A message stands in a thread. */
  readonly seen: (threadId: number | null, text: string) => void;
  /** Answers that were seen, or whose call ended, since the last look. */
  readonly takeViews: () => readonly AnswerView[];
  readonly counts: () => { readonly answers: number; readonly answersSeen: number; readonly answersAmbiguous: number };
}

/** Answers that are remembered: enough to see that one stands twice. */
const knownMax = 4_000;

const placeOf = (thread: number | null): ThreadId | null => (thread === null ? null : threadOf(thread));

export function createCallLedger(world: {
  readonly nowMs: () => number;
  readonly isAlive: (id: InstanceId) => boolean;
  /** What a sender has in the place of a thread that is gone, since the update in hand was written; itself while it is there. */
  readonly threadNow: (threadId: ThreadId, by: InstanceId) => ThreadId;
}): CallLedger {
  const known = new Map<string, Answer>();
  const open = new Set<Answer>();
  const touched = new Set<AnswerView>();
  const counts = { answers: 0, answersSeen: 0, answersAmbiguous: 0 };
  const forgetOldest = () => {
    for (const answer of known.values()) {
      if (known.size < knownMax) return;
      if (!open.has(answer)) known.delete(answer.text);
    }
  };
  return {
    begin(wanted) {
      forgetOldest();
      counts.answers += 1;
      const text = `answer ${counts.answers} to update ${wanted.to} by ${wanted.by}`;
      const threadId = placeOf(wanted.threadId);
      const answer: Answer = { ...wanted, threadId, text, begunAtMs: world.nowMs(), seenIn: [], outcome: null };
      known.set(text, answer);
      open.add(answer);
      const ended = ({ kind }: CallOutcome) => {
        if (kind === "ambiguous") counts.answersAmbiguous += 1;
        answer.outcome = kind;
        open.delete(answer);
        touched.add(answer);
      };
      return { text, ended };
    },
    seen(thread, text) {
      // What the bus itself says of a thread is nobody's answer.
      if (!text.startsWith("answer ")) return;
      counts.answersSeen += 1;
      const threadId = placeOf(thread);
      const answer = known.get(text);
      if (answer !== undefined && answer.threadId !== null)
        answer.threadId = world.threadNow(answer.threadId, answer.by);
      answer?.seenIn.push(threadId);
      touched.add(answer ?? { threadId, seenIn: [threadId, threadId], outcome: "ok" });
    },
    openSince(beforeMs) {
      const late = [...open].filter((answer) => answer.begunAtMs < beforeMs);
      return late.flatMap(({ text, by }) => (world.isAlive(by) ? [text] : []));
    },
    takeViews() {
      const views = [...touched].map(({ threadId, seenIn, outcome }) => ({ threadId, seenIn: [...seenIn], outcome }));
      touched.clear();
      return views;
    },
    counts: () => counts,
  };
}
