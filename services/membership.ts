/**
 * Effects of the membership chart: registration at the leader, heartbeats, leaving, and watching the connection.
 *
 * Owns: the connection to the leader, put on the board only with the generation that the leader acknowledged on it.
 * Does not own: when to register or to give up.
 */
import { fromCallback, fromPromise } from "xstate";
import type { BoundThread, Generation } from "../machines/ids.ts";
import { chatId, threadId } from "../machines/ids.ts";
import { asBody } from "../machines/calls.rules.ts";
import { birthId } from "../machines/incarnation.rules.ts";
import { membershipMachine } from "../machines/membership.machine.ts";
import type { BeatAnswer, LeaveAnswer, RegisterAnswer, RegisterInput } from "../machines/membership.machine.ts";
import { incompatibilityOf, timeoutMs } from "../machines/wire/constants.ts";
import type { Ack, RegisterRequest } from "../machines/wire/envelopes.ts";
import type { Link, RequestOutcome } from "./ports.ts";
import type { Receiver } from "./receiver.ts";
import type { LeaderLink, Runtime } from "./runtime.ts";

const dialTimeoutMs = 1_000;

/** The thread in a registration's answer; null when it names none. */
function readThread(result: unknown): BoundThread | null {
  const fields = asBody(result);
  const chat = fields?.["chatId"];
  const thread = fields?.["threadId"];
  if (fields === null || !Number.isSafeInteger(chat) || !Number.isSafeInteger(thread)) return null;
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  return {
    target: { chatId: chatId(Number(chat)), threadId: threadId(Number(thread)) },
    slot: text(fields["slot"]),
    threadName: text(fields["threadName"]),
  };
}

/** What an answer to a registration means (protocol §6.4, with O-1: a refusal's own words come first). */
function readRegistration(runtime: Runtime, outcome: RequestOutcome, generation: Generation): RegisterAnswer {
  if (outcome.kind !== "answered") return { kind: "unreachable", reason: outcome.reason };
  const { ack } = outcome;
  const incompatible = incompatibilityOf(runtime.settings.identity, ack.protocol);
  if (!ack.ok && ack.protocol === undefined)
    return { kind: "refused", reason: ack.message ?? "Telegram bus follower registration was rejected." };
  if (incompatible !== null)
    return { kind: "refused", reason: `Incompatible Telegram bus leader protocol: ${incompatible}.` };
  if (!ack.ok) return { kind: "refused", reason: ack.message ?? "Telegram bus follower registration was rejected." };
  const thread = readThread(ack.result);
  return thread === null
    ? { kind: "refused", reason: "the leader accepted the registration and named no thread" }
    : { kind: "accepted", generation, thread };
}

function registerRequest(
  runtime: Runtime,
  input: RegisterInput,
  generation: Generation,
  address: string,
): RegisterRequest {
  const { settings, ports, board } = runtime;
  const { place } = board;
  return {
    kind: "follower.register",
    requestId: generation,
    auth: input.leader.secret,
    registration: {
      instanceId: settings.me,
      profileKey: input.seat,
      ...(settings.name === null ? {} : { threadName: settings.name }),
      pid: settings.incarnation.pid,
      processBirthId: birthId(settings.incarnation, settings.me),
      sessionGeneration: 1,
      ...(place?.thread == null ? {} : { target: place.thread.target, slot: place.thread.slot }),
      busSocketPath: address,
      registrationGeneration: generation,
      protocol: settings.identity,
      connectedAtMs: ports.stage.clock.nowMs(),
    },
  };
}

/** Asks on the link that acknowledged this generation; null when that is not the current one any more. */
const currentLink = (runtime: Runtime, generation: Generation): LeaderLink | null =>
  runtime.board.leader?.generation === generation ? runtime.board.leader : null;

function readBeat(outcome: RequestOutcome): BeatAnswer {
  if (outcome.kind !== "answered") return { kind: "unreachable", reason: outcome.reason };
  return outcome.ack.ok ? { kind: "alive" } : { kind: "refused", reason: refusalText(outcome.ack) };
}
const refusalText = (ack: Ack): string => ack.message ?? "refused without a reason";

export function provideMembership(runtime: Runtime, receiver: Receiver) {
  const { ports, settings, board } = runtime;

  const acceptOn = (link: Link, input: RegisterInput, answer: Extract<RegisterAnswer, { kind: "accepted" }>): void => {
    board.leader = { generation: answer.generation, link, secret: input.leader.secret };
    board.place = { seat: input.seat, generation: answer.generation, thread: answer.thread };
    runtime.onWayChanged.fire();
  };

  const register = async (input: RegisterInput, signal: AbortSignal): Promise<RegisterAnswer> => {
    const address = await receiver.ensure();
    let link: Link;
    try {
      link = await ports.transport.dial(input.leader.endpoint, dialTimeoutMs);
    } catch (error) {
      return { kind: "unreachable", reason: String(error) };
    }
    const generation = ports.ids.generation(settings.me);
    signal.addEventListener("abort", () => {
      if (board.leader?.link !== link) link.close();
    });
    // Our own receiver may be called before this answer arrives: from here the new secret is the one that opens it.
    const outcome = await link.request(registerRequest(runtime, input, generation, address), timeoutMs.registration);
    const answer = readRegistration(runtime, outcome, generation);
    if (answer.kind === "accepted" && !signal.aborted) acceptOn(link, input, answer);
    else link.close();
    return answer;
  };

  const ask = async (generation: Generation, kind: "follower.heartbeat" | "follower.disconnect", limitMs: number) => {
    const current = currentLink(runtime, generation);
    if (current === null) return { kind: "notSent", reason: "the registration is over" } as const;
    return current.link.request(
      {
        kind,
        requestId: ports.ids.requestId(settings.me),
        auth: current.secret,
        instanceId: settings.me,
        registrationGeneration: generation,
        sentAtMs: ports.stage.clock.nowMs(),
      },
      limitMs,
    );
  };

  type Only = { readonly input: { readonly generation: Generation } };
  return membershipMachine.provide({
    actors: {
      register: fromPromise(({ input, signal }: { readonly input: RegisterInput; readonly signal: AbortSignal }) =>
        register(input, signal),
      ),
      heartbeat: fromPromise(async ({ input }: Only): Promise<BeatAnswer> =>
        readBeat(await ask(input.generation, "follower.heartbeat", timeoutMs.heartbeat)),
      ),
      disconnect: fromPromise(async ({ input }: Only): Promise<LeaveAnswer> => {
        const outcome = await ask(input.generation, "follower.disconnect", timeoutMs.disconnect);
        if (outcome.kind !== "answered") return { kind: "notLeft", reason: outcome.reason };
        return outcome.ack.ok ? { kind: "left" } : { kind: "notLeft", reason: refusalText(outcome.ack) };
      }),
      watchLeader: fromCallback<{ readonly type: "never" }, { readonly generation: Generation }>(
        ({ input, sendBack }) => {
          const { generation } = input;
          const current = currentLink(runtime, generation);
          let watching = true;
          const report = () => {
            if (watching) sendBack({ type: "link.closed", generation });
          };
          if (current === null) report();
          else void current.link.closed.then(report);
          return () => {
            watching = false;
            current?.link.close();
            if (board.leader === current) {
              board.leader = null;
              board.place = null;
              runtime.onWayChanged.fire();
            }
          };
        },
      ),
    },
  });
}
