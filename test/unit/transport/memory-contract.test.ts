import { createMemoryNetwork } from "../../../adapters/transport/memory/network.ts";
import { transportContract } from "./support/contract.ts";
import { asOwner, Counts, echo } from "./support/harness.ts";
import { ManualClock } from "./support/manual-clock.ts";

transportContract("memory", () => {
  const clock = new ManualClock();
  const counts = new Counts();
  const network = createMemoryNetwork({ clock, counters: counts, schedule: (deliver) => void setImmediate(deliver) });
  const transport = network.transport("server");
  const client = network.transport("client");
  return {
    transport,
    clock,
    counts,
    another: () => network.transport("another"),
    serve: (handle = echo, publish = asOwner, from = transport) =>
      from.listen({ address: from.leaderAddress, handle, publish }),
    dial: () => client.dial(client.leaderAddress, 1000),
    unpublish: async () => network.unpublish(transport.leaderAddress),
    dispose: async () => {},
  };
});
