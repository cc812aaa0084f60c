/**
 * The redactor, made safe to call while actors run.
 *
 * Owns: that nothing is shown which did not pass the redactor, and that a redactor that throws harms nobody.
 * Does not own: what counts as a secret; the redactor is given to the inspector.
 *
 * Invariants:
 * 1. Nothing here throws.
 * 2. When the redactor fails, a note is shown instead of the value.
 */

const note = "<not shown: the redactor failed>";
const depthMax = 8;
const entriesMax = 200;

export class SafeRedaction {
  readonly #redact: (value: unknown) => unknown;
  #failures = 0;

  constructor(redact: (value: unknown) => unknown) {
    this.#redact = redact;
  }

  get failures(): number {
    return this.#failures;
  }

  /** The redactor's copy of a value. References to actors are named beforehand: behind one lies the whole system. */
  value(value: unknown): unknown {
    try {
      return this.#redact(nameActors(value, []));
    } catch {
      // What went wrong may quote the value: it is counted, not shown.
      this.#failures += 1;
      return note;
    }
  }

  text(text: string): string {
    const shown = this.value(text);
    return typeof shown === "string" ? shown : note;
  }
}

/** A copy with actors as `<actor ID>`; whatever is not a plain object or list, or lies too deep, stays what it is. */
function nameActors(value: unknown, above: readonly object[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  if ("sessionId" in value && "getSnapshot" in value) return `<actor ${"id" in value ? String(value.id) : "?"}>`;
  if (above.includes(value)) return "<cycle>";
  if (above.length >= depthMax) return "<too deep>";
  const inside = [...above, value];
  const walk = (item: unknown, index: number): unknown => (index < entriesMax ? nameActors(item, inside) : item);
  if (Array.isArray(value)) return value.map(walk);
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item], index) => [key, walk(item, index)]));
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
