import { rm } from "node:fs/promises";
import { transportContract } from "./support/contract.ts";
import { UnixHarness } from "./support/harness.ts";

transportContract("unix sockets", () => {
  const harness = new UnixHarness();
  return {
    transport: harness.transport,
    clock: harness.clock,
    counts: harness.counts,
    another: () => harness.another(),
    serve: (handle, publish, transport) => harness.serve(handle, publish, transport),
    dial: () => harness.dial(),
    unpublish: () => rm(harness.leaderPath),
    dispose: () => harness.dispose(),
  };
});
