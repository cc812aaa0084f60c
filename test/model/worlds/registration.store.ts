/**
 * What requests come to in world `registration`: the store's tables of registrations and threads, Telegram's threads, the
 * process table.
 *
 * Owns: outcomes and failures of requests, faithful to `RegistrationStore` and `ThreadStore` in services/ports.ts.
 */
import type {
  BeginCleanupAnswer,
  DeleteAnswer,
  PostponeOrder,
  ThreadOrder,
} from "../../../machines/cleanup.machine.ts";
import { epoch, instanceId, threadId } from "../../../machines/ids.ts";
import type { Epoch, ThreadId } from "../../../machines/ids.ts";
import type { CreateAnswer, KeepRequest, ProbeAnswer, ProbeRequest } from "../../../machines/provisioning.machine.ts";
import type { SeatWrite, Sitter } from "../../../machines/registration.machine.ts";
import type { BegunProvision, ThreadView } from "../../../machines/threads.rules.ts";
import type { Outcome, Request, RequestFault } from "../../../testing/explorer/index.ts";
import { leaderOf, nameOf, seat, spend, threadOf, withSeat } from "./registration.env.ts";
import type { RegistrationEnv, RegistrationRules } from "./registration.env.ts";

export function faultsOf(
  env: RegistrationEnv,
  src: string,
  phase: "issued" | "committed",
): RequestFault<RegistrationEnv>[] {
  const budget = src === "commitRegistration" ? "commitLosses" : "losses";
  if (env.left[budget] === 0) return [];
  const next = spend(env, budget);
  if (phase === "committed") return [{ kind: "answerLost", env: next }];
  const fails = { kind: "notCommitted", env: next } as const;
  return src === "deleteThread" ? [fails, { kind: "unanswered", env: next }] : [fails];
}

export function commitOf(
  env: RegistrationEnv,
  request: Request,
  rules: RegistrationRules,
): readonly Outcome<RegistrationEnv>[] {
  const answered = (next: RegistrationEnv, output: unknown): Outcome<RegistrationEnv> => ({
    env: next,
    answer: { output },
  });
  const { src, input } = request;
  // Inputs are what the charts pass to the slots of these names.
  switch (src) {
    case "viewThreads":
      return [answered(env, { view: threadsOf(env), nowMs: env.nowMs })];
    case "createThread":
      return created(env).map(({ env: next, answer }) => answered(next, answer));
    case "probeThread":
      return probed(env, input as ProbeRequest).map(({ env: next, answer }) => answered(next, answer));
    case "deleteThread":
      return deleted(env, input as ThreadOrder).map(({ env: next, answer }) => answered(next, answer));
    case "beginCleanup": {
      const { epoch: under, target } = input as ThreadOrder;
      if (!rules.mayWrite(env, under)) return [answered(env, { kind: "fenced" })];
      const isAsked = env.cleanups[target.threadId] !== undefined;
      const answer: BeginCleanupAnswer = isAsked ? { kind: "begun", attempts: 1 } : { kind: "superseded" };
      const begun = isAsked ? withCleanup(env, target.threadId, "deleting") : env;
      return [answered(noted(begun, under), answer)];
    }
    case "proveDeath": {
      const { sitter } = input as SeatWrite;
      const looks = [answered(env, env.people[nameOf(sitter.generation)].is === "here" ? "alive" : "dead")];
      return env.left.unprovable === 0 ? looks : [...looks, answered(spend(env, "unprovable"), "unverifiable")];
    }
    default: {
      const { epoch: under } = input as { readonly epoch: Epoch };
      if (!rules.mayWrite(env, under)) return [answered(env, { kind: "fenced" })];
      const { env: next, kind } = written(env, request, rules);
      const outcome = answered(noted(next, under), { kind });
      if (src !== "intendThread" || env.left.troubles === 0) return [outcome];
      // Another seat was faster with the letter.
      return [outcome, answered(spend(env, "troubles"), { kind: "conflict" })];
    }
  }
}

function noted(env: RegistrationEnv, presented: Epoch): RegistrationEnv {
  const current = epoch(env.epoch);
  if (presented === current) return env;
  return { ...env, wrongWrites: [{ by: instanceId("leader"), presented, current, accepted: true }] };
}

