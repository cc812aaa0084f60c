import { hasDist } from "../tools.ts";

/** End-to-end tests start the built program; without dist/ there is nothing to test, in CI or elsewhere. */
export default function requireDist(): void {
  if (!hasDist()) throw new Error("dist/cli.js is missing: run `npm run build` first.");
}
