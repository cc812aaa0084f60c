/**
 * Many instances in one process: `crowd-program COUNT PREFIX`. Says `ready` when all of them are, ends on SIGTERM.
 */
import { createInstance } from "../../../index.ts";
import type { Instance } from "../../../index.ts";

const count = Number(process.argv[2]);
const prefix = process.argv[3] ?? "crowd";
const instances: Instance[] = [];
for (let number = 0; number < count; number += 1) {
  const instance = await createInstance({
    token: process.env["TELEGRAM_BOT_TOKEN"] ?? "",
    user: Number(process.env["PARTYLINE_USER"]),
    home: process.env["PARTYLINE_HOME"] ?? "",
    apiRoot: process.env["PARTYLINE_API_ROOT"] ?? "",
    name: `${prefix}-${number}`,
  });
  instance.on("update", () => undefined);
  instances.push(instance);
  await instance.ready;
}
process.once("SIGTERM", () => {
  void Promise.all(instances.map((instance) => instance.stop()));
});
console.log(JSON.stringify({ type: "ready", instanceId: prefix, role: instances[0]?.role, thread: null }));
