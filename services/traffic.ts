/**
 * What crosses an instance's border, told to whoever watches: frames of the bus, Bot API calls, writes to the journal.
 *
 * Owns: wrapping the ports. Does not own: who watches and what is shown of it.
 *
 * A wrapped port behaves exactly as the port does: same results, same errors, same order. A watcher must not throw.
 * Stores and transports are plain objects of functions: what is not watched is passed on as it is.
 * Nothing of a payload is told but ids, names and outcomes.
 */
import type { RequestEnvelope } from "../machines/wire/envelopes.ts";
import type {
  CallOutcome,
  JournalStore,
  Link,
  RequestHandler,
  Store,
  TelegramApi,
  Transport,
  WorkStore,
} from "./ports.ts";
import type { Ports } from "./runtime.ts";

export interface Crossing {
  readonly way: "out" | "in" | "telegram" | "journal" | "host";
  readonly name: string;
  /** The same for begin and end of one crossing. */
  readonly id: string;
  readonly phase: "begin" | "end";
  readonly peer?: string;
  readonly outcome?: string;
  readonly updates?: readonly number[];
  readonly seat?: string;
  readonly thread?: number;
  readonly generation?: string;
}

export interface Traffic {
  readonly see: (crossing: Crossing) => void;
}

type About = Omit<Crossing, "way" | "id" | "phase" | "outcome">;

class Border {
  readonly #traffic: Traffic;
  #count = 0;

  constructor(traffic: Traffic) {
    this.#traffic = traffic;
  }

