/**
 * Plays one real chart, step by step, without an actor.
 *
 * Owns: stepping a chart with its own pure transition, and a readable view of what it asks for: open requests, running
 * timers, facts, commands. Every transition taken is recorded for the coverage gate.
 * Does not own: what fills the slots: a test answers or fails each request itself.
 *
 * Nothing runs: no child starts, no time passes. A request or a timer of a state that has been left is gone, and answering
 * it is an error of the test, as it would be dropped by XState.
 */
import { createActor } from "xstate";
import type {
  AnyActorLogic,
  AnyActorScope,
  AnyEventObject,
  AnyMachineSnapshot,
  AnyStateMachine,
  ContextFrom,
  EmittedFrom,
  EventFromLogic,
  InputFrom,
  OutputFrom,
  StateMachine,
} from "xstate";
import { recordTaken } from "./coverage.ts";
import { eventName, timerOf, transitionName } from "./naming.ts";
import { brief } from "./trace.ts";

/** The slots a machine declares: the names that can be answered, each with its logic. */
type SlotOf<Machine> =
  Machine extends StateMachine<
    infer _Context,
    infer _Event,
    infer _Children,
    infer Slot,
    infer _Action,
    infer _Guard,
    infer _Delay,
    infer _Value,
    infer _Tag,
    infer _Input,
    infer _Output,
    infer _Emitted,
    infer _Meta,
    infer _Schema
  >
    ? Slot
    : never;
type SlotName<Machine> = SlotOf<Machine>["src"];
type LogicOf<Slot> = Slot extends { readonly logic: infer Logic extends AnyActorLogic } ? Logic : never;
type AnswerTo<Machine, Name> = OutputFrom<LogicOf<Extract<SlotOf<Machine>, { readonly src: Name }>>>;

/** An action as XState reports it before it would be carried out; the members that are read here. */
interface ReportedAction {
  readonly type: string;
  readonly params?: unknown;
}
interface ReportedParams {
  readonly id?: string;
  readonly src?: unknown;
  readonly input?: unknown;
  readonly event?: AnyEventObject;
  readonly delay?: number;
  readonly sendId?: string;
  readonly targetId?: string;
}

export interface Command {
  readonly to: string;
  readonly event: AnyEventObject;
}

/** The two calls that step a chart, on the snapshots and the scope of this play. */
interface PureLogic {
  getInitialSnapshot(scope: AnyActorScope, input: unknown): AnyMachineSnapshot;
  transition(snapshot: AnyMachineSnapshot, event: AnyEventObject, scope: AnyActorScope): AnyMachineSnapshot;
}

/** What an event says beside its type, for the trace: the answer or the error of a request, or its fields. */
function payloadOf(event: AnyEventObject): unknown {
  const fields: Readonly<Record<string, unknown>> = event;
  if (event.type.startsWith("xstate.after.")) return undefined;
  if ("actorId" in fields) return fields["output"] ?? fields["error"];
  return Object.keys(fields).length > 1 ? { ...fields, type: undefined } : undefined;
}

export class ChartPlay<Machine extends AnyStateMachine> {
  /** Everything emitted so far. */
  readonly facts: EmittedFrom<Machine>[] = [];
  /** Commands to companions so far. */
  readonly told: Command[] = [];
  /** What the last step emitted. */
  latest: readonly EmittedFrom<Machine>[] = [];
  /** Names of the transitions that the last step took. */
  taken: readonly string[] = [];
  /** Timers that the last step started: a time that was counted from somewhere else is counted from here. */
  armed: readonly string[] = [];
  private readonly machine: Machine;
  private readonly logic: PureLogic;
  private readonly scope: AnyActorScope;
  private readonly spawned = new Map<string, { readonly src: string; readonly input: unknown }>();
  private readonly running = new Map<string, { readonly event: AnyEventObject; readonly delayMs: number }>();
  private readonly lines: string[] = [];
  private snapshot: AnyMachineSnapshot;

  constructor(machine: Machine, input: InputFrom<Machine>) {
    this.machine = machine;
    this.scope = this.openScope(input);
    this.logic = machine;
    this.snapshot = this.step("start", () => this.logic.getInitialSnapshot(this.scope, input));
  }

  /** Where it is: `holding.renewing`. */
  get state(): string {
    const path = (value: unknown): string =>
      typeof value === "object" && value !== null
        ? Object.entries(value)
            .map(([key, below]) => `${key}.${path(below)}`)
            .join(" + ")
        : String(value);
    return path(this.snapshot.value);
  }

  get context(): ContextFrom<Machine> {
    const context: unknown = this.snapshot.context;
    // The snapshot is this machine's own.
    return context as ContextFrom<Machine>;
  }

  /** `active` until a final state is reached (`done`) or a slot died and nobody cared (`error`). */
  get status(): string {
    return this.snapshot.status;
  }

  get output(): unknown {
    return this.snapshot.output as unknown;
  }

  /** Open requests and living companions by slot, each with the input it was given. */
  get requests(): Readonly<Record<string, unknown>> {
    const spawned = this.openIds().flatMap((id) => this.spawned.get(id) ?? []);
    return Object.fromEntries(spawned.map((each) => [each.src, each.input]));
  }

