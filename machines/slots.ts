/**
 * Slots: the named, empty places in a chart where effects go.
 *
 * Owns: the two shapes of a slot. Does not own: what fills one (`services/` in production, the simulator and
 * the explorer in their own way). An unfilled slot fails loudly the moment a chart enters it.
 */
import { fromCallback, fromPromise } from "xstate";
import type { EventObject, NonReducibleUnknown } from "xstate";

/** One request with one answer: done with `Output`, or failed = not observed. */
export const slot = <Output, Input extends NonReducibleUnknown = NonReducibleUnknown>(name: string) =>
  fromPromise<Output, Input>(() => {
    throw new Error(`slot ${name} is not filled`);
  });

/** Something that lives beside the chart: takes `Command`s and sends facts back as events of the chart. */
export const companion = <Command extends EventObject, Input extends NonReducibleUnknown = NonReducibleUnknown>(
  name: string,
) =>
  fromCallback<Command, Input>(() => {
    throw new Error(`slot ${name} is not filled`);
  });

/** What a chart learns when a companion broke: no domain outcome, a defect or a resource that is gone. */
export interface CompanionFailed {
  readonly type: "companion.failed";
  readonly companion: string;
  readonly reason: string;
}
