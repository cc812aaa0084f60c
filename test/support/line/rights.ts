/** Starting a process that may not do what root may. */
import process from "node:process";

/** Root opens every file; started by this it opens what an ordinary user in its place could. Needs util-linux, as root only. */
export const withoutOverride = (): readonly string[] =>
  process.getuid?.() === 0
    ? ["setpriv", "--inh-caps=-dac_override,-dac_read_search", "--bounding-set=-dac_override,-dac_read_search"]
    : [];
