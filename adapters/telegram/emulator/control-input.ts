/**
 * Reading the control API's input.
 *
 * Owns: the control error and typed access to a JSON object of unknown shape. Does not own: what an operation does.
 * Invariant: every refusal names the field and says what to send.
 */
import { isRecord, type JsonRecord } from "./params.ts";

/** Bad input or an operation that is impossible now; answered as HTTP 400 with `{ ok: false, error }`. */
export class ControlError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ControlError";
  }
}

export class ControlInput {
  readonly record: JsonRecord;

  constructor(value: unknown) {
    if (!isRecord(value)) throw new ControlError("send a JSON object as the request body");
    this.record = value;
  }

  integer(name: string): number {
    const value = this.optionalInteger(name);
    if (value === undefined) throw new ControlError(`"${name}" is missing: send an integer`);
    return value;
  }

  optionalInteger(name: string): number | undefined {
    const value = this.record[name];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== "number" || !Number.isSafeInteger(value))
      throw new ControlError(`"${name}" must be an integer`);
    return value;
  }

  text(name: string): string {
    const value = this.optionalText(name);
    if (value === undefined || value === "") throw new ControlError(`"${name}" is missing: send a non-empty string`);
    return value;
  }

  optionalText(name: string): string | undefined {
    const value = this.record[name];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== "string") throw new ControlError(`"${name}" must be a string`);
    return value;
  }

  flag(name: string): boolean {
    const value = this.optionalFlag(name);
    if (value === undefined) throw new ControlError(`"${name}" is missing: send true or false`);
    return value;
  }

  optionalFlag(name: string): boolean | undefined {
    const value = this.record[name];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== "boolean") throw new ControlError(`"${name}" must be true or false`);
    return value;
  }

  optionalObject(name: string): JsonRecord | undefined {
    const value = this.record[name];
    if (value === undefined || value === null) return undefined;
    if (!isRecord(value)) throw new ControlError(`"${name}" must be an object`);
    return value;
  }

  object(name: string): JsonRecord {
    const value = this.optionalObject(name);
    if (value === undefined) throw new ControlError(`"${name}" is missing: send an object`);
    return value;
  }
}

/** `base` plus those of `optional` that are set: exact optional properties without undefined. */
export function withDefined<B extends object, O extends object>(
  base: B,
  optional: { readonly [K in keyof O]: O[K] | undefined },
): B & Partial<O> {
  const defined = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined));
  // Only keys of O with their own value types are left.
  return { ...base, ...(defined as Partial<O>) };
}