  /** Running timers by delay name, in milliseconds. */
  get timers(): Readonly<Record<string, number>> {
    if (this.status !== "active") return {};
    return Object.fromEntries(
      [...this.running.values()].map((each) => [timerOf(each.event.type) ?? each.event.type, each.delayMs]),
    );
  }

  /** A state's own matcher, for functions that take a snapshot. */
  get view(): AnyMachineSnapshot {
    return this.snapshot;
  }

  send(event: EventFromLogic<Machine>): this {
    return this.feed(event);
  }

  /** An open request is answered. */
  answer<Name extends SlotName<Machine>>(src: Name, output: AnswerTo<Machine, Name>): this {
    const id = this.idOf(src);
    return this.feed({ type: `xstate.done.actor.${id}`, output, actorId: id });
  }

  /** An open request ends without an answer: nothing was observed. */
  fail(src: SlotName<Machine>, error: unknown = new Error("not observed")): this {
    const id = this.idOf(src);
    return this.feed({ type: `xstate.error.actor.${id}`, error, actorId: id });
  }

  /** Time passes until this timer fires. */
  after(delay: string): this {
    const due = [...this.running.values()].filter((each) => timerOf(each.event.type) === delay);
    const [timer] = due;
    if (timer === undefined || due.length > 1 || this.status !== "active")
      throw new Error(`${due.length} timers "${delay}" run in ${this.state}; running: ${brief(this.timers)}`);
    return this.feed(timer.event);
  }

  /** What happened so far, as text: an event with the state it led to, then what was emitted, asked and told. */
  trace(): string {
    return this.lines.join("\n");
  }

  private feed(event: AnyEventObject): this {
    if (this.status !== "active") throw new Error(`the chart has ended in ${this.state}: ${event.type} reaches nobody`);
    const said = payloadOf(event);
    const what = `${eventName(this.machine, event.type)}${said === undefined ? "" : ` ${brief(said)}`}`;
    this.snapshot = this.step(what, () => this.logic.transition(this.snapshot, event, this.scope));
    return this;
  }

  private step(what: string, run: () => AnyMachineSnapshot): AnyMachineSnapshot {
    const factsBefore = this.facts.length;
    const at = this.lines.length;
    this.taken = [];
    this.armed = [];
    this.snapshot = run();
    this.latest = this.facts.slice(factsBefore);
    this.lines.splice(at, 0, `${what} → ${this.state}`);
    return this.snapshot;
  }

  private openIds(): readonly string[] {
    return this.status === "active" ? Object.keys(this.snapshot.children as Readonly<Record<string, unknown>>) : [];
  }

  private idOf(src: string): string {
    const ids = this.openIds().filter((id) => this.spawned.get(id)?.src === src);
    const [id] = ids;
    if (id === undefined || ids.length > 1)
      throw new Error(`${ids.length} requests "${src}" are open in ${this.state}; open: ${brief(this.requests)}`);
    return id;
  }

  private openScope(input: InputFrom<Machine>): AnyActorScope {
    // Never started: it lends its identity and its system, where the transitions taken are announced.
    const untyped: AnyStateMachine = this.machine;
    const self = createActor(untyped, { input: input as unknown });
    self.system.inspect((seen) => {
      if (seen.type !== "@xstate.microstep") return;
      const names = seen._transitions.map((each) => transitionName(this.machine, each));
      this.taken = [...this.taken, ...names];
      recordTaken(this.machine.id, names);
    });
    return {
      self,
      id: "",
      sessionId: "",
      system: self.system,
      logger: () => {},
      defer: () => {},
      stopChild: () => {},
      emit: () => {},
      actionExecutor: (action: ReportedAction) => {
        this.note(action);
      },
    };
  }

  /** Keeps what an action would have done. */
  private note(action: ReportedAction): void {
    // Built-in actions report one flat object of resolved parameters; `cancel` may report the timer's id alone.
    const params = (
      typeof action.params === "string" ? { sendId: action.params } : (action.params ?? {})
    ) as ReportedParams;
    const { event } = params;
    if (action.type === "xstate.cancel") {
      this.running.delete(params.sendId ?? "");
    } else if (action.type === "xstate.spawnChild" && params.id !== undefined) {
      this.spawned.set(params.id, { src: String(params.src), input: params.input });
      this.lines.push(`  asks ${String(params.src)}${params.input === undefined ? "" : ` ${brief(params.input)}`}`);
    } else if (event === undefined) {
      return;
    } else if (action.type === "xstate.emit") {
      // A chart emits what its `types.emitted` says.
      this.facts.push(event as EmittedFrom<Machine>);
      this.lines.push(`  emits ${brief(event)}`);
    } else if (action.type === "xstate.raise" && params.delay !== undefined) {
      this.running.set(params.id ?? event.type, { event, delayMs: params.delay });
      this.armed = [...this.armed, timerOf(event.type) ?? event.type];
    } else if (action.type === "xstate.sendTo") {
      this.told.push({ to: params.targetId ?? "", event });
      this.lines.push(`  tells ${params.targetId ?? ""} ${brief(event)}`);
    }
  }
}

export const playChart = <Machine extends AnyStateMachine>(
  machine: Machine,
  input: InputFrom<Machine>,
): ChartPlay<Machine> => new ChartPlay(machine, input);
