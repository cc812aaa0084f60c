/**
 * Every request that an endpoint was given, and what it answered: ghost history, kept outside all processes.
 *
 * Owns: standing between the wire and whoever serves, and noting what was true when asked and when answered.
 * Does not own: judging it (`machines/invariants/registration.ts`, `delivery.ts`), the effects of old generations
 * (`registration-ghost.ts`).
 * Invariant: watching changes nothing.
 */
import { createHash } from "node:crypto";
import type { MemoryDatabase } from "../../adapters/store/memory/index.ts";
import {
  updateId,
  type Epoch,
  type Generation,
  type InstanceId,
  type JournalSeq,
  type SeatKey,
} from "../../machines/ids.ts";
import type { ExchangeView, FarewellView, ForwardView, RegisterView, SendView } from "../../machines/invariants.ts";
import type { Sitter } from "../../machines/registration.machine.ts";
import { updateOfForward } from "../../machines/forward.rules.ts";
import { deliveryIdPrefix, incompatibilityOf, type ProtocolIdentity } from "../../machines/wire/constants.ts";
import {
  deliveryIdText,
  type Ack,
  type AnyForwardRequest,
  type DisconnectRequest,
  type Envelope,
  type RegisterRequest,
} from "../../machines/wire/envelopes.ts";
import type { RequestHandler } from "../../services/ports.ts";
import type { SeatsPeephole } from "./peepholes.ts";

/** What is true of one instance at this moment. */
export interface Server {
  readonly id: InstanceId;
  readonly identity: ProtocolIdentity;
  /** The secret that its leader endpoint expects. */
  readonly secret: () => string;
  readonly leadsUnder: () => Epoch | null;
  readonly seats: SeatsPeephole;
  /** Its registration with the leader that acknowledged it, and the secret that its own endpoint expects since. */
  readonly membership: () => { readonly generation: Generation; readonly secret: string } | null;
  readonly seat: () => SeatKey | null;
}

export interface ExchangeWatch {
  /** Watches one endpoint of one process: the leader's, or its own as follower. */
  readonly serve: (inner: RequestHandler, server: Server, endpoint: ExchangeView["endpoint"]) => RequestHandler;
  /** A forward leaves its leader. */
  readonly noteSend: (request: Envelope, by: Server) => void;
  /** A registration was taken by the store under an epoch. */
  readonly noteCommit: (
    who: { readonly instanceId: InstanceId; readonly generation: Generation },
    under: Epoch,
  ) => void;
  /** The store gave an update to an instance. */
  readonly noteClaim: (who: InstanceId, seq: JournalSeq) => void;
  /** Some leader said yes to this attempt. */
  readonly isAcknowledged: (instance: InstanceId, generation: Generation) => boolean;
  readonly lastAcknowledgedBy: (leader: InstanceId, instance: InstanceId) => Generation | null;
  readonly take: () => Exchanges;
}

export interface Exchanges {
  readonly exchanges: readonly ExchangeView[];
  readonly registers: readonly RegisterView[];
  readonly farewells: readonly FarewellView[];
  readonly forwards: readonly ForwardView[];
  readonly sends: readonly SendView[];
}

interface World {
  readonly database: MemoryDatabase;
  /** Writes of the store so far. */
  readonly writes: () => number;
  /** Steps of the world so far. */
  readonly steps: () => number;
  readonly isThreadGone: (threadId: number) => boolean;
}

const isForward = (request: Envelope): request is AnyForwardRequest => request.kind.startsWith("leader.forward");
const pair = (instance: InstanceId, generation: Generation): string => `${instance} ${generation}`;
const claimed = (instance: InstanceId, seq: JournalSeq): string => `${instance} ${seq}`;
const senderOf = (request: Envelope): InstanceId | null => {
  if (request.kind === "follower.register") return request.registration.instanceId;
  return "instanceId" in request ? request.instanceId : null;
};

export class ExchangeNotes implements ExchangeWatch {
  readonly #world: World;
  readonly #committed = new Map<string, Epoch>();
  /** Who was given what → the store's writes by then. */
  readonly #claimed = new Map<string, number>();
  readonly #acknowledged = new Set<string>();
  readonly #lastAcknowledged = new Map<string, Generation>();
  /** Requests of registration that brought a generation. */
  readonly #attempts = new Map<string, Set<string>>();
  #taken = emptyNotes();

