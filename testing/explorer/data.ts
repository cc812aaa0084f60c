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

const isSorted = (names: readonly string[]): boolean => {
  for (let at = 1; at < names.length; at += 1) if ((names[at - 1] ?? "") > (names[at] ?? "")) return false;
  return true;
};

/** The names of a record's members in order, by a number; `longer`: those with one more name. */
interface Form {
  readonly number: number;
  readonly longer: Map<string, Form>;
}

/**
 * Plain data by its structure: equal data, one number and one instance, without writing the data out.
 *
 * Only the one instance of each structure is remembered by reference, and it is made of such instances. So a value made
 * from one of them by a spread costs what differs. Values are never changed after they were shown to it.
 */
class Structures {
  private readonly numbers = new Map<unknown, number>();
  private readonly shapes = new Map<string, number>();
  private readonly instances: unknown[] = [];
  private readonly noNames: Form = { number: 0, longer: new Map() };
  private forms = 0;

  numberOf(value: unknown): number {
    const known = this.numbers.get(value);
    if (known !== undefined) return known;
    if (typeof value === "object" && value !== null) return this.numberOfShape(value);
    keyOf(value); // throws on what is no data
    return this.remember(value);
  }

  at(number: number): unknown {
    return this.instances[number];
  }

  private numberOfShape(value: object): number {
    const shape = Array.isArray(value) ? this.shapeOfList(value) : this.shapeOfRecord(value);
    const known = this.shapes.get(shape);
    if (known !== undefined) return known;
    const number = this.remember(this.instanceOf(value));
    this.shapes.set(shape, number);
    return number;
  }

  private remember(instance: unknown): number {
    const number = this.instances.push(instance) - 1;
    this.numbers.set(instance, number);
    return number;
  }

  private instanceOf(value: object): unknown {
    const same = (member: unknown): unknown => this.instances[this.numberOf(member)];
    if (Array.isArray(value)) return value.map(same);
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, same(member)]));
  }

  private formWith(form: Form, name: string): Form {
    const known = form.longer.get(name);
    if (known !== undefined) return known;
    const longer = { number: (this.forms += 1), longer: new Map<string, Form>() };
    form.longer.set(name, longer);
    return longer;
  }

  private shapeOfList(items: readonly unknown[]): string {
    let shape = "[";
    for (const item of items) shape += `${this.numberOf(item)},`;
    return shape;
  }

  private shapeOfRecord(value: object): string {
    if (!isPlain(value)) keyOf(value); // throws: no data
    // Plain: its members are data.
    const record = value as Readonly<Record<string, unknown>>;
    const names = Object.keys(record);
    if (!isSorted(names)) names.sort();
    let form = this.noNames;
    let members = "";
    for (const name of names) {
      const member = record[name];
      if (member === undefined) continue;
      form = this.formWith(form, name);
      members += `,${this.numberOf(member)}`;
    }
    return `{${form.number}${members}`;
  }
}

/** Distinct values, numbered from 0 in order of appearance. */
export class Interner<Value> {
  private readonly ids = new Map<string | number, number>();
  private readonly structures = new Structures();
  readonly values: Value[] = [];

  /** Interns under a text of the caller's. */
  intern(key: string, make: () => Value): number {
    return this.ids.get(key) ?? this.append(key, make());
  }

  /** Interns data by its own structure. */
  add(value: Value): number {
    const number = this.structures.numberOf(value);
    // The instance is equal as data to the value.
    return this.ids.get(number) ?? this.append(number, this.structures.at(number) as Value);
  }

  at(id: number): Value {
    if (id < 0 || id >= this.values.length) throw new Error(`nothing is interned as ${id}`);
    // The bound was checked, so the element is a Value even where Value includes undefined.
    return this.values[id] as Value;
  }

  private append(key: string | number, value: Value): number {
    const id = this.values.length;
    this.ids.set(key, id);
    this.values.push(value);
    return id;
  }
}
