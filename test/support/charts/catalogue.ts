/**
 * Every chart of the project with what its tests must know beyond the chart itself.
 *
 * Owns: the list that the gates run over. A chart file that is missing here fails `coverage.test.ts`.
 */
import type { AnyStateMachine } from "xstate";
import { activationMachine } from "../../../machines/activation.machine.ts";
import type { ActivationEvent } from "../../../machines/activation.machine.ts";
import { capabilityMachine } from "../../../machines/capability.machine.ts";
import type { CapabilityEvent } from "../../../machines/capability.machine.ts";
import { cleanupMachine } from "../../../machines/cleanup.machine.ts";
import { deliveryMachine } from "../../../machines/delivery.machine.ts";
import type { DeliveryEvent } from "../../../machines/delivery.machine.ts";
import { groupingMachine } from "../../../machines/grouping.machine.ts";
import type { GroupingEvent } from "../../../machines/grouping.machine.ts";
import { handoffDonorMachine } from "../../../machines/handoffDonor.machine.ts";
import type { DonorEvent } from "../../../machines/handoffDonor.machine.ts";
import { handoffRecipientMachine } from "../../../machines/handoffRecipient.machine.ts";
import { instanceMachine } from "../../../machines/instance.machine.ts";
import type { InstanceEvent } from "../../../machines/instance.machine.ts";
import { leaseMachine } from "../../../machines/lease.machine.ts";
import type { LeaseEvent } from "../../../machines/lease.machine.ts";
import { membershipMachine } from "../../../machines/membership.machine.ts";
import type { MembershipEvent } from "../../../machines/membership.machine.ts";
import { ownerMachine } from "../../../machines/owner.machine.ts";
import type { OwnerEvent } from "../../../machines/owner.contract.ts";
import { pollingMachine } from "../../../machines/polling.machine.ts";
import type { PollingEvent } from "../../../machines/polling.machine.ts";
import { provisioningMachine } from "../../../machines/provisioning.machine.ts";
import { queueMachine } from "../../../machines/queue.machine.ts";
import type { QueueEvent } from "../../../machines/queue.machine.ts";
import { reconciliationMachine } from "../../../machines/reconciliation.machine.ts";
import type { ReconciliationEvent } from "../../../machines/reconciliation.machine.ts";
import { registrationMachine } from "../../../machines/registration.machine.ts";
import type { RegistrationEvent } from "../../../machines/registration.machine.ts";
import { rerouteMachine } from "../../../machines/reroute.machine.ts";
import type { RerouteEvent } from "../../../machines/reroute.machine.ts";

export interface CataloguedChart {
  readonly file: string;
  readonly machine: AnyStateMachine;
  /** Every event type the chart may be sent. The compiler keeps the list complete. */
  readonly events: readonly string[];
  /** Slots that live beside the chart: they report `companion.failed` and never end by themselves. */
  readonly companions: readonly string[];
}

/** The types of an event union, all of them: a missing or a surplus key does not compile. */
const eventsOf = <Event extends { readonly type: string }>(types: Record<Event["type"], true>): readonly string[] =>
  Object.keys(types);

const leaseFacts = {
  "lease.observed": true,
  "lease.standing": true,
  "lease.granted": true,
  "lease.renewed": true,
  "lease.lost": true,
  "lease.releasing": true,
  "lease.released": true,
  "lease.troubled": true,
} as const;

const pollingFacts = {
  "polling.started": true,
  "polling.answered": true,
  "polling.idsAccepted": true,
  "polling.troubled": true,
  "polling.fenced": true,
  "polling.stopped": true,
} as const;

