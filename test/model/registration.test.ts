/** The registration world: nothing is broken in it, and every seeded fault breaks something. */
import { describe, expect, it } from "vitest";
import { assign } from "xstate";
import { provisioningMachine } from "../../machines/provisioning.machine.ts";
import { registrationMachine } from "../../machines/registration.machine.ts";
import type { RegistrationContext } from "../../machines/registration.machine.ts";
import { explore, traceTo } from "../../testing/explorer/index.ts";
import { quietRegistration } from "./worlds/index.ts";
import { patched } from "./worlds/patched.ts";
import { faithfulRegistration, registrationWorld } from "./worlds/registration.world.ts";
import type { RegistrationBounds, RegistrationRules } from "./worlds/registration.world.ts";

describe("the registration world", { timeout: 30_000 }, () => {
  it.each([
    { what: "attempts that arrive late", bounds: { impatience: 1, heartbeats: 1, losses: 1 } },
    { what: "a commit whose answer is lost", bounds: { impatience: 1, commitLosses: 1 } },
    { what: "a late registration of the dead", bounds: { attempts: 1, deaths: 1, impatience: 1 } },
    { what: "death and return", bounds: { deaths: 1, closings: 1, unprovable: 1, losses: 1 } },
    { what: "farewells", bounds: { farewells: 1, closings: 1, losses: 1 } },
    { what: "a thread whose making is in doubt", bounds: { impatience: 1, troubles: 2 } },
    { what: "a thread that the user deletes", bounds: { attempts: 1, deletions: 1, doubts: 2, commitLosses: 1 } },
    { what: "a change of leader", bounds: { leaders: 2, impatience: 1, crashes: 1 } },
  ] as const)("holds through $what", ({ bounds }) => {
    const result = explore(registrationWorld({ ...quietRegistration, ...bounds }));
    expect([result.violations, result.exhaustive]).toEqual([[], true]);
  });
});

/** Takes the candidate for the sitter. */
const seatsCandidate = assign({
  sitter: ({ context }) => {
    const { candidate, candidateThread } = context as RegistrationContext;
    return candidate === null ? null : { ...candidate.follower, thread: candidateThread };
  },
});

const seeded: readonly {
  readonly fault: string;
  readonly bounds: Partial<RegistrationBounds>;
  readonly rules: Partial<RegistrationRules>;
  readonly breaks: string;
}[] = [
  {
    fault: "the epoch is not compared in the transaction",
    bounds: { leaders: 2 },
    rules: { mayWrite: () => true },
    breaks: "lease/noWriteUnderOldEpoch",
  },
  {
    fault: "a heartbeat counts whatever its generation",
    bounds: { heartbeats: 1, impatience: 1 },
    rules: { machine: registrationMachine.provide({ guards: { isCurrent: () => true } }) },
    breaks: "registration/staleGenerationNeverActs",
  },
  {
    fault: "a thread is made without an intent",
    bounds: { troubles: 1 },
    rules: { provisioning: patched(provisioningMachine, "states/decided/always/0/target", () => "creating") },
    breaks: "provisioning/neverTwoThreads",
  },
  {
    fault: "an unknown outcome is taken for a failure",
    bounds: { troubles: 1 },
    rules: {
      provisioning: patched(provisioningMachine, "states/creating/invoke/onDone/2/target", () => "abandoning"),
    },
    breaks: "provisioning/neverTwoThreads",
  },
  {
    fault: "a thread that is only doubted is taken for gone",
    bounds: { attempts: 1, doubts: 1 },
    rules: { provisioning: patched(provisioningMachine, "states/beginning/always/1/target", () => "losing") },
    breaks: "provisioning/neverTwoThreads",
  },
  {
    fault: "a refused registration empties the seat",
    bounds: { impatience: 1, leaders: 2 },
    rules: {
      machine: patched(registrationMachine, "states/settling/always", () => [
        { target: "vacant", actions: assign({ sitter: null }) },
      ]),
    },
    breaks: "registration/sitterOnlyByCommit",
  },
  {
    fault: "a fenced registration sits all the same",
    bounds: { leaders: 2 },
    rules: {
      machine: patched(registrationMachine, "states/fencing/invoke/onDone/2", () => ({
        target: "live",
        actions: seatsCandidate,
      })),
    },
    breaks: "registration/liveIsCommitted",
  },
  {
    fault: "a registration does not wait for the farewell under way",
    bounds: { attempts: 3, farewells: 1, impatience: 1 },
    rules: {
      machine: patched(registrationMachine, "states/disconnecting/on/follower.register", () => ({
        target: "provisioning",
        actions: "beginRegistration",
      })),
    },
    breaks: "registration/neverInterleaved",
  },
  {
    fault: "the commit does not ask who holds the claim on the seat",
    bounds: { attempts: 1, deaths: 1 },
    rules: { comparesClaim: false },
    breaks: "registration/deadNeverReplacesLiving",
  },
];

describe("a seeded fault is caught", { timeout: 30_000 }, () => {
  it.each(seeded)("$fault", ({ bounds, rules, breaks }) => {
    const world = registrationWorld({ ...quietRegistration, ...bounds }, { ...faithfulRegistration, ...rules });
    const result = explore(world);
    expect(result.violations.map((each) => each.property)).toContain(breaks);
    expect(traceTo(result, result.violations[0]!.state)).toHaveLength(result.depth + 1);
  });
});
