// @ts-check
/**
 * Checking a host of your own: an agent that asks before it runs a job, and a process that may die at any moment.
 *
 *   node examples/check-host.mjs [FILE]     # FILE: where the counterexample goes as a recording; then: partyline replay FILE
 *
 * The chart is what would run in production; the world plays everything around it. One of the two charts is wrong.
 */
import { writeFileSync } from "node:fs";
import { checkWorld, chartOf, simulateHost, slot, worldDefaults } from "partyline/testing";
import { setup } from "xstate";

/**
 * Waits for the user's yes, makes a note on disk that the job is begun, runs it. After a restart the note says that it was begun:
 * it is not run again. `isNotedFirst: false` runs it before the note is made, which looks the same until a process dies.
 *
 * @param {boolean} isNotedFirst
 */
function jobMachine(isNotedFirst) {
  return setup({
    actors: {
      /** @type {ReturnType<typeof slot<boolean>>} */
      readNote: slot("readNote"),
      /** @type {ReturnType<typeof slot<undefined>>} */
      makeNote: slot("makeNote"),
      /** @type {ReturnType<typeof slot<undefined>>} */
      runJob: slot("runJob"),
    },
    guards: { isNoted: ({ event }) => "output" in event && event.output === true },
    delays: { retryInterval: 250 },
  }).createMachine({
    id: "job",
    initial: "reading",
    on: { "user.confirmed": {} },
    states: {
      reading: {
        invoke: {
          src: "readNote",
          onDone: [{ guard: "isNoted", target: "done" }, { target: "asking" }],
          onError: "pausing",
        },
      },
      pausing: { after: { retryInterval: "reading" } },
      asking: { on: { "user.confirmed": isNotedFirst ? "noting" : "running" } },
      // Whether a note that was not confirmed is on disk, only the disk can say.
      noting: { invoke: { src: "makeNote", onDone: isNotedFirst ? "running" : "done", onError: "pausing" } },
      running: { invoke: { src: "runJob", onDone: isNotedFirst ? "done" : "noting", onError: "done" } },
      done: { type: "final" },
    },
  });
}

/**
 * The user says yes (again, after a restart), the disk fails to answer once, the process dies once.
 *
 * @typedef {{ isNoted: boolean, runs: number, lives: number, failures: number }} Env
 * @param {ReturnType<typeof jobMachine>} machine
 * @returns {import("partyline/testing").World<Env, null, { runs: number }>}
 */
function jobWorld(machine) {
  /** @param {number} life @returns {import("partyline/testing").Order} */
  const start = (life) => ({ kind: "start", place: "job", as: `job.${life}`, input: {} });
  return {
    ...worldDefaults,
    name: "job",
    orphansMax: 1,
    places: [{ name: "job", chart: chartOf(machine) }],
    start: { env: { isNoted: false, runs: 0, lives: 1, failures: 1 }, orders: [start(1)] },
    actions: (env) => [
      { name: "yes", kind: "fair", env, orders: [{ kind: "send", place: "job", event: { type: "user.confirmed" } }] },
      ...(env.lives < 2
        ? [
            {
              name: "the process dies and starts anew",
              kind: /** @type {const} */ ("fault"),
              env: { ...env, lives: 2 },
              orders: [start(2)],
            },
          ]
        : []),
    ],
    commit: (env, { src }) => {
      if (src === "readNote") return [{ env, answer: { output: env.isNoted } }];
      const next = src === "makeNote" ? { ...env, isNoted: true } : { ...env, runs: env.runs + 1 };
      return [{ env: next, answer: { output: undefined } }];
    },
    faults: (env, { src }, phase) =>
      src === "runJob" || env.failures === 0
        ? []
        : [{ kind: phase === "issued" ? "notCommitted" : "answerLost", env: { ...env, failures: env.failures - 1 } }],
    // A job that was started goes on although nobody waits for it any more.
    outlives: ({ src }) => src !== "readNote",
    onFact: (env) => ({ env }),
    observe: () => null,
    view: ({ runs }) => ({ runs }),
    check: ({ runs }) => (runs > 1 ? ["job/runsOnce"] : []),
    mayEnd: () => true,
  };
}

const sound = checkWorld(jobWorld(jobMachine(true)));
console.log(`noted first: ${sound.holds ? "holds" : "is broken"}, ${sound.states} states`);

const [found] = checkWorld(jobWorld(jobMachine(false))).counterexamples;
console.log(
  found === undefined ? "run first: holds" : `run first: ${found.property} is broken after ${found.steps} steps`,
);
console.log(found?.text);
console.log(found?.mermaid);
const [file] = process.argv.slice(2);
if (file !== undefined && found !== undefined) writeFileSync(file, found.recording);

// The same line as in production, in virtual time: three processes, killed, paused and cut off, for a quarter of an hour.
const kept = new Set();
const simulated = await simulateHost({
  seed: 7,
  hours: 0.02,
  ack: "explicit",
  host:
    ({ call, pause, random }) =>
    async (update) => {
      await pause(random.between(1, 500));
      await call("sendMessage", { text: `read ${update.id}` });
      // Not heard: ask again.
      for (;;) {
        const isOurs = await update.ack().catch(() => null);
        if (isOurs === true && kept.has(update.id)) throw new Error(`${update.id} was acked twice`);
        if (isOurs === true) kept.add(update.id);
        if (isOurs !== null) return;
        await pause(200);
      }
    },
});
const { violations, simulatedHours } = simulated;
console.log(
  `simulated: ${violations.length} violations in ${(simulatedHours * 60).toFixed(0)} minutes, ${kept.size > 0 ? "updates were acked" : "nothing was acked"}`,
);
