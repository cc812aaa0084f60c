/** Lines opened in a test, closed after it whatever happened. */
import { afterEach } from "vitest";
import type { EmulatorOptions } from "../../../adapters/telegram/emulator/index.ts";
import { Line } from "./line.ts";

export function useLines(): (options?: Partial<EmulatorOptions>) => Promise<Line> {
  const open: Line[] = [];
  afterEach(async () => {
    for (const line of open.splice(0)) await line.dispose();
  });
  return async (options) => {
    const line = await Line.open(options);
    open.push(line);
    return line;
  };
}