export const charts: readonly CataloguedChart[] = [
  {
    file: "activation.machine.ts",
    machine: activationMachine,
    events: eventsOf<ActivationEvent>({
      "activation.stop": true,
      "endpoint.open": true,
      "endpoint.failed": true,
      "thread.doubted": true,
      "pairing.known": true,
      "pairing.missing": true,
      "token.renewed": true,
      "dispatcher.fenced": true,
      "capability.judged": true,
      "reconciliation.planned": true,
      "reconciliation.acted": true,
      "reconciliation.fenced": true,
      ...pollingFacts,
      "companion.failed": true,
    }),
    companions: [
      "ownThread",
      "endpoint",
      "dispatcher",
      "poller",
      "reconciliation",
      "capability",
      "audience",
      "watchToken",
    ],
  },
  {
    file: "capability.machine.ts",
    machine: capabilityMachine,
    events: eventsOf<CapabilityEvent>({ "capability.doubted": true, "companion.failed": true }),
    companions: ["watchDoubts"],
  },
  // Its event type says so: it is sent none.
  { file: "cleanup.machine.ts", machine: cleanupMachine, events: [], companions: [] },
  {
    file: "delivery.machine.ts",
    machine: deliveryMachine,
    events: eventsOf<DeliveryEvent>({ "seats.changed": true }),
    companions: [],
  },
  {
    file: "grouping.machine.ts",
    machine: groupingMachine,
    events: eventsOf<GroupingEvent>({ "part.arrived": true, "group.close": true }),
    companions: [],
  },
  {
    file: "handoffDonor.machine.ts",
    machine: handoffDonorMachine,
    events: eventsOf<DonorEvent>({ "offer.recall": true }),
    companions: [],
  },
  // Its event type says so: it is sent none.
  { file: "handoffRecipient.machine.ts", machine: handoffRecipientMachine, events: [], companions: [] },
  {
    file: "instance.machine.ts",
    machine: instanceMachine,
    events: eventsOf<InstanceEvent>({
      "instance.stop": true,
      ...leaseFacts,
      "owner.refreshed": true,
      "membership.registered": true,
      "membership.moved": true,
      "membership.lost": true,
      "membership.refused": true,
      "membership.left": true,
      "activation.active": true,
      "activation.classic": true,
      "activation.troubled": true,
      "activation.doubted": true,
      "activation.stopped": true,
      "chat.moved": true,
      "companion.failed": true,
    }),
    companions: ["lease", "membership", "activation"],
  },
  {
    file: "lease.machine.ts",
    machine: leaseMachine,
    events: eventsOf<LeaseEvent>({ "lease.check": true, "lease.release": true }),
    companions: [],
  },
  {
    file: "membership.machine.ts",
    machine: membershipMachine,
    events: eventsOf<MembershipEvent>({
      "membership.leave": true,
      "link.closed": true,
      "thread.moved": true,
      "companion.failed": true,
    }),
    companions: ["watchLeader"],
  },
  {
    file: "owner.machine.ts",
    machine: ownerMachine,
    events: eventsOf<OwnerEvent>({
      "lease.check": true,
      "lease.release": true,
      ...leaseFacts,
      "companion.failed": true,
    }),
    companions: ["lease"],
  },
  {
    file: "polling.machine.ts",
    machine: pollingMachine,
    events: eventsOf<PollingEvent>({ "polling.stop": true, "token.renewed": true }),
    companions: ["watchToken"],
  },
  // Sent none, too.
  { file: "provisioning.machine.ts", machine: provisioningMachine, events: [], companions: [] },
  {
    file: "queue.machine.ts",
    machine: queueMachine,
    events: eventsOf<QueueEvent>({
      "aside.arrived": true,
      "aside.ended": true,
      "host.attached": true,
      "host.detached": true,
      "host.held": true,
      "host.released": true,
      "item.opened": true,
      "item.grown": true,
      "item.closed": true,
      "item.reacted": true,
      "item.offered": true,
      "offer.ended": true,
      "command.given": true,
    }),
    companions: [],
  },
  {
    file: "reconciliation.machine.ts",
    machine: reconciliationMachine,
    events: eventsOf<ReconciliationEvent>({
      "reconciliation.wake": true,
      "plan.made": true,
      "companion.failed": true,
    }),
    companions: ["watchThreads"],
  },
  {
    file: "registration.machine.ts",
    machine: registrationMachine,
    events: eventsOf<RegistrationEvent>({
      "follower.register": true,
      "follower.disconnect": true,
      "follower.heartbeat": true,
      "follower.heard": true,
      "thread.doubted": true,
      "link.closed": true,
      "companion.failed": true,
    }),
    companions: ["watchFollower"],
  },
  {
    file: "reroute.machine.ts",
    machine: rerouteMachine,
    events: eventsOf<RerouteEvent>({
      "content.arrived": true,
      "content.accepted": true,
      "content.ended": true,
      "seats.changed": true,
      "chooser.pressed": true,
    }),
    companions: [],
  },
];
