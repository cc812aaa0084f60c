/**
 * The crash matrix of a handoff (updates §5.10): donor, recipient or leader is killed at each step. Real processes, one real
 * SQLite file. Whatever is killed, the work runs on exactly one side, once.
 *
 * At each step the process that has reached it stands still until the victim is dead. Then it goes on, and the victim starts
 * again under its name.
 */
import { rmSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Agent } from "../support/line/agent.ts";
import { bundleProgram } from "../support/line/bundle.ts";
import type { Line } from "../support/line/line.ts";
import { useLines } from "../support/line/use-line.ts";
import { report, until } from "../support/line/waiting.ts";

const open = useLines();
let program = "";
beforeAll(async () => {
  program = await bundleProgram("test/support/line/handoff-program.ts");
});
afterAll(() => {
  rmSync(path.dirname(program), { recursive: true, force: true });
});

type Name = "leader" | "donor" | "recipient";
const names = ["leader", "donor", "recipient"] as const;

interface Step {
  readonly is: string;
  /** Gates that are closed at each side. */
  readonly donor: readonly string[];
  readonly recipient: readonly string[];
  /** It is reached when the donor, or the recipient, has said so. */
  readonly reached: readonly [Name, (text: string) => string];
}

const steps: readonly Step[] = [
  { is: "1 before the offer", donor: ["offer"], recipient: [], reached: ["donor", () => "at offer"] },
  { is: "2 offered, not seen", donor: ["offered"], recipient: ["blind"], reached: ["donor", () => "at offered"] },
  { is: "3 staged", donor: [], recipient: ["accept"], reached: ["recipient", () => "at accept"] },
  { is: "4 accepted, not published", donor: [], recipient: ["accepted"], reached: ["recipient", () => "at accepted"] },
  {
    is: "5 live, and the donor does not know",
    donor: ["standing"],
    recipient: [],
    reached: ["recipient", (text) => `queue waiting ${text}`],
  },
  { is: "6 the donor is told, its item is there", donor: ["gone"], recipient: [], reached: ["donor", () => "at gone"] },
  { is: "7 done", donor: [], recipient: [], reached: ["donor", () => "offer transferred"] },
];

const tell = (agent: Agent, line: object): void => {
  agent.write(JSON.stringify(line));
};

class Cast {
  private readonly line: Line;
  private readonly playing = new Map<Name, Agent>();

  constructor(line: Line) {
    this.line = line;
  }

  agent(name: Name): Agent {
    const agent = this.playing.get(name);
    if (agent === undefined) throw new Error(`nobody plays the ${name}`);
    return agent;
  }

  async start(name: Name): Promise<Agent> {
    const agent = this.line.start({ name, program });
    this.playing.set(name, agent);
    return agent.whenReady();
  }

  /** All processes that ever played, with what they said of this text. */
  said(what: string): readonly string[] {
    return this.line.agents.flatMap(({ label, steps: told }) =>
      told.filter(({ step }) => step.startsWith(what)).map(({ step }) => `${label}: ${step}`),
    );
  }
}

const hasSaid = (agent: Agent, step: string): boolean => agent.steps.some((each) => each.step === step);

async function killAt(line: Line, cast: Cast, step: Step, victim: Name): Promise<string> {
  const text = `${step.is.slice(0, 1)}-${victim}`;
  const [donor, recipient] = [cast.agent("donor"), cast.agent("recipient")];
  for (const each of [donor, recipient]) tell(each, { type: "hold" });
  tell(donor, { type: "arm", gates: step.donor });
  tell(recipient, { type: "arm", gates: step.recipient });
  const before = new Map(names.map((name) => [name, cast.agent(name).steps.length]));
  const updateId = line.say(donor.threadId, text);
  await until(`${text} waits`, () => hasSaid(donor, `queue waiting ${text}`));
  tell(donor, { type: "offer", text, threadId: recipient.threadId });
  const [who, said] = step.reached;
  const isThere = (): boolean =>
    cast
      .agent(who)
      .steps.slice(before.get(who))
      .some((each) => each.step === said(text));
  await until(`${text}: ${step.is}`, isThere, { state: () => cast.agent(who).output });

  const roles = names.map((name) => `${name} ${cast.agent(name).role === "leader" ? "leads" : "follows"}`).join(", ");
  await cast.agent(victim).kill();
  const survivors = names.filter((name) => name !== victim).map((name) => cast.agent(name));
  for (const each of survivors) tell(each, { type: "go" });
  await cast.start(victim);
  for (const each of survivors) tell(each, { type: "free" });

  await line.settled([updateId]);
  await until(`${text} is acked`, () => cast.said(`acked ${text} `).length > 0);
  const ran = cast.said(`ran ${text}`);
  report(`step ${step.is}: ${victim} killed (${roles}); ${ran.join(", ")}`);
  expect([ran.length, cast.said(`acked ${text} true`).length]).toEqual([1, 1]);
  return ran[0]?.split(":")[0] ?? "nobody";
}

test.each(["donor", "recipient", "leader"] as const)(
  "updates/Q-36, Q-47, Q-56, Q-57, Q-59, T-83, T-98, T-99: the %s is killed at each step of a handoff, and the work runs on exactly one side, once",
  async (victim) => {
    const line = await open();
    const cast = new Cast(line);
    for (const name of names) await cast.start(name);
    for (const step of steps) {
      const ranAt = await killAt(line, cast, step, victim);
      // From acceptance on it is the recipient's, and its seat's when that one dies.
      if (step.is >= "4") expect(ranAt).toBe("recipient");
      // Nobody else knew of it.
      if (step.is < "3" && victim === "donor") expect(ranAt).toBe("donor");
    }
    expect(line.openUpdates()).toEqual([]);
  },
);
