/**
 * Calls that the leader makes at Telegram, for itself and for its followers.
 *
 * Owns: the check that we still lead before each call (in a v1 fleet: that the owner record is still ours as well), a time budget shorter than what is left of the lease, and cutting
 * the call when the lease ends before its time.
 * Does not own: who may call what (`machines/calls.rules.ts`), fairness among callers.
 *
 * Telegram cannot be fenced: a call already under way when the lease is lost may still be carried out. The budget keeps
 * that window shorter than the lease; nothing more is promised.
 */
import type { Epoch, ThreadId } from "../machines/ids.ts";
import { toGeneral } from "../machines/calls.rules.ts";
import { isOwnRecord } from "../machines/owner.rules.ts";
import { isTitleCall } from "../machines/titles.rules.ts";
import { followingChat } from "./chats.ts";
import type { CallLimits, CallOutcome, UploadFile } from "./ports.ts";
import type { Runtime } from "./runtime.ts";
import { setTitle } from "./titles.ts";
import { withTopics } from "./topics.ts";

/** Kept of the lease after a call's budget, in milliseconds: time to notice and to step down. */
const leaseMarginMs = 500;
const callBudgetMaxMs = 30_000;

/** A call that belongs to one leadership: under any other epoch it is not made. */
export interface LeaderCall {
  readonly method: string;
  readonly payload: Readonly<Record<string, unknown>>;
  /** Null = whichever grant holds now: nothing was decided before under another. */
  readonly epoch: Epoch | null;
}

export const callAsLeader = (runtime: Runtime, asked: LeaderCall): Promise<CallOutcome> =>
  followingChat(runtime, asked, ({ method, payload, epoch }) =>
    whileLeading(runtime, epoch, (limits) => runtime.ports.telegram.call(method, payload, limits)),
  );

/** A call that nobody waits for: returns at once. One that comes to nothing is told in the log, as `phase`, and nowhere else. */
export function callInBackground(
  runtime: Runtime,
  asked: LeaderCall,
  { phase, ...about }: { readonly phase: string; readonly thread?: ThreadId },
): void {
  const told = (reason: string): void => {
    runtime.ports.stage.log.event("info", phase, { ...about, reason });
  };
  callAsLeader(runtime, asked).then(
    (outcome) => {
      if (outcome.kind !== "ok") told(reasonOf(outcome));
    },
    (error: unknown) => {
      told(String(error));
    },
  );
}

/** The call as it is made while it is made: whether the chat has a General is another matter a moment later. */
function onGeneral({ board }: Runtime, call: LeaderCall): LeaderCall {
  const hasTopics = board.topics?.areOff === false && board.place?.isClassic !== true;
  return { ...call, payload: toGeneral({ method: call.method, body: call.payload }, hasTopics).body };
}

/** A call that an instance waits for: probes of threads come after it. While the chat has no threads it goes elsewhere. */
export const sendAsLeader = (runtime: Runtime, asked: LeaderCall): Promise<CallOutcome> =>
  isTitleCall({ method: asked.method, body: asked.payload })
    ? setTitle(runtime, asked, (call) => callAsLeader(runtime, call))
    : withTopics(runtime, asked, (call) => runtime.probes.ahead(() => callAsLeader(runtime, onGeneral(runtime, call))));

export const uploadAsLeader = (runtime: Runtime, asked: LeaderCall, file: UploadFile): Promise<CallOutcome> =>
  withTopics(runtime, asked, (call) =>
    runtime.probes.ahead(() =>
      followingChat(runtime, onGeneral(runtime, call), ({ method, payload, epoch }) =>
        whileLeading(runtime, epoch, (limits) => runtime.ports.telegram.upload(method, payload, file, limits)),
      ),
    ),
  );

export const downloadAsLeader = (runtime: Runtime, fileId: string, suggestedName: string): Promise<CallOutcome> =>
  whileLeading(runtime, null, (limits) => runtime.ports.telegram.download(fileId, suggestedName, limits));

const notLeading: CallOutcome = { kind: "notSent", reason: "this instance does not lead (any more)" };

/**
 * Whether a v1 process is known to have taken our owner record: it may do so by force, and our own look comes once a second
 * (protocol O-17). A look that failed is no observation; the gate closes when the record may have gone stale.
 */
async function isRecordTaken({ ports: { v1, stage } }: Runtime): Promise<boolean> {
  if (v1 === null) return false;
  try {
    const seen = await v1.store.read();
    return seen.kind === "read" && !isOwnRecord(seen.record, v1.self);
  } catch (error) {
    stage.log.event("warn", "owner-record-not-seen", { reason: String(error) });
    return false;
  }
}

async function whileLeading(
  runtime: Runtime,
  epoch: Epoch | null,
  make: (limits: CallLimits) => Promise<CallOutcome>,
): Promise<CallOutcome> {
  if (await isRecordTaken(runtime)) return notLeading;
  const permit = runtime.gate.permit();
  if (permit === null || permit.remainingMs <= leaseMarginMs || (epoch !== null && epoch !== permit.epoch))
    return notLeading;
  const timeoutMs = Math.min(callBudgetMaxMs, permit.remainingMs - leaseMarginMs);
  return make({ timeoutMs, signal: permit.signal });
}

/** What went wrong with a call, in words. */
export function reasonOf(outcome: Exclude<CallOutcome, { kind: "ok" }>): string {
  return outcome.kind === "rejected" || outcome.kind === "throttled" ? outcome.error.description : outcome.reason;
}
