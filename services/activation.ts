/**
 * Effects of the activation chart, and everything that lives for one leadership.
 *
 * Owns: making the leader's side (seats, connections, inbox) fresh for each grant, and our own place on the board.
 * Does not own: the order of activation, what any companion decides.
 */
import { fromPromise } from "xstate";
import { activationMachine } from "../machines/activation.machine.ts";
import type { Epoch, SeatKey } from "../machines/ids.ts";
import type { ActivationStart } from "../machines/instance.machine.ts";
import type { IdentifyAnswer, SeatOwnAnswer, SeatOwnInput } from "../machines/activation.machine.ts";
import type { CapabilityFact } from "../machines/capability.machine.ts";
import type { ReconciliationFact } from "../machines/reconciliation.machine.ts";
import type { PollingFact } from "../machines/polling.machine.ts";
import { isNews } from "../machines/provisioning.machine.ts";
import { AgentDesk } from "./agents.ts";
import { identify, provideCapability } from "./capability.ts";
import { FollowerLinks } from "./follower-links.ts";
import type { Inbox } from "./inbox.ts";
import { announceThread } from "./notices.ts";
import { provideDispatcher } from "./dispatcher.ts";
import { provideEndpoint } from "./leader-endpoint.ts";
import { LeaderHandler } from "./leader-handler.ts";
import type { SecretCheck } from "./leader-handler.ts";
import { provideAudienceWatch } from "./pairing.ts";
import { provideOwnThread } from "./own-thread.ts";
import { createPollingNotes, healthOf, LeaderHealth } from "./polling-notes.ts";
import { providePolling } from "./polling.ts";
import { provideProvisioning } from "./provisioning.ts";
import { provideReconciliation } from "./reconciliation.ts";
import type { ReconciliationSide } from "./reconciliation.ts";
import { createSignal } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";
import { Seats } from "./seats.ts";
import { bare, hostChart } from "./stage.ts";
import { provideTokenRenewal, provideTokenWatch } from "./token.ts";
import { Topics } from "./topics.ts";

/** Seats us on our own seat and puts the place on the board, where calls and claims find it. */
async function seatOwn(
  runtime: Runtime,
  { input, signal }: { readonly input: SeatOwnInput; readonly signal: AbortSignal },
): Promise<SeatOwnAnswer> {
  const { epoch, seat, thread, origin, isClassic } = input;
  const { store, ids, stage } = runtime.ports;
  const { me, incarnation } = runtime.settings;
  const generation = ids.generation(me);
  const outcome = await store.registrations.commit({
    epoch,
    registration: {
      seat,
      instanceId: me,
      generation,
      incarnation,
      thread,
      atMs: stage.clock.nowMs(),
      threadGraceMs: runtime.settings.threadGraceMs,
    },
  });
  if (outcome.kind === "threadGone") return { kind: "threadGone" };
  if (outcome.kind !== "committed") return { kind: "fenced" };
  // The activation has moved on: the place belongs to whoever came after.
  if (signal.aborted) return { kind: "committed" };
  runtime.board.place = { seat, generation, thread, isClassic };
  if (thread !== null) runtime.board.lastThread = thread;
  runtime.onWayChanged.fire();
  if (thread !== null && isNews(origin)) announceThread(runtime, thread, epoch);
  return { kind: "committed" };
}

/** Between looks at the bot while nothing is wrong with it, in milliseconds (threads §6.4). */
const healthMs = 60_000;

const capabilityIn = (runtime: Runtime, topics: Topics, note: ReturnType<typeof createPollingNotes>) => ({
  id: `${runtime.settings.me}/capability`,
  chart: () => bare(provideCapability(runtime, topics)),
  input: () => ({ capabilityMs: runtime.settings.capabilityMs, healthMs }),
  onFact: (fact: CapabilityFact) => {
    if (!topics.onFact(fact)) return;
    runtime.ports.stage.log.event("warn", "topics-mode", { topics: fact.verdict });
    note(topics.areOff ? healthOf.topicsOff : healthOf.ok);
  },
});

const reconciliationIn = (runtime: Runtime, epoch: Epoch, side: ReconciliationSide) => ({
  id: `${runtime.settings.me}/reconciliation`,
  chart: () => bare(provideReconciliation(runtime, epoch, side)),
  input: () => ({ epoch }),
  onFact: (fact: ReconciliationFact) => {
    if (fact.type === "reconciliation.acted")
      runtime.ports.stage.log.event("info", fact.type, { ...fact.action, outcome: fact.outcome });
  },
});

/** The activation chart for one grant, its slots filled with a leader's side of its own. */
export function provideActivation(
  runtime: Runtime,
  { epoch }: ActivationStart,
  { inbox, isSecret }: { readonly inbox: Inbox; readonly isSecret: SecretCheck },
) {
  const { stage, transport } = runtime.ports;
  const links = new FollowerLinks(transport);
  const seatsChanged = createSignal<SeatKey>();
  const seats = new Seats(runtime, { epoch, links }, (seat) => {
    seatsChanged.fire(seat);
  });
  const admitted = createSignal();
  const side = { seats, links, inbox };
  const heldSeats = (): ReadonlySet<SeatKey> => {
    const own = runtime.board.place;
    return new Set([...seats.held(), ...(own === null ? [] : [own.seat])]);
  };
  const agents = new AgentDesk(runtime, { seats, epoch }, admitted);
  const handler = new LeaderHandler(runtime, { seats, links, agents }, isSecret);
  const note = createPollingNotes(runtime, epoch);

  const topics = new Topics(stage.clock);
  const health = new LeaderHealth(runtime, { note, topics });

  runtime.board.agents = agents;
  runtime.board.topics = topics;
  const machine = activationMachine.provide({
    actors: {
      identify: fromPromise<IdentifyAnswer>(async () => {
        const answer = await identify(runtime);
        health.onIdentified(answer);
        return answer;
      }),
      renewToken: provideTokenRenewal(runtime),
      watchToken: provideTokenWatch(runtime),
      provisioning: provideProvisioning(runtime),
      seatOwn: fromPromise<SeatOwnAnswer, SeatOwnInput>((start) => seatOwn(runtime, start)),
      endpoint: provideEndpoint(runtime, {
        prepare: () => seats.adopt(),
        handle: (request, from) => handler.handle(request, from),
      }),
      ownThread: provideOwnThread(runtime),
      audience: provideAudienceWatch(runtime, () => note(healthOf.unpaired)),
      reconciliation: hostChart(stage, reconciliationIn(runtime, epoch, { heldSeats, changed: seatsChanged })),
      capability: hostChart(stage, capabilityIn(runtime, topics, note)),
      dispatcher: provideDispatcher(runtime, side, { seatsChanged, admitted }),
      poller: hostChart(stage, {
        id: `${runtime.settings.me}/poller`,
        chart: () => bare(providePolling(runtime)),
        input: () => ({ epoch, pollSeconds: runtime.settings.pollSeconds }),
        onFact: (fact: PollingFact) => {
          health.onPolling(fact);
        },
      }),
    },
  });

  return {
    machine,
    /** The leadership is over: its seats are gone and our place with it. */
    dispose() {
      seats.stop();
      runtime.board.place = null;
      if (runtime.board.agents === agents) runtime.board.agents = null;
      if (runtime.board.topics === topics) runtime.board.topics = null;
      runtime.onWayChanged.fire();
    },
  };
}
