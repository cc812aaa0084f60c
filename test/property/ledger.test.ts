/** Random requests to the real ledger of a server, with the real identity of requests, judged after every step. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RequestLedger } from "../../adapters/transport/wire/ledger.ts";
import { fingerprintOf, ledgerKeyOf } from "../../adapters/transport/wire/parse.ts";
import { judgeOf } from "../../machines/invariants.ts";
import type { LedgerStepView } from "../../machines/invariants.ts";
import { fixedSeed, freshSeed } from "../support/property/walks.ts";
import { heartbeat } from "../unit/transport/support/envelopes.ts";
import { ledgerParts } from "./wire-parts.ts";

const judge = judgeOf(ledgerParts);

interface Run {
  readonly content: string;
  answer: string | null;
  readonly end: (answer: string | null) => void;
}
interface Line extends Omit<LedgerStepView, "answer" | "answerOfRun"> {
  answer: string | null;
  readonly run: Run | null;
}

const failed = "failed";
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 6; turn += 1) await Promise.resolve();
};

/** A server's ledger, and whoever watches it: what runs, and what the rule of eviction still remembers. */
class LedgerWorld {
  readonly lines: Line[] = [];
  readonly ledger: RequestLedger<string>;
  readonly entriesMax: number;
  readonly running = new Map<string, Run[]>();
  /** Oldest first. */
  private kept: { readonly key: string; readonly run: Run }[] = [];

  constructor(entriesMax: number) {
    this.entriesMax = entriesMax;
    this.ledger = new RequestLedger<string>({ entriesMax, weightMax: Number.POSITIVE_INFINITY, weigh: () => 1 });
  }

  async ask(id: string, sentAtMs: number): Promise<void> {
    const envelope = heartbeat(id, sentAtMs);
    const [key, content] = [ledgerKeyOf(envelope), fingerprintOf(envelope)];
    const before = this.kept.find((each) => each.key === key);
    const own: { run: Run | null } = { run: null };
    const admission = this.ledger.admit(key, content, () => {
      return new Promise<string>((resolve, reject) => {
        const run: Run = {
          content,
          answer: null,
          end(answer) {
            run.answer = answer ?? failed;
            if (answer === null) reject(new Error(failed));
            else resolve(answer);
          },
        };
        own.run = run;
        this.running.set(id, [...(this.running.get(id) ?? []), run]);
      });
    });
    await settle();
    if (own.run !== null) this.remember(key, own.run);
    const line: Line = {
      content,
      remembered: before?.run.content ?? null,
      hasRun: own.run !== null,
      refusal: admission.kind === "collision" || admission.kind === "full" ? admission.kind : null,
      answer: null,
      run: before?.run ?? own.run,
      inFlight: this.underWay(id).length,
    };
    this.lines.push(line);
    if (!("answer" in admission)) return;
    admission.answer.then(
      (answer) => (line.answer = answer),
      () => (line.answer = failed),
    );
  }

  async end(id: string, answer: string | null): Promise<void> {
    this.underWay(id)[0]?.end(answer);
    await settle();
  }

  broken(): readonly string[] {
    const ledger = this.lines.map(({ run, ...line }) => ({ ...line, answerOfRun: run?.answer ?? null }));
    return judge({ ledger });
  }

  private underWay(id: string): readonly Run[] {
    return (this.running.get(id) ?? []).filter(({ answer }) => answer === null);
  }

  /** The oldest that is settled goes for one that comes. */
  private remember(key: string, run: Run): void {
    this.kept = this.kept.filter((each) => each.key !== key);
    if (this.kept.length >= this.entriesMax) {
      const oldest = this.kept.findIndex((each) => each.run.answer !== null);
      if (oldest >= 0) this.kept.splice(oldest, 1);
    }
    this.kept.push({ key, run });
  }
}

const acts = fc.array(
  fc.record({
    act: fc.constantFrom("ask", "ask", "ask", "end", "fail"),
    id: fc.integer({ min: 1, max: 7 }).map(String),
    sentAtMs: fc.constantFrom(1, 1, 1, 2),
  }),
  { maxLength: 120, size: "max" },
);

describe("the request ledger", () => {
  it.each([
    ["of a fixed seed", fixedSeed],
    ["of a fresh seed", freshSeed],
  ])("protocol/P-20, P-21, P-22: no walk %s breaks what it promises", async (_, seed) => {
    const met = { repeated: 0, collision: 0, full: 0, forgotten: 0 };
    await fc.assert(
      fc.asyncProperty(acts, fc.integer({ min: 1, max: 4 }), async (steps, entriesMax) => {
        const world = new LedgerWorld(entriesMax);
        for (const [n, { act, id, sentAtMs }] of steps.entries()) {
          if (act === "ask") await world.ask(id, sentAtMs);
          else await world.end(id, act === "fail" ? null : `answer ${n}`);
          expect(world.broken()).toEqual([]);
        }
        for (const { hasRun, refusal } of world.lines) {
          if (refusal !== null) met[refusal] += 1;
          else if (!hasRun) met.repeated += 1;
        }
        for (const runs of world.running.values()) met.forgotten += runs.length - 1;
      }),
      { numRuns: 200, seed },
    );
    // Else this says little.
    for (const [kind, times] of Object.entries(met)) expect(times, kind).toBeGreaterThan(20);
  });
});
