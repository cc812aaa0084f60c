/**
 * What an invariant is, and how one is written down.
 *
 * Owns: the shape, and that a predicate sees only the parts that it says it needs. Does not own: any invariant.
 */
import type { Part, Shown, WorldView } from "./view.ts";

export interface Invariant {
  /** `subject/name`, cited in the header of the chart it binds. */
  readonly name: string;
  /** Ids of the spec that it states. */
  readonly ids: readonly string[];
  readonly sentence: string;
  /** The parts of the view that it looks at. A world that does not show them all does not judge it. */
  readonly needs: readonly Part[];
  readonly holds: (view: WorldView) => boolean;
}

type Words = Pick<Invariant, "name" | "ids" | "sentence">;

export const invariant = <const Parts extends Part>(
  words: Words & { readonly needs: readonly Parts[]; readonly holds: (view: Shown<Parts>) => boolean },
): Invariant => words;

/** The same, over one list of what happened since the last look: it must hold of each of them. */
export const eachOf = <const P extends ListPart>(
  words: Words & { readonly of: P; readonly holds: (each: WorldView[P][number]) => boolean },
): Invariant => {
  const { of, holds, ...rest } = words;
  return { ...rest, needs: [of], holds: (view) => (view[of] as readonly WorldView[P][number][]).every(holds) };
};

/** Parts that are lists. */
type ListPart = { [P in Part]: WorldView[P] extends readonly unknown[] ? P : never }[Part];
