/**
 * The leader's endpoint as a companion of the activation chart: `endpoint.open` once it is published under our epoch,
 * `endpoint.failed` when it cannot be.
 *
 * Owns: opening, keeping and closing it. Does not own: what is answered (`leader-handler.ts`).
 *
 * One that vanished and cannot be published anew at once is no reason to stop leading: it serves whoever is connected, and
 * each look tries again (protocol E-5, O-48). Whether we lead at all is the lease's to say.
 */
import { fromCallback } from "xstate";
import type { EndpointFact } from "../machines/activation.machine.ts";
import type { Epoch } from "../machines/ids.ts";
import type { Endpoint, RequestHandler } from "./ports.ts";
import { publishAsLeader } from "./owner.ts";
import type { Runtime } from "./runtime.ts";

/** How often the published address is looked at, in milliseconds. */
const ensureEveryMs = 1_000;

export interface EndpointWork {
  /** Runs before the endpoint exists; its failure is the endpoint's. */
  readonly prepare: () => Promise<void>;
  readonly handle: RequestHandler;
}

export function provideEndpoint(runtime: Runtime, work: EndpointWork) {
  return fromCallback<{ readonly type: "never" }, { readonly epoch: Epoch }>(({ input: { epoch }, sendBack }) => {
    const keeper = new EndpointKeeper(runtime, sendBack);
    void keeper.open(epoch, work);
    return () => {
      keeper.leave();
    };
  });
}

class EndpointKeeper {
  private readonly runtime: Runtime;
  private readonly tell: (fact: EndpointFact) => void;
  private endpoint: Endpoint | null = null;
  private isLeft = false;
  private timer: unknown = null;

  constructor(runtime: Runtime, tell: (fact: EndpointFact) => void) {
    this.runtime = runtime;
    this.tell = tell;
  }

  async open(epoch: Epoch, { prepare, handle }: EndpointWork): Promise<void> {
    const { transport, store, v1 } = this.runtime.ports;
    try {
      await prepare();
      if (this.hasLeft()) return;
      this.endpoint = await transport.listen({
        address: transport.leaderAddress,
        handle,
        publish: publishAsLeader(v1, store.lease, epoch),
      });
    } catch (error) {
      this.report({ type: "endpoint.failed", reason: String(error) });
      return;
    }
    if (this.hasLeft()) this.close();
    else {
      this.report({ type: "endpoint.open" });
      this.keep(this.endpoint);
    }
  }

  /** The activation has moved on: whatever is open, or still opening, closes. */
  leave(): void {
    this.isLeft = true;
    this.runtime.ports.stage.clock.clearTimeout(this.timer);
    this.close();
  }

  /** Asked anew after each wait: it may have come meanwhile. */
  private hasLeft(): boolean {
    return this.isLeft;
  }

  private report(fact: EndpointFact): void {
    if (!this.isLeft) this.tell(fact);
  }

  private keep(endpoint: Endpoint, failure = ""): void {
    this.timer = this.runtime.ports.stage.clock.setTimeout(() => {
      void this.look(endpoint, failure).then((reason) => {
        if (!this.isLeft) this.keep(endpoint, reason);
      });
    }, ensureEveryMs);
  }

  /** Why the address could not be published anew, empty when it stands; told once for each reason. Never rejects. */
  private async look(endpoint: Endpoint, before: string): Promise<string> {
    const { log } = this.runtime.ports.stage;
    const { address } = endpoint;
    try {
      if (await endpoint.ensure()) log.event("warn", "leader-endpoint-recovery", { address });
      return "";
    } catch (error) {
      const reason = String(error);
      if (reason !== before) log.event("warn", "leader-endpoint-recovery", { address, reason });
      return reason;
    }
  }

  private close(): void {
    this.endpoint?.close().catch((error: unknown) => {
      this.runtime.ports.stage.log.event("warn", "endpoint-close", { reason: String(error) });
    });
    this.endpoint = null;
  }
}