  constructor(world: World) {
    this.#world = world;
  }

  noteCommit: ExchangeWatch["noteCommit"] = ({ instanceId, generation }, under) => {
    this.#committed.set(pair(instanceId, generation), under);
  };

  noteClaim: ExchangeWatch["noteClaim"] = (who, seq) => {
    this.#claimed.set(claimed(who, seq), this.#world.writes());
  };

  isAcknowledged: ExchangeWatch["isAcknowledged"] = (instance, generation) =>
    this.#acknowledged.has(pair(instance, generation));

  lastAcknowledgedBy: ExchangeWatch["lastAcknowledgedBy"] = (leader, instance) =>
    this.#lastAcknowledged.get(`${leader} ${instance}`) ?? null;

  noteSend: ExchangeWatch["noteSend"] = (request, by) => {
    if (!isForward(request)) return;
    const { recipientInstanceId: to, recipientRegistrationGeneration: generation } = request;
    this.#taken.sends.push({ by: by.id, to, generation, wasLive: by.seats.wasLive(to, generation) });
  };

  take: ExchangeWatch["take"] = () => {
    const taken = this.#taken;
    this.#taken = emptyNotes();
    return taken;
  };

  serve: ExchangeWatch["serve"] = (inner, server, endpoint) => {
    const executions = new Map<string, number>();
    const openedUnder = server.leadsUnder();
    return async (request, from) => {
      const key = JSON.stringify([request.auth, senderOf(request), request.requestId]);
      executions.set(key, (executions.get(key) ?? 0) + 1);
      const before = this.#look(request, server, endpoint);
      const ack = await inner(request, from);
      this.#note({ request, ack, server, endpoint, before, executions: executions.get(key) ?? 0 });
      if (request.kind === "follower.register") this.#noteRegister(request, ack, server, openedUnder);
      if (request.kind === "follower.disconnect") this.#noteFarewell(request, ack, before.sitter);
      if (isForward(request)) this.#noteForward(request, ack, server, before);
      return ack;
    };
  };

