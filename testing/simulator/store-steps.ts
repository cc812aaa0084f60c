/**
 * Every write of the store, with the tables just before and just after: ghost history, kept inside the store.
 *
 * Owns: watching the operations that may change a table, and reading the tables. The lease's row is watched by `ghost.ts`.
 * Does not own: judging it (`machines/invariants/`).
 * Invariant: an operation of the store in memory is carried out at the call, so nothing comes between before and after.
 */
import type { MemoryDatabase } from "../../adapters/store/memory/index.ts";
import type { OfferState, OpenEntry } from "../../adapters/store/memory/database.ts";
import type {
  AcquisitionId,
  Epoch,
  InstanceId,
  JournalSeq,
  SeatKey,
  ThreadTarget,
  UpdateId,
} from "../../machines/ids.ts";
import type {
  ClaimView,
  EntryView,
  OfferView,
  RegistrationView,
  StoreStepView,
  TablesView,
} from "../../machines/invariants.ts";
import type { SeatRegistration, Store } from "../../services/ports.ts";

/** Operations that may change a table that the view shows. */
const writes = {
  seats: ["claim", "release", "disown"],
  registrations: ["commit", "end"],
  threads: ["noteCreated", "mark", "lose", "addLeftover", "intend", "bind", "giveUp"],
  cleanups: ["intend", "begin", "postpone", "confirm", "cancel", "unbind", "observe"],
  journal: ["admit", "drop", "deadLetter"],
  work: ["claim", "adopt", "settle", "fail"],
  queue: ["settleAll", "sweep"],
  offers: ["offer", "accept", "cancel", "giveBack", "wish"],
} as const satisfies { readonly [Table in keyof Store]?: readonly (keyof Store[Table])[] };

export interface StoreSteps {
  readonly watch: (inner: Store) => Store;
  readonly tables: () => TablesView;
  /** Writes so far. */
  readonly count: () => number;
  /** Writes since the last look. */
  readonly take: () => readonly StoreStepView[];
}

export interface StoreTruth {
  readonly database: MemoryDatabase;
  readonly isAlive: (id: InstanceId) => boolean;
  /** Hears of each write when its answer is known. */
  readonly onStep: (step: StoreStepView) => void;
}

/** One view for each value: the store replaces what it changes. */
function remembering<Value extends object, View>(make: (value: Value) => View): (value: Value) => View {
  const made = new WeakMap<Value, View>();
  return (value) => {
    const known = made.get(value);
    if (known !== undefined) return known;
    const view = make(value);
    made.set(value, view);
    return view;
  };
}

const entryView = remembering(({ entry, key, claim, offer }: OpenEntry): EntryView => {
  const { seq, updateId, lane, attempts, nextAttemptAtMs } = entry;
  return { seq, updateId, key, lane, attempts, nextAttemptAtMs, claim, offer };
});
const registrationView = remembering(
  ({ seat, instanceId, generation, thread, ended }: SeatRegistration & { ended: string | null }): RegistrationView => {
    return { seat, instanceId, generation, target: thread?.target ?? null, ended };
  },
);
const offerView = remembering(({ id, donor, recipient, seqs, status }: OfferState): OfferView => {
  return { id, donor, recipient, seqs, isOpen: status === "open" };
});

const mapped = <Key, Value, View>(
  map: ReadonlyMap<Key, Value>,
  view: (value: Value) => View,
): ReadonlyMap<Key, View> => {
  const views = new Map<Key, View>();
  for (const [key, value] of map) views.set(key, view(value));
  return views;
};

export const tablesOf = (database: MemoryDatabase): TablesView => ({
  cursor: database.cursor,
  entries: mapped(database.updates, entryView),
  deadLetters: new Set(database.deadLetters.keys()),
  offers: mapped(database.offers, offerView),
  seatClaims: new Map(database.seatClaims),
  registrations: mapped(database.registrations, registrationView),
  bindings: [...database.bindings.values()],
  provisions: [...database.provisions.values()].map((begun) => ({
    ...begun,
    threadId: database.createdThreads.get(begun.id)?.threadId ?? null,
  })),
  cleanups: [...database.cleanups.values()],
  leftovers: [...database.leftovers.values()],
  observations: [...database.observations.values()],
});

