/**
 * The stage: where production charts run.
 *
 * Owns: making actors with the injected clock and the inspection tap, and letting a chart live as the companion of
 * another one: commands go down, facts come up as events.
 * Does not own: which charts there are (`instance.ts`), what any of them decides.
 *
 * Charts never speak to their parent: they emit facts, and whoever hosts them routes those. So the same chart runs here,
 * in the simulator and in the explorer.
 */
import { createActor, fromCallback } from "xstate";
import type {
  Actor,
  ActorOptions,
  AnyStateMachine,
  EmittedFrom,
  EventFromLogic,
  EventObject,
  InputFrom,
  InspectionEvent,
  NonReducibleUnknown,
} from "xstate";
import type { CompanionFailed } from "../machines/slots.ts";
import type { Clock, Log } from "./ports.ts";

export interface Stage {
  readonly clock: Clock;
  readonly log: Log;
  /** Sees everything every actor does. It is wrapped: what it throws is logged and reaches no actor. */
  readonly inspect: (event: InspectionEvent) => void;
}

/** Creates an actor on the stage, not yet started. Its id is its path: `<instance>/<name>`. */
export function createOnStage<Machine extends AnyStateMachine>(
  stage: Stage,
  machine: Machine,
  options: { readonly id: string; readonly input: InputFrom<Machine> },
): Actor<Machine> {
  // The generic Machine hides from the compiler that these are the options such a machine takes.
  const actorOptions = {
    ...options,
    clock: {
      setTimeout: (fn: () => void, ms: number) => stage.clock.setTimeout(fn, ms),
      clearTimeout: (handle: unknown) => {
        stage.clock.clearTimeout(handle);
      },
    },
    inspect: (event: InspectionEvent) => {
      try {
        stage.inspect(event);
      } catch (error) {
        stage.log.event("error", "inspection", { actor: options.id, reason: String(error) });
      }
    },
    logger: () => undefined,
  } as unknown as ActorOptions<Machine>;
  return createActor(machine, actorOptions);
}

/** A chart to be hosted as a companion. */
export interface Hosted<Machine extends AnyStateMachine, Input> {
  readonly id: string;
  /** Made anew for each hosting, with the slots of that hosting filled; `dispose` runs after the chart has stopped. */
  readonly chart: (input: Input) => { readonly machine: Machine; readonly dispose: () => void };
  readonly input: (input: Input) => InputFrom<Machine>;
  /** Sees each fact before the host does. */
  readonly onFact: (fact: EmittedFrom<Machine>) => void;
}

/** A chart that leaves nothing behind. */
export const bare = <Machine extends AnyStateMachine>(machine: Machine) => ({ machine, dispose: () => undefined });

/**
 * A chart as the companion of another: receives its commands, reports its facts and, if it breaks, `companion.failed`.
 * Facts after the host left are dropped.
 */
export function hostChart<
  Machine extends AnyStateMachine,
  Input extends NonReducibleUnknown,
  Command extends EventObject = EventObject,
>(stage: Stage, hosted: Hosted<Machine, Input>) {
  return fromCallback<Command, Input>(({ input, sendBack, receive }) => {
    const { machine, dispose } = hosted.chart(input);
    const actor = createOnStage(stage, machine, { id: hosted.id, input: hosted.input(input) });
    actor.on("*", (fact: EmittedFrom<Machine>) => {
      hosted.onFact(fact);
      sendBack(fact);
    });
    actor.subscribe({
      error: (error: unknown) => {
        stage.log.event("error", "chart-broke", { actor: hosted.id, reason: String(error) });
        const failed: CompanionFailed = { type: "companion.failed", companion: hosted.id, reason: String(error) };
        sendBack(failed);
      },
    });
    // A command is an event of the hosted chart by contract of the slot it fills.
    receive((command) => {
      actor.send(command as unknown as EventFromLogic<Machine>);
    });
    actor.start();
    return () => {
      actor.stop();
      dispose();
    };
  });
}
