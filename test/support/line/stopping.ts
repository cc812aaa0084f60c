/** Stopping a process (SIGSTOP), so that it lives and does nothing. */
import type { Agent } from "./agent.ts";
import type { Line } from "./line.ts";
import { until } from "./waiting.ts";

/**
 * Stops a leader outside of a write and while its poll is open. One that is stopped in the middle of a transaction keeps
 * SQLite's write lock, and nobody can take anything over until it runs on or dies: a limit of the embedded store. One that
 * is stopped between deciding to call and sending sends when it wakes: Telegram cannot be fenced.
 */
export async function stopOutsideOfWrites(line: Line, agent: Agent): Promise<number> {
  let stoppedAtMs = 0;
  await until(`${agent.label} is stopped outside of a write`, () => {
    if (line.control.state().polls.waiting === 0) return false;
    stoppedAtMs = Date.now();
    agent.signal("SIGSTOP");
    if (!line.isWriteLocked()) return true;
    agent.signal("SIGCONT");
    return false;
  });
  return stoppedAtMs;
}
