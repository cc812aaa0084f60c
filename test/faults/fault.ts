/**
 * What a seeded fault is, and the ways to look for one.
 *
 * Owns: these shapes. Does not own: the faults (`catalogue.ts` and its parts), applying and trying them (`faults.ts`).
 */
/** A test file, or those of its tests whose full names fit the pattern. */
export interface UnitTry {
  readonly layer: "unit";
  readonly file: string;
  readonly tests: string | null;
}

export type Try =
  | UnitTry
  | { readonly layer: "exploration"; readonly world: string }
  | { readonly layer: "property"; readonly world: string }
  | { readonly layer: "simulation"; readonly world: "lease" | "bus"; readonly seed: number; readonly hours: number };

export interface Fault {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  readonly tries: readonly Try[];
}

export const explored = (...worlds: string[]): Try[] => worlds.map((world) => ({ layer: "exploration", world }));
/** `file` without the folder of unit tests and the ending. */
export const unit = (file: string, tests: string | null = null): Try => ({
  layer: "unit",
  file: `test/unit/${file}.test.ts`,
  tests,
});
export const walked = (world: string): Try => ({ layer: "property", world });
export const bus = (hours = 0.5, seed = 1): Try => ({ layer: "simulation", world: "bus", seed, hours });
export const leases = (hours = 10, seed = 1): Try => ({ layer: "simulation", world: "lease", seed, hours });