  /** Runs the work and tells of its begin and end. */
  async cross<Result>(
    crossing: { readonly way: Crossing["way"]; readonly about: About; readonly id?: string },
    work: () => Promise<Result>,
    told: (result: Result) => Partial<About> & { readonly outcome: string },
  ): Promise<Result> {
    this.#count += 1;
    const head = { way: crossing.way, id: crossing.id ?? String(this.#count), ...crossing.about };
    this.#traffic.see({ ...head, phase: "begin" });
    try {
      const result = await work();
      this.#traffic.see({ ...head, phase: "end", ...told(result) });
      return result;
    } catch (error) {
      this.#traffic.see({ ...head, phase: "end", outcome: `failed: ${String(error)}` });
      throw error;
    }
  }
}

function aboutRequest(envelope: RequestEnvelope): About {
  const update = "delivery" in envelope ? { updates: [envelope.delivery.sourceUpdateId] } : {};
  const seat = "delivery" in envelope ? { seat: envelope.delivery.recipientBindingKey } : {};
  const generation = "registrationGeneration" in envelope ? { generation: envelope.registrationGeneration } : {};
  const method = envelope.kind === "follower.callApi" ? ` ${envelope.method}` : "";
  return { name: `${envelope.kind}${method}`, ...update, ...seat, ...generation };
}

const recipientOf = (envelope: RequestEnvelope): string =>
  "recipientInstanceId" in envelope && envelope.kind.startsWith("leader.") ? envelope.recipientInstanceId : "leader";

function senderOf(envelope: RequestEnvelope): string {
  if (envelope.kind === "follower.register") return envelope.registration.instanceId;
  return "instanceId" in envelope ? envelope.instanceId : "leader";
}

const ackOutcome = (ack: { readonly ok: boolean; readonly message?: string }): string =>
  ack.ok ? "ok" : `refused: ${ack.message ?? "no reason"}`;

function watchTransport(border: Border, transport: Transport): Transport {
  const serve =
    (handle: RequestHandler): RequestHandler =>
    (envelope, from) =>
      // An answer that nobody asked for is the handler's to refuse; it is no request to tell of.
      envelope.kind === "bus.ack"
        ? handle(envelope, from)
        : border.cross(
            { way: "in", id: envelope.requestId, about: { ...aboutRequest(envelope), peer: senderOf(envelope) } },
            () => handle(envelope, from),
            (ack) => ({ outcome: ackOutcome(ack) }),
          );
  const watchLink = (link: Link): Link => ({
    closed: link.closed,
    close: () => {
      link.close();
    },
    // A link may be an object of a class: it is not spread.
    request: (envelope, timeoutMs) =>
      border.cross(
        { way: "out", id: envelope.requestId, about: { ...aboutRequest(envelope), peer: recipientOf(envelope) } },
        () => link.request(envelope, timeoutMs),
        (outcome) => ({
          outcome: outcome.kind === "answered" ? ackOutcome(outcome.ack) : `${outcome.kind}: ${outcome.reason}`,
        }),
      ),
  });
  return {
    ...transport,
    listen: (request) => transport.listen({ ...request, handle: serve(request.handle) }),
    dial: async (address, timeoutMs) => watchLink(await transport.dial(address, timeoutMs)),
  };
}

const numberIn = (value: unknown, key: string): number | null => {
  const found: unknown = typeof value === "object" && value !== null ? Reflect.get(value, key) : null;
  return typeof found === "number" ? found : null;
};

function callOutcome(outcome: CallOutcome): string {
  switch (outcome.kind) {
    case "ok":
      return "ok";
    case "rejected":
    case "throttled":
      return `${outcome.kind}: ${outcome.error.description}`;
    case "notSent":
    case "ambiguous":
      return `${outcome.kind}: ${outcome.reason}`;
  }
}

function updateIdsIn(outcome: CallOutcome): { readonly updates?: readonly number[] } {
  if (outcome.kind !== "ok" || !Array.isArray(outcome.result)) return {};
  const updates = outcome.result.flatMap((update: unknown) => numberIn(update, "update_id") ?? []);
  return updates.length === 0 ? {} : { updates };
}

const watchTelegram = (border: Border, telegram: TelegramApi): TelegramApi => ({
  ...telegram,
  call(method, payload, limits) {
    const thread = numberIn(payload, "message_thread_id");
    const about = { name: method, ...(thread === null ? {} : { thread }) };
    return border.cross(
      { way: "telegram", about },
      () => telegram.call(method, payload, limits),
      (outcome) => ({ outcome: callOutcome(outcome), ...(method === "getUpdates" ? updateIdsIn(outcome) : {}) }),
    );
  },
});

/** Entries by their number in the journal: later steps name only that. */
class KnownEntries {
  readonly #updates = new Map<number, number>();

  note(seq: number, update: number): void {
    this.#updates.set(seq, update);
    const [oldest] = this.#updates.keys();
    if (this.#updates.size > 10_000 && oldest !== undefined) this.#updates.delete(oldest);
  }

  aboutSeq(seq: number): { readonly updates?: readonly number[] } {
    const update = this.#updates.get(seq);
    return update === undefined ? {} : { updates: [update] };
  }
}

function watchJournal(border: Border, journal: JournalStore, known: KnownEntries): JournalStore {
  const ending = <Request extends { readonly seq: number; readonly reason: string }, Result extends { kind: string }>(
    name: string,
    request: Request,
    work: (request: Request) => Promise<Result>,
  ): Promise<Result> =>
    border.cross(
      { way: "journal", about: { name, ...known.aboutSeq(request.seq) } },
      () => work(request),
      ({ kind }) => ({ outcome: `${kind}: ${request.reason}` }),
    );
  return {
    ...journal,
    heads: async (request) => {
      const entries = await journal.heads(request);
      for (const { seq, updateId } of entries) known.note(seq, updateId);
      return entries;
    },
    // An empty poll admits nothing; only its cursor is written.
    admit: (request) =>
      request.updates.length === 0
        ? journal.admit(request)
        : border.cross(
            { way: "journal", about: { name: "admit", updates: request.updates.map((each) => each.updateId) } },
            () => journal.admit(request),
            (outcome) => ({ outcome: outcome.kind === "admitted" ? "ok" : outcome.kind }),
          ),
    drop: (request) => ending("drop", request, (each) => journal.drop(each)),
    deadLetter: (request) => ending("dead letter", request, (each) => journal.deadLetter(each)),
  };
}

const watchWork = (border: Border, work: WorkStore, known: KnownEntries): WorkStore => ({
  ...work,
  claim: (request) =>
    border.cross(
      { way: "journal", about: { name: "claim", updates: [request.updateId], seat: request.claimant.seat } },
      () => work.claim(request),
      (outcome) => {
        if ("entry" in outcome) known.note(outcome.entry.seq, request.updateId);
        return { outcome: outcome.kind === "claimed" ? "ok" : outcome.kind };
      },
    ),
  settle: (request) =>
    border.cross(
      { way: "journal", about: { name: "settle", ...known.aboutSeq(request.seq) } },
      () => work.settle(request),
      ({ kind }) => ({ outcome: kind === "settled" ? "ok" : kind }),
    ),
  fail: (request) =>
    border.cross(
      { way: "journal", about: { name: "return", ...known.aboutSeq(request.seq) } },
      () => work.fail(request),
      ({ kind }) => ({ outcome: `${kind}: ${request.reason}` }),
    ),
});

/** Which update it is; nothing for what is none. */
export function updatesIn(update: unknown): { readonly updates?: readonly number[] } {
  const id = numberIn(update, "update_id");
  return id === null ? {} : { updates: [id] };
}

/** The same ports, with what crosses them told. */
export function watchPorts<Given extends Pick<Ports, "store" | "transport" | "telegram">>(
  ports: Given,
  traffic: Traffic,
): Given {
  const border = new Border(traffic);
  const known = new KnownEntries();
  const store: Store = {
    ...ports.store,
    journal: watchJournal(border, ports.store.journal, known),
    work: watchWork(border, ports.store.work, known),
  };
  return {
    ...ports,
    store,
    transport: watchTransport(border, ports.transport),
    telegram: watchTelegram(border, ports.telegram),
  };
}