/** What is to become of a thread; null = it is not to be deleted. */
function withCleanup(env: RegistrationEnv, thread: number, phase: "waiting" | "deleting" | null): RegistrationEnv {
  const { [thread]: _before, ...others } = env.cleanups;
  return { ...env, cleanups: phase === null ? others : { ...others, [thread]: phase } };
}

interface Written {
  readonly env: RegistrationEnv;
  readonly kind: string;
}

function written(env: RegistrationEnv, { by, src, input, orphan }: Request, rules: RegistrationRules): Written {
  const leader = leaderOf(by);
  switch (src) {
    case "intendThread": {
      const { provision, abandons } = input as { provision: BegunProvision; abandons: string | null };
      return rules.mayIntend(env, abandons)
        ? { env: { ...env, provision, made: null }, kind: "intended" }
        : { env, kind: "conflict" };
    }
    case "bindThread": {
      const { threadId: binding } = input as { threadId: ThreadId };
      return { env: { ...env, binding, provision: null, made: null }, kind: "bound" };
    }
    case "keepThread": {
      const { target } = (input as KeepRequest).binding.thread;
      return { env, kind: env.binding === target.threadId ? "kept" : "missing" };
    }
    case "loseThread": {
      const isBound = env.binding === (input as ProbeRequest).target.threadId;
      return { env: isBound ? { ...env, binding: null } : env, kind: isBound ? "lost" : "missing" };
    }
    case "giveUpThread": {
      const { provisionId, as } = input as { provisionId: string; as: "abandoned" | "ambiguous" };
      if (env.provision?.id !== provisionId) return { env, kind: "noted" };
      const provision: BegunProvision | null =
        as === "abandoned" && env.made === null ? null : { ...env.provision, status: "ambiguous" };
      return { env: { ...env, provision }, kind: "noted" };
    }
    case "commitRegistration":
      return registered(env, (input as SeatWrite).sitter, { leader, orphan, rules });
    case "endRegistration": {
      const { generation: token } = (input as SeatWrite).sitter;
      if (env.registration !== null && env.registration !== token) return { env, kind: "superseded" };
      const isFalselyDead = env.isFalselyDead || env.people[nameOf(token)].is === "here";
      return { env: { ...env, registration: null, isFalselyDead }, kind: "ended" };
    }
    case "intendCleanup": {
      const { threadId: thread } = (input as ThreadOrder).target;
      const isKnown = env.cleanups[thread] !== undefined || env.confirmed.includes(thread);
      const intended = isKnown ? env : withCleanup(env, thread, "waiting");
      if (orphan) return { env: intended, kind: "intended" };
      // A farewell of another generation than the one that sits must not come to this.
      const sits = env.seats[leader]?.sits ?? null;
      const staleEffects = env.staleEffects + (sits !== null && env.farewells.includes(sits) ? 0 : 1);
      return { env: withSeat({ ...intended, staleEffects }, leader, { isCleaning: true }), kind: "intended" };
    }
    case "confirmCleanup": {
      const { threadId: gone } = (input as ThreadOrder).target;
      const done = orphan ? env : withSeat(env, leader, { isCleaning: false });
      if (env.cleanups[gone] === undefined) return { env: done, kind: "superseded" };
      const isBound = env.binding === gone;
      const left: RegistrationEnv = {
        ...withCleanup(done, gone, null),
        confirmed: [...new Set([...env.confirmed, gone])].sort(),
        binding: isBound ? null : env.binding,
        registration: isBound ? null : env.registration,
      };
      return { env: left, kind: "removed" };
    }
    case "postponeCleanup": {
      const done = orphan ? env : withSeat(env, leader, { isCleaning: false });
      const { target, isCertain } = input as PostponeOrder;
      if (env.cleanups[target.threadId] === undefined) return { env: done, kind: "noted" };
      return { env: withCleanup(done, target.threadId, isCertain ? "waiting" : "deleting"), kind: "noted" };
    }
    default:
      throw new Error(`the registration world answers no ${src}`);
  }
}

