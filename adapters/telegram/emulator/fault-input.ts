/**
 * Reading a fault from the control API's JSON.
 *
 * Owns: which fields each kind of fault has. Does not own: what a fault does (faults.ts, bot-api.ts).
 */
import { ControlError, ControlInput, withDefined } from "./control-input.ts";
import type { Fault, FaultAction } from "./faults.ts";

type Scalar = string | number | boolean;

export function readFault(input: ControlInput): Fault {
  return withDefined(
    { ...readAction(input), method: input.text("method") },
    { times: readTimes(input), where: readWhere(input) },
  );
}

function readAction(input: ControlInput): FaultAction {
  const kind = input.text("kind");
  switch (kind) {
    case "http":
      return withDefined(
        { kind, status: httpStatus(input) },
        { body: input.record["body"], contentType: input.optionalText("contentType"), headers: readHeaders(input) },
      );
    case "error":
      return withDefined(
        { kind, error_code: input.integer("error_code"), description: input.text("description") },
        { parameters: readParameters(input) },
      );
    case "retryAfter":
      return { kind, seconds: input.integer("seconds") };
    case "lostBefore":
    case "lost":
    case "hang":
    case "truncatedJson":
      return { kind };
    case "latencyMs":
      return withDefined({ kind, ms: input.integer("ms") }, { when: readWhen(input) });
    case "emptyOk":
      return withDefined({ kind }, { shape: readShape(input), perform: input.optionalFlag("perform") });
    case "result":
      return withDefined({ kind, result: input.record["result"] }, { perform: input.optionalFlag("perform") });
    default:
      throw new ControlError(
        `"kind" must be http, error, retryAfter, lostBefore, lost, hang, latencyMs, truncatedJson, emptyOk or result; got "${kind}"`,
      );
  }
}

function httpStatus(input: ControlInput): number {
  const status = input.integer("status");
  if (status < 200 || status > 599) throw new ControlError('"status" must be between 200 and 599');
  return status;
}

function readTimes(input: ControlInput): number | "forever" | undefined {
  if (input.record["times"] === "forever") return "forever";
  const times = input.optionalInteger("times");
  if (times !== undefined && times < 1) throw new ControlError('"times" must be at least 1, or "forever"');
  return times;
}

function readWhere(input: ControlInput): Readonly<Record<string, Scalar>> | undefined {
  const where = input.optionalObject("where");
  if (where === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(where).map(([name, value]) => {
      if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return [name, value];
      throw new ControlError(`"where.${name}" must be a string, a number or a boolean`);
    }),
  );
}

function readHeaders(input: ControlInput): Readonly<Record<string, string>> | undefined {
  const headers = input.optionalObject("headers");
  if (headers === undefined) return undefined;
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

function readParameters(input: ControlInput): { retry_after?: number; migrate_to_chat_id?: number } | undefined {
  const parameters = input.optionalObject("parameters");
  if (parameters === undefined) return undefined;
  const fields = new ControlInput(parameters);
  return withDefined(
    {},
    {
      retry_after: fields.optionalInteger("retry_after"),
      migrate_to_chat_id: fields.optionalInteger("migrate_to_chat_id"),
    },
  );
}

function readWhen(input: ControlInput): "before" | "after" | undefined {
  const when = input.optionalText("when");
  if (when === undefined || when === "before" || when === "after") return when;
  throw new ControlError('"when" must be "before" or "after"');
}

function readShape(input: ControlInput): "noResult" | "emptyObject" | undefined {
  const shape = input.optionalText("shape");
  if (shape === undefined || shape === "noResult" || shape === "emptyObject") return shape;
  throw new ControlError('"shape" must be "noResult" or "emptyObject"');
}
