/**
 * Plain data as identity: keys, interning, renaming.
 *
 * Owns: the canonical text of a value, the table from text to small integer, the consistent renaming of tokens.
 * Does not own: what is interned (`locals.ts`, `composition.ts`).
 *
 * Invariants: two values have one key exactly when they are equal as data; ids are dense and never re-used.
 */

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Canonical text of plain data: JSON with sorted keys, `undefined` members left out. Throws on what is no data. */
export function keyOf(value: unknown): string {
  if (value === undefined) return "undefined";
  if (value === null || typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value !== "object") throw new Error(`no data: a ${typeof value}. Leave it out by the chart's projection.`);
  if (Array.isArray(value)) return `[${value.map(keyOf).join(",")}]`;
  if (!isPlain(value)) throw new Error("no data: an instance of a class. Leave it out by the chart's projection.");
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${keyOf(member)}`).join(",")}}`;
}

/** The value with each string that is a token replaced. Class instances (actor references) pass unchanged. */
export function renamed(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof value === "string") return names.get(value) ?? value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => renamed(each, names));
  if (!isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [names.get(name) ?? name, renamed(member, names)]),
  );
}

/** Distinct values, numbered from 0 in order of appearance. */
export class Interner<Value> {
  private readonly ids = new Map<string, number>();
  readonly values: Value[] = [];

  intern(key: string, make: () => Value): number {
    const known = this.ids.get(key);
    if (known !== undefined) return known;
    const id = this.values.length;
    this.ids.set(key, id);
    this.values.push(make());
    return id;
  }

  /** Interns data by its own key. */
  add(value: Value): number {
    return this.intern(keyOf(value), () => value);
  }

  at(id: number): Value {
    if (id < 0 || id >= this.values.length) throw new Error(`nothing is interned as ${id}`);
    // The bound was checked, so the element is a Value even where Value includes undefined.
    return this.values[id] as Value;
  }
}
