/** Chromium's own trace of a page: how long its main thread was busy at one go. */
import type { Browser, Page } from "playwright-core";

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly dur?: number;
  /** Processor time: what others on this machine take does not count. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** The longest task of the renderer's main thread while `work` ran, in milliseconds of processor time. */
export async function longestTaskMs(browser: Browser, page: Page, work: () => Promise<void>): Promise<number> {
  await browser.startTracing(page, { categories: ["toplevel", "disabled-by-default-devtools.timeline"] });
  let trace: Buffer;
  try {
    await work();
  } finally {
    trace = await browser.stopTracing();
  }
  const { traceEvents } = JSON.parse(trace.toString()) as { readonly traceEvents: readonly TraceEvent[] };
  const threads = traceEvents.filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain");
  const isMain = (event: TraceEvent): boolean => threads.some(({ pid, tid }) => pid === event.pid && tid === event.tid);
  const tasks = traceEvents.filter((event) => event.ph === "X" && /RunTask$/.test(event.name) && isMain(event));
  const timed = tasks.filter((event) => event.tdur !== undefined);
  if (timed.length < 100) throw new Error(`the trace holds ${timed.length} timed tasks of ${tasks.length}`);
  return Math.max(...timed.map((event) => event.tdur ?? 0)) / 1_000;
}
