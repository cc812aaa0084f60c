/**
 * One profile's store under test, through as many handles as a test wants.
 */
import { test as base } from "vitest";
import type { Store } from "../../../services/ports.ts";
import type { StoppedClock } from "./fixtures.ts";

export interface Harness {
  readonly clock: StoppedClock;
  /** Another handle on the same data, as another process would have. */
  open(): Promise<Store>;
  dispose(): Promise<void>;
}

interface Given {
  readonly harness: Harness;
  readonly store: Store;
  readonly clock: StoppedClock;
}

/** `test` with a fresh store of this kind. */
export const testWith = (make: () => Promise<Harness>) =>
  function test(title: string, body: (given: Given) => Promise<void>, timeoutMs = 20_000): void {
    base(
      title,
      async () => {
        const harness = await make();
        try {
          await body({ harness, store: await harness.open(), clock: harness.clock });
        } finally {
          await harness.dispose();
        }
      },
      timeoutMs,
    );
  };
