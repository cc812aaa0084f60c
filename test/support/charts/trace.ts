/** How values read in a trace: on one line, without what lies deeper than a golden trace needs. */

function inner(value: unknown, depth: number): string {
  if (value instanceof Error) return value.message;
  if (value === null || typeof value !== "object") return String(value);
  if (Array.isArray(value)) return `[${value.length}]`;
  if (depth > 0) return "…";
  const { type, kind, ...rest } = { type: undefined, kind: undefined, ...value };
  const fields = Object.entries(rest).map(([key, each]) => `${key}: ${inner(each, depth + 1)}`);
  return [type, kind, fields.length > 0 ? `(${fields.join(", ")})` : undefined]
    .filter((part) => part !== undefined)
    .map(String)
    .join(" ");
}

/** `granted (record: …, remainingMs: 6000)` */
export const brief = (value: unknown): string => inner(value, 0);
