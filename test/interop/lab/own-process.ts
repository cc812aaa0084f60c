/**
 * One process with an instance of ours in a v1 fleet, to be killed. Environment: PARTYLINE_TOKEN, PARTYLINE_USER,
 * PARTYLINE_HOME, PARTYLINE_API_ROOT, V1_HOME, NAME. Says on stdout what `v1-process.ts` says.
 */
import { createInstance } from "../../../index.ts";

const { PARTYLINE_TOKEN = "", PARTYLINE_USER, PARTYLINE_HOME = "", PARTYLINE_API_ROOT = "" } = process.env;
const { V1_HOME = "", NAME = "ours" } = process.env;
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const instance = await createInstance({
  token: PARTYLINE_TOKEN,
  user: Number(PARTYLINE_USER),
  home: PARTYLINE_HOME,
  apiRoot: PARTYLINE_API_ROOT,
  name: NAME,
  pollSeconds: 1,
  compat: { agentDir: V1_HOME },
});
instance.on("update", ({ update }) => {
  say({ got: update.message?.text });
});
instance.actor.on("instance.ready", ({ thread }) => {
  say({ is: instance.role, thread: thread?.target.threadId, slot: thread?.slot });
});
