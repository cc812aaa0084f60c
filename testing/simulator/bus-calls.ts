/**
 * Answers of the handlers: what they asked to have sent, what they were told of it, what users saw.
 *
 * Owns: naming every answer, counting how often each is visible, comparing that with the outcome of its call.
 * Does not own: making the call (`bus-instance.ts`), Telegram (`telegram.ts`).
 * Checked: an answer is visible at most once, whatever happened; once when its call said so; never when it was refused;
 * and only in the thread of the update it answers.
 */
import type { InstanceId, UpdateId } from "../../machines/ids.ts";
import type { CallOutcome } from "../../services/ports.ts";

interface Wanted {
  readonly to: UpdateId;
  readonly by: InstanceId;
  readonly threadId: number | null;
}

interface Answer extends Wanted {
  readonly text: string;
  readonly begunAtMs: number;
  visible: number;
  hasOutcome: boolean;
}

export interface CallLedger {
  /** A handler is about to answer into a thread; the text is found nowhere else. */
  readonly begin: (wanted: Wanted) => { readonly text: string; readonly ended: (outcome: CallOutcome) => void };
  /** Answers asked for before a moment by processes that live, and whose call has not ended. */
  readonly openSince: (beforeMs: number) => readonly string[];
  /** A message stands in a thread. */
  readonly seen: (threadId: number | null, text: string) => void;
  readonly takeFaults: () => readonly string[];
  readonly counts: () => { readonly answers: number; readonly answersSeen: number; readonly answersAmbiguous: number };
}

export function createCallLedger(world: {
  readonly nowMs: () => number;
  readonly isAlive: (id: InstanceId) => boolean;
}): CallLedger {
  /** Answers whose outcome is open or unknown; what is not here has its final count of appearances. */
  const open = new Map<string, Answer>();
  const counts = { answers: 0, answersSeen: 0, answersAmbiguous: 0 };
  let faults: string[] = [];
  const judge = (answer: Answer, outcome: CallOutcome) => {
    const { text, visible } = answer;
    answer.hasOutcome = true;
    if (outcome.kind === "ambiguous") {
      counts.answersAmbiguous += 1;
      return;
    }
    open.delete(text);
    const expected = outcome.kind === "ok" ? 1 : 0;
    if (visible !== expected)
      faults.push(`"${text}" is visible ${visible} times, and its call said ${JSON.stringify(outcome)}`);
  };
  return {
    begin(wanted) {
      counts.answers += 1;
      const text = `answer ${counts.answers} to update ${wanted.to} by ${wanted.by}`;
      const answer: Answer = { ...wanted, text, begunAtMs: world.nowMs(), visible: 0, hasOutcome: false };
      open.set(answer.text, answer);
      return { text: answer.text, ended: (outcome) => judge(answer, outcome) };
    },
    seen(threadId, text) {
      counts.answersSeen += 1;
      const answer = open.get(text);
      if (answer === undefined) {
        faults.push(`"${text}" appeared after its call had ended`);
        return;
      }
      answer.visible += 1;
      if (answer.visible > 1) faults.push(`"${text}" is visible ${answer.visible} times`);
      if (answer.threadId !== threadId)
        faults.push(`"${text}" stands in thread ${threadId} instead of ${answer.threadId}`);
    },
    openSince(beforeMs) {
      const late = [...open.values()].filter((answer) => !answer.hasOutcome && answer.begunAtMs < beforeMs);
      return late.flatMap(({ text, by }) => (world.isAlive(by) ? [text] : []));
    },
    takeFaults() {
      const taken = faults;
      faults = [];
      return taken;
    },
    counts: () => counts,
  };
}
