/**
 * Effects of the membership chart: registration at the leader, heartbeats, leaving, and watching the connection.
 *
 * Owns: the connection to the leader, put on the board only with the generation that the leader acknowledged on it.
 * Does not own: when to register or to give up; the words (`registering.ts`).
 */
import { fromCallback, fromPromise } from "xstate";
import { readRegistration, readRoster } from "../machines/acks.rules.ts";
import type { RegisterAnswer } from "../machines/acks.rules.ts";
import type { Generation } from "../machines/ids.ts";
import { membershipMachine } from "../machines/membership.machine.ts";
import type { BeatAnswer, LeaveAnswer, RegisterInput, ThreadMoved } from "../machines/membership.machine.ts";
import { timeoutMs } from "../machines/wire/constants.ts";
import type { Ack, RegisterRequest } from "../machines/wire/envelopes.ts";
import { lookForMoves } from "./chats.ts";
import type { Link, RequestOutcome } from "./ports.ts";
import type { Receiver } from "./receiver.ts";
import { identityFor, registerRequest } from "./registering.ts";
import { leavingRoom } from "./room.ts";
import type { LeaderLink, OwnPlace, Runtime } from "./runtime.ts";

const dialTimeoutMs = 1_000;

const refusalText = (ack: Ack): string => ack.message ?? "refused without a reason";

/** What a leader has acknowledged, until the chart takes it up: `watchLeader` puts it on the board. */
interface Acknowledged {
  readonly leader: LeaderLink;
  readonly place: OwnPlace;
}

interface Registering {
  readonly input: RegisterInput;
  readonly signal: AbortSignal;
}

/** Our endpoint opens to this leader's secret while we ask (protocol §6.3), and to nobody's once it said no. */
async function register(runtime: Runtime, desk: Desk, registering: Registering): Promise<RegisterAnswer> {
  const { board } = runtime;
  const { input, signal } = registering;
  const mine = (desk.attempts += 1);
  const address = await desk.receiver.ensure();
  if (!signal.aborted) board.leaderSecret = input.leader.secret;
  const answer = await askToRegister(runtime, desk, registering, address);
  const isOver = answer.kind !== "accepted" || signal.aborted;
  if (isOver && board.leader === null && desk.attempts === mine) board.leaderSecret = null;
  return answer;
}

async function askToRegister(
  runtime: Runtime,
  desk: Desk,
  { input, signal }: Registering,
  address: string,
): Promise<RegisterAnswer> {
  const { ports, settings } = runtime;
  let link: Link;
  try {
    link = leavingRoom(await ports.transport.dial(input.leader.endpoint, dialTimeoutMs), ports.stage.clock);
  } catch (error) {
    return { kind: "unreachable", reason: String(error) };
  }
  // The chart may have moved on at any of these points; then nobody will use this connection.
  const isAbandoned = (): boolean => signal.aborted;
  if (isAbandoned()) {
    link.close();
    return { kind: "unreachable", reason: "no longer wanted" };
  }
  signal.addEventListener("abort", () => {
    if (runtime.board.leader?.link !== link) link.close();
  });
  await lookForMoves(runtime);
  const generation = ports.ids.generation(settings.me);
  const request = registerRequest(runtime, input, { generation, address });
  const outcome = await requestAgainAndAgain(link, request);
  const answer: RegisterAnswer =
    outcome.kind === "answered"
      ? readRegistration(identityFor(settings, input.leader.dialect), outcome.ack, generation)
      : { kind: "unreachable", reason: outcome.reason };
  if (answer.kind !== "accepted" || isAbandoned()) {
    link.close();
    // Refused: nobody has a reason to talk to us (protocol §6.4). The next attempt opens it again.
    if (answer.kind === "refused" && !isAbandoned()) await desk.receiver.close();
    return answer;
  }
  desk.acknowledged = {
    leader: { generation, link, secret: input.leader.secret, dialect: input.leader.dialect },
    place: { seat: input.seat, generation, thread: answer.thread, isClassic: false },
  };
  return answer;
}

/** How long one copy of a registration is waited for, and how many are sent in all: 30 s together, as the wire has it. */
const registrationCopyMs = 3_000;
const registrationCopiesMax = timeoutMs.registration / registrationCopyMs;

/**
 * A frame may be lost, and a thread may take its time. The same bytes again join the leader's work or find its answer
 * (protocol §6.3, W-23), on the connection by which it knows us.
 */
async function requestAgainAndAgain(link: Link, request: RegisterRequest): Promise<RequestOutcome> {
  let outcome: RequestOutcome = { kind: "notSent", reason: "not asked yet" };
  for (let copy = 0; copy < registrationCopiesMax; copy += 1) {
    outcome = await link.request(request, registrationCopyMs);
    if (outcome.kind !== "lost" || outcome.how !== "timedOut") break;
  }
  return outcome;
}

