/** What the contract tests need of a medium, and its disposal after each. */
import type { Endpoint, Link, RequestHandler, Transport } from "../../../../services/ports.ts";
import type { Counts } from "./harness.ts";
import type { ManualClock } from "./manual-clock.ts";

export interface ContractHarness {
  readonly transport: Transport;
  readonly clock: ManualClock;
  readonly counts: Counts;
  readonly another: () => Transport;
  readonly serve: (
    handle?: RequestHandler,
    publish?: (commit: () => void) => Promise<boolean>,
    transport?: Transport,
  ) => Promise<Endpoint>;
  readonly dial: () => Promise<Link>;
  /** Removes the leader's published address behind its back. */
  readonly unpublish: () => Promise<void>;
  readonly dispose: () => Promise<void>;
}

/** Makes test bodies that get a harness of their own. */
export const disposing =
  (make: () => ContractHarness) => (run: (harness: ContractHarness) => Promise<void>) => async (): Promise<void> => {
    const harness = make();
    try {
      await run(harness);
    } finally {
      await harness.dispose();
    }
  };
