/**
 * What one instance does as leader and as follower, seen from outside: its endpoints, the requests that it has under way.
 *
 * Owns: the watching, the two sides as the view has them. Does not own: judging them (`machines/invariants/`), the charts.
 * Invariant: watching changes nothing.
 */
import type { Generation } from "../../machines/ids.ts";
import type { EndpointView, FollowerSideView, HeartbeatEndView, LeaderSideView } from "../../machines/invariants.ts";
import type { RequestEnvelope } from "../../machines/wire/envelopes.ts";
import type { Endpoint, RequestOutcome } from "../../services/ports.ts";
import type { ExchangeWatch, Server } from "./bus-exchanges.ts";

interface WatchedEndpoint {
  readonly wasEarly: boolean;
  isOpen: boolean;
  closes: number;
}

export interface Sides {
  readonly onRequest: (request: RequestEnvelope, outcome: Promise<RequestOutcome>) => void;
  readonly onListen: (endpoint: Endpoint) => Endpoint;
  readonly leader: (polls: number) => LeaderSideView;
  readonly follower: (registered: Registered) => FollowerSideView;
  /** Heartbeats that have ended since the last look. To be looked at before anything else comes to the instance. */
  readonly heartbeatEnds: () => readonly HeartbeatEndView[];
}

type Registered = Omit<NonNullable<FollowerSideView["registered"]>, "isAcknowledged"> | null;

export interface SidesTraits {
  readonly server: Server;
  readonly exchanges: ExchangeWatch;
  readonly leaderAddress: string;
  /** Whether all is there that must be there before the leader's endpoint. */
  readonly isReady: () => boolean;
  /** All that a heartbeat may change. */
  readonly standing: () => string;
}

/** Requests under way, by what they are and by their generation. */
function createInFlight() {
  const open = new Map<string, number>();
  const add = (key: string, by: number) => {
    const count = (open.get(key) ?? 0) + by;
    if (count === 0) open.delete(key);
    else open.set(key, count);
  };
  return {
    note(key: string, outcome: Promise<RequestOutcome>) {
      add(key, 1);
      const end = () => add(key, -1);
      outcome.then(end, end);
    },
    most: (prefix: string) =>
      Math.max(0, ...[...open].flatMap(([key, count]) => (key.startsWith(prefix) ? [count] : []))),
  };
}

/** Heartbeats as they end, with what stood just before whoever sent them hears of it. */
function createHeartbeatEnds({ server, standing }: SidesTraits) {
  let ends: Omit<HeartbeatEndView, "after">[] = [];
  return {
    note(generation: Generation | undefined, outcome: Promise<RequestOutcome>) {
      if (generation === undefined) return;
      const end = () => {
        const current = server.membership()?.generation ?? null;
        ends.push({ by: server.id, generation, current, before: standing() });
      };
      outcome.then(end, end);
    },
    take(): readonly HeartbeatEndView[] {
      if (ends.length === 0) return [];
      const after = standing();
      const taken = ends.map((each) => ({ ...each, after }));
      ends = [];
      return taken;
    },
  };
}

export function createSides(traits: SidesTraits): Sides {
  const { server, exchanges, leaderAddress, isReady } = traits;
  const inFlight = createInFlight();
  const heartbeats = createHeartbeatEnds(traits);
  let endpoints: WatchedEndpoint[] = [];
  const entries = (): LeaderSideView["entries"] =>
    server.seats.seats().flatMap(({ seat, sitter, isLive }) => {
      if (!isLive || sitter === null) return [];
      const { instanceId, generation, thread } = sitter;
      const lastAcknowledged = exchanges.lastAcknowledgedBy(server.id, instanceId);
      return [{ seat, instanceId, generation, threadId: thread.target.threadId, lastAcknowledged }];
    });
  const looked = (): readonly EndpointView[] => {
    const seen = endpoints.map(({ wasEarly, isOpen, closes }) => ({ wasEarly, isOpen, closes }));
    // What is closed is shown once.
    endpoints = endpoints.filter((each) => each.isOpen);
    return seen;
  };
  return {
    onRequest(request, outcome) {
      exchanges.noteSend(request, server);
      if (request.kind === "follower.heartbeat") {
        inFlight.note(`heartbeat ${generationText(request.registrationGeneration)}`, outcome);
        heartbeats.note(request.registrationGeneration, outcome);
      } else if (request.kind === "follower.register") inFlight.note("registration", outcome);
    },
    onListen(endpoint) {
      if (endpoint.address !== leaderAddress) return endpoint;
      // One that comes when its leadership is over is closed at once, and is no question of too early.
      const wasEarly = server.leadsUnder() !== null && !isReady();
      const watched: WatchedEndpoint = { wasEarly, isOpen: true, closes: 0 };
      endpoints.push(watched);
      return {
        ...endpoint,
        close() {
          watched.closes += 1;
          watched.isOpen = false;
          return endpoint.close();
        },
      };
    },
    heartbeatEnds: () => heartbeats.take(),
    leader: (polls) => ({
      id: server.id,
      leadsUnder: server.leadsUnder(),
      polls,
      endpoints: looked(),
      seatCharts: server.seats.seats().length,
      entries: entries(),
    }),
    follower: (registered) => ({
      id: server.id,
      registered:
        registered === null
          ? null
          : { ...registered, isAcknowledged: exchanges.isAcknowledged(server.id, registered.generation) },
      heartbeatsInFlight: inFlight.most("heartbeat"),
      registrationsInFlight: inFlight.most("registration"),
    }),
  };
}

const generationText = (generation: Generation | undefined): string => generation ?? "";
