/**
 * `npm run soak -- --minutes N --json [--seed S] [--pace MS]`: a line of four processes under chaos for so long. Progress goes
 * to stderr; the last line of stdout is the report.
 *
 * Exits 1 when at the end an update was not settled exactly once, the journal is not empty, there is not one leader, or the
 * threads in Telegram are not those that are bound; `faults` says which.
 */
import { runSoak } from "../support/line/soak-run.ts";
import { numberOf, numbers, optionsOf } from "../support/command-line.ts";

const usage = `
npm run soak -- [options]: four real processes under chaos, and what is left of memory, handles and updates at the end.

  --minutes N  how long; default 10
  --seed S     what happens when; default: the process id
  --pace MS    between two messages; default 40
  --json       the last line of stdout is the report as one JSON object`;
const values = optionsOf(usage, {
  minutes: { type: "string", default: "10" },
  seed: { type: "string", default: String(process.pid) },
  pace: { type: "string", default: "40" },
  json: { type: "boolean", default: false },
});

const seed = numberOf("soak: --seed", values.seed, numbers.aboveZero);
console.error(`seed ${seed}`);
const { messages, ...report } = await runSoak({
  minutes: numberOf("soak: --minutes", values.minutes, numbers.aboveZero),
  paceMs: numberOf("soak: --pace", values.pace, numbers.aboveZero),
  seed,
  progress: (line) => {
    console.error(line);
  },
});
for (const fault of report.faults) console.error(`FAULT ${fault}`);
console.log(
  values.json
    ? JSON.stringify({ ...report, deliveredOnce: messages.deliveredOnce, seed })
    : `${report.minutes} minutes, ${report.updates} updates, ${messages.deliveredOnce} settled once; heap ` +
        `${report.heapSlopeMBPerHour} MB/h, ${report.handles} handles, ${report.descriptors} descriptors, ${report.fileBytes} bytes`,
);
process.exitCode = report.faults.length === 0 ? 0 : 1;
