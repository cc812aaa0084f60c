/** What Telegram's answer to a call says of the thread that the call was about. */
import { wordOnThread } from "../machines/threads.rules.ts";
import type { ThreadWord } from "../machines/threads.rules.ts";
import type { CallOutcome } from "./ports.ts";

/** Only a refusal says anything. */
export const threadWordIn = (outcome: CallOutcome): ThreadWord =>
  outcome.kind === "rejected" ? wordOnThread(outcome.error.description) : "nothing";