/** Requests of the store call the same thing by the same name; what one does not have is absent. */
interface AnyRequest {
  readonly epoch?: Epoch;
  readonly seq?: JournalSeq | null;
  readonly acquisition?: AcquisitionId;
  readonly entries?: readonly { readonly seq: JournalSeq; readonly acquisition: AcquisitionId }[];
  readonly claimant?: ClaimView;
  readonly seat?: SeatKey;
  readonly registration?: SeatRegistration;
  readonly binding?: { readonly seat: SeatKey; readonly thread: { readonly target: ThreadTarget } };
  readonly target?: ThreadTarget;
  readonly atMs?: number;
  readonly nowMs?: number;
  readonly updates?: readonly { readonly updateId: UpdateId }[];
  readonly cursor?: UpdateId | null;
}

type Described = Omit<StoreStepView, "op" | "kind" | "before" | "after" | "holderLives">;

function described(request: AnyRequest): Described {
  const { epoch, seq, acquisition, entries, claimant, registration, binding, updates } = request;
  const named = seq === undefined || seq === null ? [] : [{ seq, acquisition: acquisition ?? null }];
  return {
    epoch: epoch ?? null,
    entries: entries ?? named,
    claimant: claimant ?? null,
    seat: request.seat ?? registration?.seat ?? binding?.seat ?? claimant?.seat ?? null,
    target: request.target ?? registration?.thread?.target ?? binding?.thread.target ?? null,
    atMs: request.nowMs ?? request.atMs ?? null,
    admission:
      updates === undefined ? null : { ids: updates.map((each) => each.updateId), cursor: request.cursor ?? null },
  };
}

const kindOf = (answer: unknown): string =>
  typeof answer === "object" && answer !== null && "kind" in answer ? String(answer.kind) : "done";

type Operation = (request: AnyRequest) => Promise<unknown>;

export function createStoreSteps({ database, isAlive, onStep }: StoreTruth): StoreSteps {
  let latest = tablesOf(database);
  let steps: StoreStepView[] = [];
  let count = 0;
  const watched =
    (op: string, perform: Operation): Operation =>
    async (request) => {
      const before = latest;
      const { seat, ...rest } = described(request);
      const holder = seat === null ? undefined : database.seatClaims.get(seat);
      const holderLives = holder === undefined ? null : isAlive(holder.instanceId);
      const answering = perform(request);
      const after = tablesOf(database);
      latest = after;
      count += 1;
      const answer = await answering;
      const step = { op, kind: kindOf(answer), seat, ...rest, holderLives, before, after };
      steps.push(step);
      onStep(step);
      return answer;
    };
  const watchTable = (name: keyof typeof writes, table: object): object => {
    const changed: Record<string, Operation> = {};
    for (const operation of writes[name]) {
      // Every operation of a port takes one request and answers with a promise.
      const perform = Reflect.get(table, operation) as Operation;
      changed[operation] = watched(`${name}.${operation}`, (request) => perform.call(table, request));
    }
    return { ...table, ...changed };
  };
  return {
    watch(inner) {
      const tables = Object.keys(writes).map((name) => {
        // The keys of `writes` are tables of the store.
        const table = name as keyof typeof writes;
        return [table, watchTable(table, inner[table])];
      });
      // Each table has its operations as before, with a watch around some.
      return { ...inner, ...(Object.fromEntries(tables) as Pick<Store, keyof typeof writes>) };
    },
    tables: () => latest,
    count: () => count,
    take() {
      const taken = steps;
      steps = [];
      return taken;
    },
  };
}
