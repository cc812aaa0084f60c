/**
 * One instance, put together: the instance chart with every slot filled, over the given ports.
 *
 * Owns: the composition, nothing else. Production and the simulator call it with their own ports.
 */
import { fromPromise } from "xstate";
import type { Actor, CallbackActorLogic } from "xstate";
import { incarnationText } from "../machines/incarnation.rules.ts";
import type { SeatKey } from "../machines/ids.ts";
import { instanceMachine } from "../machines/instance.machine.ts";
import type {
  ActivationStart,
  ClaimAnswer,
  ClaimInput,
  MembershipStart,
  SeatClaims,
} from "../machines/instance.machine.ts";
import type { LeaseEvent } from "../machines/lease.machine.ts";
import type { OwnerFact } from "../machines/owner.contract.ts";
import type { SeenClaim } from "../machines/seat.rules.ts";
import { provideActivation } from "./activation.ts";
import { callAsInstance } from "./calls.ts";
import { withoutMarkers } from "../machines/calls.rules.ts";
import type { ApiCall } from "../machines/calls.rules.ts";
import type { AgentSelector } from "../machines/wire/envelopes.ts";
import { resolveAgent, sendToAgent } from "./agent-calls.ts";
import type { ResolveOutcome, SendOutcome } from "./agent-calls.ts";
import { Chats, lookForMoves } from "./chats.ts";
import { provideCleanup } from "./cleanup.ts";
import { Handoffs } from "./handoff.ts";
import { heldCallsOf } from "./held-calls.ts";
import { Holdings } from "./holdings.ts";
import { Inbox } from "./inbox.ts";
import type { SecretCheck } from "./leader-handler.ts";
import { createLeaseGate, provideLease } from "./lease.ts";
import { provideOwner } from "./owner.ts";
import { lossTellerOf } from "./loss-notices.ts";
import { provideMembership } from "./membership.ts";
import type { CallOutcome } from "./ports.ts";
import { Probes } from "./probes.ts";
import { Queue } from "./queue.ts";
import type { QueueHost } from "./queue.ts";
import { createReceiver } from "./receiver.ts";
import { audienceOf, createSignal, emptyBoard } from "./runtime.ts";
import type { Ports, Runtime, Settings } from "./runtime.ts";
import { bare, createOnStage, hostChart } from "./stage.ts";
import { ThreadSends } from "./thread-sends.ts";
import type { ThreadPolicy } from "./thread-sends.ts";
import { renewToken } from "./token.ts";

/** What the composition needs of its surroundings besides ports. */
export interface Host extends QueueHost {
  /** Resolves when no handler runs any more. */
  readonly drained: () => Promise<void>;
  readonly isSecret: SecretCheck;
}

export interface ComposedInstance {
  readonly actor: Actor<typeof instanceMachine>;
  readonly runtime: Runtime;
  readonly queue: Queue;
  readonly handoffs: Handoffs;
  /** Markers of the bus in its body are left out. */
  call(call: ApiCall): Promise<CallOutcome>;
  /** Reads the token again, where it comes from a file. */
  renewToken(): Promise<"changed" | "same">;
  resolveAgent(selector: AgentSelector): Promise<ResolveOutcome>;
  sendToAgent(selector: AgentSelector, text: string): Promise<SendOutcome>;
  /** Closes what outlives the chart: our own endpoint. The ports stay open, they are the caller's. */
  dispose(): Promise<void>;
}

/** Claims under the owner of the wished seat, each with a look at its process. */
async function readSeatClaims(runtime: Runtime, name: string | null): Promise<SeatClaims> {
  const { ports, settings } = runtime;
  const { store, processes } = ports;
  await lookForMoves(runtime);
  const owner = name === null ? incarnationText(processes.parent()) : await store.seats.profileId();
  const claims = await store.seats.claimsOf(owner);
  const seen = claims.map((claim): SeenClaim => ({
    seat: claim.seat,
    instanceId: claim.instanceId,
    liveness: processes.liveness(claim.incarnation),
  }));
  return { request: { me: settings.me, owner, name }, claims: seen };
}

function provideSeating(runtime: Runtime) {
  const { settings, ports } = runtime;
  const { store } = ports;
  return {
    readSeatClaims: fromPromise<SeatClaims, { readonly name: string | null }>(({ input }) =>
      readSeatClaims(runtime, input.name),
    ),
    claimSeat: fromPromise<ClaimAnswer, ClaimInput>(({ input }) =>
      store.seats.claim({
        ...input,
        instanceId: settings.me,
        incarnation: settings.incarnation,
        threadGraceMs: settings.threadGraceMs,
      }),
    ),
    disownSeat: fromPromise<undefined, { readonly seat: SeatKey }>(async ({ input }) => {
      await store.seats.disown({ seat: input.seat, instanceId: settings.me });
      return undefined;
    }),
    releaseSeat: fromPromise<undefined, { readonly seat: SeatKey }>(async ({ input }) => {
      await store.seats.release({ seat: input.seat, instanceId: settings.me });
      return undefined;
    }),
    cleanup: provideCleanup(runtime),
  };
}

