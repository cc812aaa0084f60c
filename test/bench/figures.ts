/** The form of a benchmark's figures. */
import { percentile } from "../support/line/waiting.ts";

export interface Figures {
  readonly p50: number;
  readonly p99: number;
  readonly median: number;
  /** Between the 10th and the 90th percentile. */
  readonly spread: number;
}

export interface Result {
  readonly name: string;
  readonly unit: string;
  readonly samples: number;
  readonly ours: Figures;
  /** What the same machine needs, in the same run, for the part that is not ours; `note` says what it is. */
  readonly baseline?: Figures;
  /** Ours over baseline, of the medians. */
  readonly ratio?: number;
  readonly note: string;
}

const rounded = (value: number): number => Math.round(value * 10) / 10;

export function figuresOf(samples: readonly number[]): Figures {
  const at = (p: number): number => rounded(percentile(samples, p));
  return {
    p50: at(0.5),
    p99: at(0.99),
    median: at(0.5),
    spread: rounded(percentile(samples, 0.9) - percentile(samples, 0.1)),
  };
}

export function resultOf(
  about: Pick<Result, "name" | "unit" | "note">,
  ours: readonly number[],
  baseline?: readonly number[],
): Result {
  const figures = figuresOf(ours);
  if (baseline === undefined) return { ...about, samples: ours.length, ours: figures };
  const against = figuresOf(baseline);
  return {
    ...about,
    samples: ours.length,
    ours: figures,
    baseline: against,
    ratio: Number((figures.median / against.median).toPrecision(3)),
  };
}
