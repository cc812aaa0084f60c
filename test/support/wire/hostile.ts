/**
 * Lines as broken and hostile peers send them: cut, mangled, huge, deeply nested, of the wrong types, and well-formed ones
 * that mean harm.
 *
 * Owns: the arbitraries. Does not own: what anybody answers. A line has no LF.
 */
import fc from "fast-check";

/** Methods by which a mangled frame could say that it is something else altogether. */
const kindsOfHarm = ["__proto__", "constructor", "hasOwnProperty", "toString"];

/** A field anywhere in a frame, by path, with another value. */
function replaced(value: unknown, path: readonly number[], by: unknown): unknown {
  const [at, ...rest] = path;
  if (at === undefined || typeof value !== "object" || value === null) return by;
  const keys = Object.keys(value);
  if (keys.length === 0) return by;
  const key = keys[at % keys.length] ?? "";
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [...(value as unknown[])] : { ...value };
  Reflect.set(copy, key, replaced(Reflect.get(value, key), rest, by));
  return copy;
}

const oddValue = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom<unknown>(null, -1, 0, 1.5, 2 ** 53, "", " ", [], {}, true, "x".repeat(5_000)),
  fc.integer({ min: 1, max: 400 }).map((depth): unknown => {
    let nested: unknown = 1;
    for (let level = 0; level < depth; level += 1) nested = level % 2 === 0 ? [nested] : { a: nested };
    return nested;
  }),
);

/** Mangles these frames, or makes up others. */
export function hostileLine(samples: readonly string[]): fc.Arbitrary<string> {
  const sample = fc.constantFrom(...samples);
  return fc.oneof(
    fc.string().map((text) => text.replaceAll("\n", " ")),
    fc.json().map((text) => text.replaceAll("\n", " ")),
    fc.tuple(sample, fc.nat(600)).map(([line, end]) => line.slice(0, end)),
    fc
      .tuple(sample, fc.nat(600), fc.constantFrom('"', "{", "]", "\\", "\u0000", "0", "👍"))
      .map(([line, at, text]) => line.slice(0, at) + text + line.slice(at + 1)),
    // A value of another type, at any depth.
    fc
      .tuple(sample, fc.array(fc.nat(20), { minLength: 1, maxLength: 4 }), oddValue)
      .map(([line, path, value]) => JSON.stringify(replaced(JSON.parse(line), path, value))),
    fc
      .tuple(fc.constantFrom("[", '{"a":', '{"kind":['), fc.integer({ min: 1, max: 200_000 }))
      .map(([text, times]) => text.repeat(times)),
    fc.integer({ min: 1, max: 300_000 }).map((length) => `{"kind":"${"x".repeat(length)}"}`),
    fc.constantFrom(...kindsOfHarm).map((kind) => JSON.stringify({ kind, requestId: kind })),
  );
}

/** Bytes that are no UTF-8, without LF. */
export const hostileBytes = fc
  .uint8Array({ maxLength: 200 })
  .map((bytes) => Buffer.from(bytes.map((byte) => (byte === 10 ? 11 : byte))));