/** What this instance takes from the journal, and what becomes of it. */
function openHand(runtime: Runtime, host: QueueHost) {
  const holdings = new Holdings(runtime);
  const queue = new Queue(runtime, holdings, host);
  const inbox = new Inbox(runtime, { holdings, isFlowing: () => queue.isFlowing() }, (taken) => {
    queue.arrive(taken);
  });
  const handoffs = new Handoffs(runtime, { holdings, queue });
  const closeHand = (): void => {
    handoffs.close();
    inbox.close();
    holdings.close();
    queue.dispose();
  };
  return { inbox, queue, handoffs, closeHand };
}

const activationInput = (runtime: Runtime, start: ActivationStart) => ({
  ...start,
  carried: runtime.board.lastThread,
  me: runtime.settings.me,
  chatId: audienceOf(runtime)?.chat ?? null,
  threadName: runtime.settings.name,
  capabilityMs: runtime.settings.capabilityMs,
});

/** What decides whether we lead: the lease chart; in a v1 fleet the owner chart, with the lease chart inside. */
function hostLeadership(runtime: Runtime, gate: ReturnType<typeof createLeaseGate>): CallbackActorLogic<LeaseEvent> {
  const { ports, settings } = runtime;
  const { stage, store, processes, transport, v1 } = ports;
  const me = {
    instanceId: settings.me,
    incarnation: settings.incarnation,
    endpoint: transport.leaderAddress,
    secret: settings.secret,
  };
  const onFact = (fact: OwnerFact): void => {
    gate.onFact(fact);
    if (fact.type === "lease.troubled") stage.log.event("warn", fact.type, { reason: fact.reason });
  };
  const lease = {
    id: `${settings.me}/lease`,
    chart: () => bare(provideLease({ store: store.lease, processes, clock: stage.clock, me })),
    input: () => ({ me: settings.me, timings: settings.lease }),
  };
  if (v1 === null) return hostChart(stage, { ...lease, onFact });
  const inner: CallbackActorLogic<LeaseEvent> = hostChart(stage, {
    ...lease,
    onFact: () => undefined,
  });
  return hostChart(stage, {
    id: `${settings.me}/owner`,
    chart: () => bare(provideOwner(v1, runtime).provide({ actors: { lease: inner } })),
    input: () => ({ self: v1.self, leaderAddress: transport.leaderAddress, timings: v1.timings }),
    onFact,
  });
}

const threadPolicyOf = ({ lostThreads, closedThreads }: Settings, look: () => Runtime): ThreadPolicy => ({
  teller: lostThreads === "notify" ? lossTellerOf(look) : null,
  reopens: closedThreads === "reopen",
});

/** Everything of an instance but its ports. The actor is not started. */
export function composeInstance(ports: Ports, settings: Settings, host: Host): ComposedInstance {
  const { stage } = ports;
  const gate = createLeaseGate(stage.clock);
  const runtime: Runtime = {
    ports,
    settings,
    gate,
    board: emptyBoard(),
    chats: new Chats(settings.chat),
    probes: new Probes(stage.clock),
    sends: new ThreadSends(threadPolicyOf(settings, () => runtime)),
    onWayChanged: createSignal(),
    onPlaceMoved: createSignal(),
    onTokenRenewed: createSignal(),
  };
  const { inbox, queue, handoffs, closeHand } = openHand(runtime, host);
  const receiver = createReceiver(runtime, inbox, host.isSecret);
  const heldCalls = heldCallsOf(runtime);
  const path = (name: string): string => `${settings.me}/${name}`;
  const ignore = (): void => undefined;
  const machine = instanceMachine.provide({
    actors: {
      ...provideSeating(runtime),
      drainHost: fromPromise<undefined>(async () => {
        // What is offered comes back with the seat, what is accepted stays with it.
        handoffs.close();
        await queue.close();
        await host.drained();
        return undefined;
      }),
      lease: hostLeadership(runtime, gate),
      membership: hostChart(stage, {
        id: path("membership"),
        chart: () => bare(provideMembership(runtime, receiver)),
        input: (start: MembershipStart) => ({ ...start, timings: settings.membership }),
        onFact: ignore,
      }),
      activation: hostChart(stage, {
        id: path("activation"),
        chart: (start: ActivationStart) => provideActivation(runtime, start, { inbox, isSecret: host.isSecret }),
        input: (start: ActivationStart) => activationInput(runtime, start),
        onFact: ignore,
      }),
    },
  });

  const actor = createOnStage(stage, machine, { id: settings.me, input: { me: settings.me, name: settings.name } });
  const unlisten = runtime.chats.moved.listen(() => {
    actor.send({ type: "chat.moved" });
  });
  return {
    actor,
    runtime,
    queue,
    handoffs,
    call: ({ method, body }) => {
      const plain = { method, body: withoutMarkers(body) };
      return heldCalls.run(plain, () => callAsInstance(runtime, plain));
    },
    renewToken: () => renewToken(runtime),
    resolveAgent: (selector) => resolveAgent(runtime, selector),
    sendToAgent: (selector, text) => sendToAgent(runtime, selector, text),
    dispose: () => {
      unlisten();
      closeHand();
      runtime.board.isOver = true;
      runtime.onWayChanged.fire();
      return receiver.close();
    },
  };
}
