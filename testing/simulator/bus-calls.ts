/**
 * Answers of the handlers: what they asked to have sent, what they were told of it, what users saw.
 *
 * Owns: naming every answer, counting how often each is visible, comparing that with the outcome of its call.
 * Does not own: making the call (`bus-instance.ts`), Telegram (`telegram.ts`).
 * Checked: an answer is visible at most once, whatever happened; once when its call said so; never when it was refused;
 * and only in the thread of the update it answers.
 */
import type { CallOutcome } from "../../services/ports.ts";

interface Answer {
  readonly text: string;
  readonly threadId: number | null;
  visible: number;
}

export interface CallLedger {
  /** A handler is about to answer into a thread; the text is found nowhere else. */
  readonly begin: (
    what: string,
    threadId: number | null,
  ) => { readonly text: string; readonly ended: (outcome: CallOutcome) => void };
  /** A message stands in a thread. */
  readonly seen: (threadId: number | null, text: string) => void;
  readonly takeFaults: () => readonly string[];
  readonly counts: () => { readonly answers: number; readonly answersSeen: number; readonly answersAmbiguous: number };
}

export function createCallLedger(): CallLedger {
  /** Answers whose outcome is open or unknown; what is not here has its final count of appearances. */
  const open = new Map<string, Answer>();
  const counts = { answers: 0, answersSeen: 0, answersAmbiguous: 0 };
  let faults: string[] = [];
  const judge = ({ text, visible }: Answer, outcome: CallOutcome) => {
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
    begin(what, threadId) {
      counts.answers += 1;
      const answer: Answer = { text: `answer ${counts.answers} to ${what}`, threadId, visible: 0 };
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
    takeFaults() {
      const taken = faults;
      faults = [];
      return taken;
    },
    counts: () => counts,
  };
}
