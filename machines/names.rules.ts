/**
 * Letters and names of threads.
 *
 * Slots are names, not a limit: after `Z` come `AA`, `AB`, …, ordered by length, then text. Each letter has five names of
 * its own, so that threads are told apart at a glance.
 */

const palette: Readonly<Record<string, readonly string[]>> = {
  A: ["Amber", "Aspen", "Atlas", "Alder", "Azure"],
  B: ["Beryl", "Birch", "Bison", "Brook", "Blaze"],
  C: ["Cedar", "Coral", "Comet", "Crane", "Cobalt"],
  D: ["Delta", "Dune", "Drift", "Dahlia", "Dawn"],
  E: ["Ember", "Echo", "Elder", "Egret", "Ebony"],
  F: ["Fern", "Flint", "Fjord", "Falcon", "Frost"],
  G: ["Grove", "Garnet", "Glade", "Gale", "Gecko"],
  H: ["Hazel", "Heron", "Harbor", "Holly", "Helix"],
  I: ["Indigo", "Iris", "Islet", "Ivory", "Ibis"],
  J: ["Jade", "Jungle", "Jasper", "Jetty", "Joule"],
  K: ["Kelp", "Kite", "Krill", "Koala", "Karst"],
  L: ["Lark", "Lotus", "Linden", "Lumen", "Lava"],
  M: ["Maple", "Mesa", "Moss", "Marble", "Meadow"],
  N: ["Nova", "Nectar", "Nimbus", "Newt", "North"],
  O: ["Onyx", "Opal", "Otter", "Orbit", "Olive"],
  P: ["Pine", "Pebble", "Petal", "Prism", "Plume"],
  Q: ["Quartz", "Quail", "Quill", "Quest", "Quince"],
  R: ["Raven", "Reef", "Ridge", "Rowan", "Ruby"],
  S: ["Sable", "Sierra", "Sage", "Slate", "Spruce"],
  T: ["Tide", "Topaz", "Tulip", "Tundra", "Tern"],
  U: ["Umber", "Urchin", "Upland", "Umbra", "Unity"],
  V: ["Vale", "Velvet", "Violet", "Vista", "Viper"],
  W: ["Willow", "Wren", "Wave", "Walnut", "Wisp"],
  X: ["Xenon", "Xylem", "Xenia", "Xeric", "Xylo"],
  Y: ["Yarrow", "Yucca", "Yonder", "Yield", "Yolk"],
  Z: ["Zephyr", "Zinc", "Zenith", "Zebra", "Zircon"],
};

export const isSlot = (text: string): boolean => /^[A-Z]{1,2}$/.test(text);

/** Order of slots: by length, then text. */
export const compareSlots = (a: string, b: string): number => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);

/** The slot after this one; null after `ZZ`. */
function nextSlot(slot: string): string | null {
  const letter = (code: number) => String.fromCharCode(65 + code);
  const digit = (index: number) => slot.charCodeAt(index) - 64;
  const value = (slot.length === 1 ? digit(0) : digit(0) * 26 + digit(1)) + 1;
  if (value > 26 * 27) return null;
  if (value <= 26) return letter(value - 1);
  return letter(Math.floor((value - 27) / 26)) + letter((value - 27) % 26);
}

/** The first free slot; null when all 702 are taken, and then a thread goes without one. */
export function freeSlot(taken: readonly string[]): string | null {
  const occupied = new Set(taken);
  for (let slot: string | null = "A"; slot !== null; slot = nextSlot(slot)) if (!occupied.has(slot)) return slot;
  return null;
}

/**
 * A name for a thread: the wish if it can be a name, else one of the slot's palette that nobody has, chosen by `turn`
 * (any whole number; the same one gives the same name), else the first of the palette.
 */
export function nameFor(request: {
  readonly slot: string;
  readonly wish: string | null;
  readonly taken: readonly string[];
  readonly turn: number;
}): string {
  if (request.wish !== null && isThreadName(request.wish)) return request.wish;
  const names = (isSlot(request.slot) ? palette[request.slot[0] ?? ""] : undefined) ?? ["Thread"];
  const free = names.filter((name) => !request.taken.includes(name));
  const choice = free.length > 0 ? free : names;
  return choice[Math.abs(request.turn) % choice.length] ?? request.slot;
}

/** Telegram's limit on a topic's name. */
const threadNameCharsMax = 128;

/** Whether a text can stand as a thread's title: one line, not blank, within Telegram's limit. */
export const isThreadName = (text: string): boolean =>
  text.trim() !== "" && text.length <= threadNameCharsMax && !/[\r\n]/.test(text);
