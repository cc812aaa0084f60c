/**
 * `npm run chaos -- --rounds N --json [--seed S] [--pace MS]`: kills the leader with SIGKILL, N times, mid-stream; every
 * fifth time a follower along with it. Between the kills polls are refused with a 429, answers are lost, followers stand still. Progress goes to stderr; the last line of stdout is the report.
 *
 * `failoverMs` is from the kill to the new leader's own word that it leads, `firstPollMs` to its first `getUpdates` at the
 * emulator. Exits 1 when a message was lost or doubled, in the wrong hands or out of order, or there were two leaders.
 */
import { runChaos } from "../support/line/chaos-run.ts";
import { numberOf, numbers, optionsOf } from "../support/command-line.ts";

const usage = `
npm run chaos -- [options]: kills the leader of real processes again and again, and counts what came of every message.

  --rounds N   kills; default 20
  --seed S     what happens between them; default: the process id
  --pace MS    between two messages; default 20
  --json       the last line of stdout is the report as one JSON object`;
const values = optionsOf(usage, {
  rounds: { type: "string", default: "20" },
  seed: { type: "string", default: String(process.pid) },
  pace: { type: "string", default: "20" },
  json: { type: "boolean", default: false },
});

const seed = numberOf("chaos: --seed", values.seed, numbers.fromOne);
console.error(`seed ${seed}`);
const { messages, samples, ...report } = await runChaos({
  rounds: numberOf("chaos: --rounds", values.rounds, numbers.fromOne),
  followerEvery: 5,
  disturbs: true,
  paceMs: numberOf("chaos: --pace", values.pace, numbers.fromOne),
  seed,
  progress: (line) => {
    console.error(line);
  },
});
const faults = {
  lost: messages.lost,
  duplicated: messages.duplicated,
  misdelivered: messages.misdelivered,
  outOfOrder: messages.outOfOrder,
  unmarked: messages.unmarked,
};
const isClean =
  Object.values(faults).every((found) => found.length === 0) &&
  report.badElections === 0 &&
  report.orphans === 0 &&
  report.conflicts409 === 0 &&
  report.kills >= report.rounds &&
  report.deliveredOnce === report.updatesSent;
if (!isClean) console.error(JSON.stringify({ faults, samples }, null, 2));
console.log(
  values.json
    ? JSON.stringify({ ...report, seed })
    : `${report.rounds} rounds, ${report.kills} kills: ${report.updatesSent} updates sent, ${report.deliveredOnce} delivered once, ` +
        `${report.lost} lost, ${report.duplicated} doubled; failover p50 ${report.failoverMs.p50} ms, p99 ${report.failoverMs.p99} ms`,
);
process.exitCode = isClean ? 0 : 1;
