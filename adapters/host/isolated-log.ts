/**
 * A host's log made safe to call.
 *
 * Owns: that nothing secret reaches it, and that nothing it throws reaches us. Does not own: writing.
 */
import { asBody } from "../../machines/calls.rules.ts";
import type { Log } from "../../services/ports.ts";
import type { Redactor } from "./redact.ts";

/** The host's log, free of secrets and unable to disturb anybody. */
export function isolated(log: Log, redact: Redactor): Log {
  return {
    event: (level, phase, fields) => {
      try {
        log.event(level, phase, asBody(redact.value(fields)) ?? {});
      } catch {
        // A log that cannot be written is lost; the work goes on.
      }
    },
  };
}
