/**
 * Waiting on conditions of real processes, and saying how long it took.
 *
 * Owns: the ceilings' failure, which names what did not happen. Does not own: any judgement of speed.
 */
const lookEveryMs = 4;
export const ceilingMs = 90_000;

/** Resolves with the milliseconds until `condition` held; rejects at the ceiling with what was waited for and `state`. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  { withinMs = ceilingMs, state }: { readonly withinMs?: number; readonly state?: () => string } = {},
): Promise<number> {
  const startedAt = performance.now();
  while (!(await condition())) {
    const elapsed = performance.now() - startedAt;
    if (elapsed > withinMs)
      throw new Error(`${what}: not within ${withinMs} ms${state === undefined ? "" : `\n${state()}`}`);
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
  return performance.now() - startedAt;
}

/** Rejects when the promise takes longer. */
export async function within<Value>(what: string, promise: Promise<Value>, limitMs = ceilingMs): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`${what}: not within ${limitMs} ms`));
    }, limitMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Calls `step` every so often until stopped; for streams of messages that go on while something else is done. */
export function every(intervalMs: number, step: () => void): { readonly stop: () => void } {
  const timer = setInterval(step, intervalMs);
  return {
    stop: () => {
      clearInterval(timer);
    },
  };
}

/** What a handler does that takes its time. Not for waiting: whoever waits does so on a condition. */
export const workFor = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

/** The value below which the share `p` (0 to 1) of the samples lies; NaN of none. */
export function percentile(samples: readonly number[], p: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(p * sorted.length) - 1))] ?? Number.NaN;
}

export const inMs = (value: number): string => `${value.toFixed(0)} ms`;

/** `name: n=…, p50=…, p99=…, max=…`, for the log of a test. */
export function summary(name: string, samples: readonly number[]): string {
  const at = (p: number): string => inMs(percentile(samples, p));
  return `${name}: n=${samples.length}, p50=${at(0.5)}, p99=${at(0.99)}, max=${at(1)}`;
}

/** A measured figure, in the test run's output. */
export const report = (line: string): void => {
  process.stderr.write(`[measured] ${line}\n`);
};