  #look(request: Envelope, server: Server, endpoint: ExchangeView["endpoint"]): Moment {
    const { steps, writes } = this.#world;
    const sender = senderOf(request);
    const membership = server.membership();
    const expected = endpoint === "leader" ? server.secret() : (membership?.secret ?? null);
    return {
      step: steps(),
      writes: writes(),
      registry: registryText(server),
      sitter: sender === null ? null : server.seats.sitterOf(sender),
      isAuthentic: expected === null ? null : request.auth === expected,
      generation: membership?.generation ?? null,
      seat: server.seat(),
    };
  }

  #note({ request, ack, server, endpoint, before, executions }: Served): void {
    const { steps, writes } = this.#world;
    const from = senderOf(request);
    const isSameStep = before.step === steps();
    const changed = writes() - before.writes + Number(registryText(server) !== before.registry);
    const isAtLeader = endpoint === "leader";
    const after = from === null ? null : server.seats.sitterOf(from);
    this.#taken.exchanges.push({
      at: server.id,
      endpoint,
      kind: request.kind,
      executions,
      isAuthentic: before.isAuthentic,
      ok: ack.ok,
      from,
      presented: presentedIn(request),
      known: isAtLeader ? (before.sitter?.generation ?? null) : before.generation,
      knownAfter: isAtLeader ? (after?.generation ?? null) : (server.membership()?.generation ?? null),
      // What others did meanwhile is not this request's doing.
      effects: isSameStep ? changed : 0,
    });
  }

  #noteRegister({ registration, requestId }: RegisterRequest, ack: Ack, server: Server, epoch: Epoch | null): void {
    const { instanceId, registrationGeneration: generation = null } = registration;
    if (epoch === null) throw new Error(`${server.id} serves as leader and leads under no epoch`);
    if (generation === null) return;
    const attempt = pair(instanceId, generation);
    const requests = this.#attempts.get(attempt) ?? new Set();
    this.#attempts.set(attempt, requests.add(requestId));
    if (ack.ok) {
      this.#acknowledged.add(attempt);
      this.#lastAcknowledged.set(`${server.id} ${instanceId}`, generation);
    }
    this.#taken.registers.push({
      at: server.id,
      ok: ack.ok,
      generation,
      isCompatible: incompatibilityOf(server.identity, registration.protocol) === null,
      attempts: requests.size,
      epoch,
      committedUnder: this.#committed.get(attempt) ?? null,
      isHeld: server.seats.seats().some(({ isLive, sitter }) => isLive && sitter?.generation === generation),
    });
  }

  #noteFarewell(_request: DisconnectRequest, { ok }: Ack, sitter: Sitter | null): void {
    const { cleanups } = this.#world.database;
    const target = sitter?.thread.target ?? null;
    const isInstructed = target !== null && cleanups.has(`${target.chatId}:${target.threadId}`);
    const isCleaned = target === null || (this.#world.isThreadGone(target.threadId) && !isInstructed);
    this.#taken.farewells.push({ ok, isCleaned });
  }

  #noteForward(request: AnyForwardRequest, ack: Ack, server: Server, before: Moment): void {
    const { delivery, journal } = request;
    const { deliveryId, sourceUpdateId, recipientBindingKey } = delivery;
    const text = deliveryIdText(request.kind, recipientBindingKey, sourceUpdateId);
    const { updates } = this.#world.database;
    const open = journal === undefined ? undefined : updates.get(journal.seq);
    const isHeld = open?.claim?.instanceId === server.id;
    // While it was asked: whoever gives its seat up gives back at once what it was given, and its answer may come after that.
    const wasGiven =
      journal !== undefined && (this.#claimed.get(claimed(server.id, journal.seq)) ?? -1) >= before.writes;
    this.#taken.forwards.push({
      to: server.id,
      ok: ack.ok,
      generation: request.recipientRegistrationGeneration,
      ownGeneration: before.generation,
      bindingKey: recipientBindingKey,
      ownSeat: before.seat,
      recipient: request.recipientInstanceId,
      deliveryId,
      expectedDeliveryId: deliveryIdPrefix + createHash("sha256").update(text, "utf8").digest("hex"),
      sourceUpdateId,
      isCarrierRight: updateOfForward(request)["update_id"] === sourceUpdateId,
      isDurable: journal !== undefined && (open === undefined || isHeld || wasGiven),
      receipt: receiptIn(ack),
    });
  }
}

interface Moment {
  readonly step: number;
  readonly writes: number;
  readonly registry: string;
  readonly sitter: Sitter | null;
  readonly isAuthentic: boolean | null;
  readonly generation: Generation | null;
  readonly seat: SeatKey | null;
}

interface Served {
  readonly request: Envelope;
  readonly ack: Ack;
  readonly server: Server;
  readonly endpoint: ExchangeView["endpoint"];
  readonly before: Moment;
  readonly executions: number;
}

const emptyNotes = (): {
  exchanges: ExchangeView[];
  registers: RegisterView[];
  farewells: FarewellView[];
  forwards: ForwardView[];
  sends: SendView[];
} => ({ exchanges: [], registers: [], farewells: [], forwards: [], sends: [] });

const registryText = ({ seats }: Server): string =>
  seats
    .seats()
    .map(({ seat, sitter, isLive }) => `${seat} ${sitter?.generation ?? ""} ${isLive}`)
    .join();

function presentedIn(request: Envelope): Generation | null {
  if (request.kind === "follower.register") return request.registration.registrationGeneration ?? null;
  if ("registrationGeneration" in request) return request.registrationGeneration ?? null;
  return "recipientRegistrationGeneration" in request ? (request.recipientRegistrationGeneration ?? null) : null;
}

function receiptIn({ ok, result }: Ack): ForwardView["receipt"] {
  if (!ok || typeof result !== "object" || result === null) return null;
  if (!("deliveryId" in result) || !("sourceUpdateId" in result)) return null;
  return { deliveryId: String(result.deliveryId), sourceUpdateId: updateId(Number(result.sourceUpdateId)) };
}