function registered(
  env: RegistrationEnv,
  sitter: Sitter,
  {
    leader,
    orphan,
    rules: { comparesClaim, heedsCleanup },
  }: { readonly leader: number; readonly orphan: boolean; readonly rules: RegistrationRules },
): Written {
  const token: string = sitter.generation;
  // B claims the seat before it registers, and only once A is dead or has left.
  const isClaimant = nameOf(token) === (env.people.B.attempts > 0 ? "B" : "A");
  if (comparesClaim && !isClaimant) return { env, kind: "superseded" };
  const before = env.registration;
  const { threadId: thread } = sitter.thread.target;
  const isDeleting = env.cleanups[thread] === "deleting";
  const isGone = isDeleting || env.confirmed.includes(thread);
  if (isGone && heedsCleanup) return { env, kind: "threadGone" };
  return {
    kind: "committed",
    env: {
      ...(isDeleting ? env : withCleanup(env, thread, null)),
      registration: token,
      committed: [...new Set([...env.committed, token])].sort(),
      isInterleaved: env.isInterleaved || (!orphan && env.seats[leader]?.isCleaning === true),
      isLivingReplaced: env.isLivingReplaced || (before !== null && nameOf(before) === "B" && !isClaimant),
    },
  };
}

/** Telegram compares nothing: a call that left is carried out, whoever leads by then. */
function deleted(
  env: RegistrationEnv,
  { target }: ThreadOrder,
): readonly { readonly env: RegistrationEnv; readonly answer: DeleteAnswer }[] {
  const isThere = env.threads.includes(target.threadId);
  // A registration that came after the instruction is never its leaver's own.
  const isHeld = isThere && env.binding === target.threadId && env.registration !== null;
  const isOthers = isHeld && !env.farewells.includes(env.registration);
  const done: RegistrationEnv = {
    ...env,
    threads: env.threads.filter((each) => each !== target.threadId),
    isHeldDeleted: env.isHeldDeleted || isOthers,
    isUnproven: env.isUnproven || (isThere && env.cleanups[target.threadId] !== "deleting"),
  };
  const gone = { env: done, answer: { kind: "gone" } } as const;
  if (env.left.troubles === 0) return [gone];
  const kept = (next: RegistrationEnv, isCertain: boolean) =>
    ({ env: spend(next, "troubles"), answer: { kind: "kept", reason: "", isCertain, retryAfterMs: 0 } }) as const;
  return [gone, kept(env, true), kept(env, false), kept(done, false)];
}

const threadsOf = (env: RegistrationEnv): ThreadView => ({
  bindings:
    env.binding === null
      ? []
      : [
          {
            seat,
            thread: threadOf(env.binding),
            createdAtMs: 0,
            standing: "open",
            reason: "",
            provenAtMs: 0,
            holder: env.registration === null ? null : instanceId(nameOf(env.registration)),
          },
        ],
  provisions:
    env.provision === null ? [] : [{ ...env.provision, threadId: env.made === null ? null : threadId(env.made) }],
  lost: [],
  leftovers: [],
});

/** An unknown look proves nothing; a thread that the user has deleted is gone. */
function probed(
  env: RegistrationEnv,
  { target }: ProbeRequest,
): readonly { readonly env: RegistrationEnv; readonly answer: ProbeAnswer }[] {
  const isThere = env.threads.includes(target.threadId);
  const answer: ProbeAnswer = isThere ? { kind: "exists" } : { kind: "gone", reason: "" };
  const told = { env, answer };
  if (env.left.troubles === 0) return [told];
  const trouble = spend(env, "troubles");
  return [
    told,
    { env: trouble, answer: { kind: "unclear", reason: "" } },
    { env: trouble, answer: { kind: "later", afterMs: 1, reason: "" } },
  ];
}

function created(env: RegistrationEnv): readonly { readonly env: RegistrationEnv; readonly answer: CreateAnswer }[] {
  const thread = env.lastThread + 1;
  // After a quarter of an hour a second one is the rule's own choice.
  const isDoubled = env.isDoubled || (env.threads.length > 0 && env.nowMs === 0);
  const done = { ...env, threads: [...env.threads, thread], lastThread: thread, isDoubled };
  const isWaitedFor = env.provision !== null && env.made === null;
  const fine = {
    env: isWaitedFor ? { ...done, made: thread } : done,
    answer: { kind: "created", threadId: threadId(thread) },
  } as const;
  if (env.left.troubles === 0) return [fine];
  const trouble = (next: RegistrationEnv, kind: "rejected" | "ambiguous") =>
    ({ env: spend(next, "troubles"), answer: { kind, reason: "" } }) as const;
  return [
    fine,
    trouble(env, "rejected"),
    trouble(env, "ambiguous"),
    trouble(done, "ambiguous"),
    { env: spend(env, "troubles"), answer: { kind: "later", afterMs: 1, reason: "" } },
  ];
}
