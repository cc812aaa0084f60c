/** What changed between two plain values, field by field. */

export interface Difference {
  readonly path: string;
  /** Undefined: it was not there. */
  readonly before: unknown;
  /** Undefined: it is gone. */
  readonly after: unknown;
}

const isTree = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

/** At most `limit` differences, in the order of the fields. */
export function differences(before: unknown, after: unknown, limit = 60): readonly Difference[] {
  const found: Difference[] = [];
  const walk = (one: unknown, other: unknown, path: string): void => {
    if (found.length >= limit || Object.is(one, other)) return;
    if (isTree(one) && isTree(other) && Array.isArray(one) === Array.isArray(other)) {
      for (const key of new Set([...Object.keys(one), ...Object.keys(other)]))
        walk(one[key], other[key], path === "" ? key : `${path}.${key}`);
    } else if (JSON.stringify(one) !== JSON.stringify(other)) found.push({ path, before: one, after: other });
  };
  walk(before, after, "");
  return found;
}
