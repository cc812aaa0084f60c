import type { Reporter, TestModule, TestRunEndReason } from "vitest/node";

/**
 * Prints the closing line that CI reads: `N passed, N failed`, and `, N skipped` when there were any. A file that could not
 * be loaded counts as one failure, for its tests never ran; so does a run that failed before any test (a missing tool).
 */
export default class ClosingLineReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[], reason: TestRunEndReason): void {
    const counts = { passed: 0, failed: errors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) counts[test.result().state] += 1;
      counts.failed += module.errors().length;
    }
    if (reason === "failed" && counts.failed === 0) counts.failed = 1;
    const skipped = counts.skipped + counts.pending;
    const line = `${String(counts.passed)} passed, ${String(counts.failed)} failed`;
    // After the default reporter's summary, which is written in the same turn.
    setImmediate(() => {
      process.stdout.write(`\n${line}${skipped > 0 ? `, ${String(skipped)} skipped` : ""}\n`);
    });
  }
}