interface Desk {
  readonly receiver: Receiver;
  acknowledged: Acknowledged | null;
  /** Registrations begun. */
  attempts: number;
}

/** The connection that acknowledged this generation; null when it is not the current one any more. */
const currentLink = ({ board }: Runtime, generation: Generation): LeaderLink | null =>
  board.leader?.generation === generation ? board.leader : null;

interface Asked {
  readonly kind: "follower.heartbeat" | "follower.disconnect";
  readonly generation: Generation;
  readonly timeoutMs: number;
}

async function ask(runtime: Runtime, asked: Asked): Promise<RequestOutcome> {
  const { ports, settings } = runtime;
  const current = currentLink(runtime, asked.generation);
  if (current === null) return { kind: "notSent", reason: "the registration is over" };
  return current.link.request(
    {
      kind: asked.kind,
      requestId: ports.ids.requestId(settings.me),
      auth: current.secret,
      instanceId: settings.me,
      registrationGeneration: asked.generation,
      sentAtMs: ports.stage.clock.nowMs(),
    },
    asked.timeoutMs,
  );
}

/** Puts the registration on the board, reports the end of its connection, and takes it off again. */
function watchLeader(
  runtime: Runtime,
  { acknowledged, generation }: { readonly acknowledged: Acknowledged | null; readonly generation: Generation },
  tell: (fact: LinkClosed | ThreadMoved) => void,
): () => void {
  const { board } = runtime;
  if (acknowledged?.leader.generation !== generation) {
    tell({ type: "link.closed", generation });
    return () => undefined;
  }
  const { leader, place } = acknowledged;
  let isWatching = true;
  board.leader = leader;
  board.leaderSecret = leader.secret;
  board.place = place;
  // A leader that knows of no thread for us has not taken the last one away: it is told of it the next time.
  if (place.thread !== null) board.lastThread = place.thread;
  runtime.onWayChanged.fire();
  const unlisten = runtime.onPlaceMoved.listen(() => {
    if (board.place?.generation === generation && board.place.thread !== null)
      tell({ type: "thread.moved", generation, thread: board.place.thread });
  });
  void leader.link.closed.then(() => {
    if (isWatching) tell({ type: "link.closed", generation });
  });
  return () => {
    isWatching = false;
    unlisten();
    leader.link.close();
    if (board.leader !== leader) return;
    board.leader = null;
    board.leaderSecret = null;
    board.place = null;
    runtime.onWayChanged.fire();
  };
}

/** Looks after our own address with each heartbeat: nobody else would find out that it is gone (protocol O-19). */
async function keepReachable({ ports }: Runtime, receiver: Receiver): Promise<void> {
  try {
    await receiver.ensure();
  } catch (error) {
    ports.stage.log.event("warn", "follower-endpoint-recovery", { reason: String(error) });
  }
}

interface LinkClosed {
  readonly type: "link.closed";
  readonly generation: Generation;
}

export function provideMembership(runtime: Runtime, receiver: Receiver) {
  type Only = { readonly generation: Generation };
  const desk: Desk = { receiver, acknowledged: null, attempts: 0 };
  return membershipMachine.provide({
    actors: {
      register: fromPromise<RegisterAnswer, RegisterInput>((start) => register(runtime, desk, start)),
      heartbeat: fromPromise<BeatAnswer, Only>(async ({ input: { generation } }) => {
        await keepReachable(runtime, receiver);
        const outcome = await ask(runtime, { kind: "follower.heartbeat", generation, timeoutMs: timeoutMs.heartbeat });
        if (outcome.kind !== "answered") return { kind: "unreachable", reason: outcome.reason };
        if (!outcome.ack.ok) return { kind: "refused", reason: refusalText(outcome.ack) };
        // An answer to a registration that is over changes nothing (protocol P-35); whoever asked has gone on.
        if (currentLink(runtime, generation) === null)
          return { kind: "unreachable", reason: "the registration is over" };
        // Kept when the registration is lost: it tells who goes first when the leader is gone.
        runtime.board.roster = readRoster(outcome.ack.result);
        desk.receiver.resume();
        return { kind: "alive" };
      }),
      disconnect: fromPromise<LeaveAnswer, Only>(async ({ input: { generation } }) => {
        const outcome = await ask(runtime, {
          kind: "follower.disconnect",
          generation,
          timeoutMs: timeoutMs.disconnect,
        });
        if (outcome.kind !== "answered") return { kind: "notLeft", reason: outcome.reason };
        return outcome.ack.ok ? { kind: "left" } : { kind: "notLeft", reason: refusalText(outcome.ack) };
      }),
      watchLeader: fromCallback<{ readonly type: "never" }, Only>(({ input, sendBack }) =>
        watchLeader(runtime, { acknowledged: desk.acknowledged, generation: input.generation }, sendBack),
      ),
    },
  });
}
