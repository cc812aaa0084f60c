/**
 * `npm run interop -- --as leader|follower --socket PATH --secret S`: one instance of ours facing a foreign v1 process, and
 * every line between them on stdout, secrets redacted.
 *
 * Stand-ins: our store is in memory, and the Bot API behind our leader gives fixed answers (threads counted up from 42).
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "../../adapters/host/clock.ts";
import { systemIds } from "../../adapters/host/ids.ts";
import { MemoryDatabase, openMemoryStore } from "../../adapters/store/memory/index.ts";
import type { FrameTap } from "../../adapters/transport/unix/frame-tap.ts";
import { defaultOwnerTimings } from "../../machines/owner.contract.ts";
import { faultOfName } from "../../machines/seat.rules.ts";
import { capability, type ProtocolIdentity } from "../../machines/wire/constants.ts";
import type { Link } from "../../services/ports.ts";
import type { V1Fleet } from "../../services/ports/owner.ts";
import type { Ports } from "../../services/runtime.ts";
import { foreignOwner } from "./lab/foreign-owner.ts";
import { countingIds, identityOf, openLab, v1Capabilities, type Lab } from "./lab/lab.ts";
import { faultOfPlace } from "./lab/place.ts";
import { scriptedTelegram } from "./lab/telegram.ts";
import { Verdict } from "./lab/verdict.ts";

const usage = `npm run interop -- --as leader|follower --socket PATH --secret S [options]

  --as leader     serve at PATH; followers that know S may register
  --as follower   register at the leader that serves at PATH
  --say TEXT      as follower: send this message once registered
  --leave         as follower: give the thread up at the end
  --seconds N     end after N seconds (default: at SIGINT or SIGTERM)
  --chat ID       the chat, and the user, of the line (default 7)
  --name NAME     the name of our seat (default "interop")
  --help          this text

The folder of PATH must be closed to others (0700) when we serve there; one that is not there yet is made.
Ends with 0. With 1, and a sentence that says what happened and what to do, when the two have not found each other, have lost
each other since, or the message was not sent: at once where waiting cannot help (another secret, another protocol), else at
the end. With 2 when an option is wrong.`;

const options = {
  as: { type: "string" },
  socket: { type: "string" },
  secret: { type: "string" },
  say: { type: "string" },
  leave: { type: "boolean", default: false },
  seconds: { type: "string" },
  chat: { type: "string", default: "7" },
  name: { type: "string", default: "interop" },
  help: { type: "boolean", default: false },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof options }>>["values"];

/** The options, or what is wrong with them. */
function read(): Values | string {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

interface Wanted {
  readonly as: "leader" | "follower";
  readonly socket: string;
  readonly secret: string;
  readonly chat: number;
  readonly name: string;
  readonly say: string | null;
  readonly isLeaving: boolean;
  readonly seconds: number | null;
}

function wantedFrom(values: Values): Wanted | string {
  const { as, socket, secret, name, say = null, leave: isLeaving } = values;
  const [chat, seconds] = [Number(values.chat), values.seconds === undefined ? null : Number(values.seconds)];
  if (as !== "leader" && as !== "follower") return "--as must be leader or follower";
  if (socket === undefined || socket === "") return "--socket PATH is missing";
  if (secret === undefined || secret === "") return "--secret S is missing";
  if (!Number.isSafeInteger(chat)) return "--chat must be a whole number";
  if (seconds !== null && !(seconds > 0)) return "--seconds must be a positive number";
  if (as === "leader" && (say !== null || isLeaving)) return "--say and --leave are a follower's: --as follower";
  const fault = faultOfName(name);
  if (fault !== null) return `--name: ${fault}`;
  const place = as === "leader" ? faultOfPlace(path.resolve(socket)) : null;
  if (place !== null) return `--socket: ${place}`;
  return { as, socket: path.resolve(socket), secret, chat, name, say, isLeaving, seconds };
}

/** Control characters of a foreign line as JSON writes them: raw, they would steer the terminal. */
const printable = (line: string): string =>
  line.replaceAll(/\p{Cc}/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Each line as it is on the wire, with where it went; whatever holds the secret holds "[secret]" instead. */
function printer(secret: string): FrameTap {
  const hidden = JSON.stringify(secret).slice(1, -1);
  return ({ address, end, direction, line }) => {
    const arrow = direction === "in" ? "<" : ">";
    const shown = line.replaceAll(hidden, "[secret]").replaceAll(/("auth":")[^"]*/g, "$1[secret]");
    console.log(`${new Date().toISOString()} ${end} ${address} ${arrow} ${printable(shown)}`);
  };
}

const ended = (seconds: number | null): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => resolve());
    if (seconds !== null) systemClock().setTimeout(resolve, seconds * 1_000);
  });

const tell = (words: string): void => console.log(`${new Date().toISOString()} ${words}`);

type Wire = Pick<Ports, "store" | "transport">;

/** Says why a connection was not made, once for each reason in a row; the verdict hears of all that comes and goes. */
function tellingOfPeers(verdict: Verdict): (wire: Wire) => Wire {
  let last = "";
  return ({ store, transport }) => ({
    store,
    transport: {
      ...transport,
      listen: (asked) =>
        transport.listen({
          ...asked,
          handle: async (request, from) => {
            const ack = await asked.handle(request, from);
            verdict.note({ kind: "answered", request, ack });
            return ack;
          },
        }),
      dial: async (address, timeoutMs) => {
        try {
          const link = await transport.dial(address, timeoutMs);
          last = "";
          return notedLink(link, verdict);
        } catch (error) {
          const reason = error instanceof Error ? error.message : String(error);
          if (reason !== last) tell(`nobody answers at ${address}: ${reason}; asking again`);
          last = reason;
          verdict.note({ kind: "unreached", reason });
          throw error;
        }
      },
    },
  });
}

function notedLink(link: Link, verdict: Verdict): Link {
  let isOurEnd = false;
  void link.closed.then(() => {
    if (!isOurEnd) verdict.note({ kind: "closed" });
  });
  return {
    closed: link.closed,
    close: () => {
      isOurEnd = true;
      link.close();
    },
    request: async (request, timeoutMs) => {
      const outcome = await link.request(request, timeoutMs);
      verdict.note({ kind: "asked", request, outcome });
      return outcome;
    },
  };
}

/** Follows the chart: what it became, and what troubles it. */
function tellOfRole({ instance: { actor } }: Lab, { as, socket }: Wanted, verdict: Verdict): void {
  actor.on("instance.ready", ({ thread }) => {
    verdict.ready();
    const where = as === "leader" ? `we lead, and serve at ${socket}` : `registered at ${socket}`;
    tell(`${where}; our thread is ${thread === null ? "none" : String(thread.target.threadId)}`);
  });
  actor.on("instance.troubled", ({ trouble, reason }) => {
    tell(`trouble (${trouble}): ${reason}`);
    verdict.note({ kind: "troubled", trouble, reason });
  });
}

const identityFor = ({ as }: Pick<Wanted, "as">): ProtocolIdentity =>
  identityOf("partyline", as === "leader" ? v1Capabilities : [capability.durableAdmission]);

function open({ as, socket, secret, chat, name }: Wanted, folder: string, verdict: Verdict): Lab {
  const ids = countingIds(systemIds());
  // A profile of its own: two of these must not take the same seat.
  const store = openMemoryStore({
    database: new MemoryDatabase(`interop-${String(process.pid)}`),
    clock: systemClock(),
  });
  const me = ids.instanceId(process.pid, Date.now());
  const ownSecret = as === "leader" ? secret : ids.secret();
  const fleet: V1Fleet = {
    store: foreignOwner({ endpoint: socket, secret }),
    self: { pid: process.pid, cwd: process.cwd(), instanceId: me, runtimeGeneration: 1, secret: ownSecret },
    timings: defaultOwnerTimings,
    mintEpoch: () => randomUUID(),
  };
  let messages = 900;
  return openLab({
    me,
    name,
    secret: ownSecret,
    chat,
    identity: identityFor({ as }),
    ids,
    telegram: scriptedTelegram(42, ({ method }) =>
      method === "sendMessage" ? { message_id: (messages += 1) } : undefined,
    ),
    store,
    folder,
    leaderAddress: socket,
    log: { event: () => undefined },
    counters: {
      count: (reason) => {
        tell(reason);
        if (reason === "line-malformed" || reason === "line-too-long") verdict.note({ kind: "garbled" });
      },
    },
    tap: printer(secret),
    handOut: ({ id }) => {
      tell(`update ${id} is ours and was handed out`);
    },
    around: tellingOfPeers(verdict),
    ...(as === "leader" ? {} : { v1: fleet }),
  });
}

async function main(): Promise<number> {
  const values = read();
  if (typeof values !== "string" && values.help) {
    console.log(usage);
    return 0;
  }
  const wanted = typeof values === "string" ? values : wantedFrom(values);
  if (typeof wanted === "string") {
    console.error(`interop: ${wanted}\n\n${usage}`);
    return 2;
  }
  const verdict = new Verdict({ as: wanted.as, socket: wanted.socket, identity: identityFor(wanted) });
  const over = Promise.race([ended(wanted.seconds), verdict.final]);
  const folder = mkdtempSync(path.join(os.tmpdir(), "pli-"));
  const lab = open(wanted, folder, verdict);
  tellOfRole(lab, wanted, verdict);
  let unsaid: string | null = null;
  try {
    if (wanted.say !== null) unsaid = await said(lab, wanted, wanted.say, over);
    await over;
  } finally {
    verdict.close();
    await lab.stop(wanted.isLeaving);
    rmSync(folder, { recursive: true, force: true });
  }
  const failure = verdict.sentence() ?? unsaid;
  if (failure === null) return 0;
  tell(failure);
  return 1;
}

/** Sends the message once there is a thread for it; returns what came between, null = it was sent. */
async function said(lab: Lab, { chat }: Wanted, text: string, over: Promise<void>): Promise<string | null> {
  const { actor } = lab.instance;
  const thread = await Promise.race([
    new Promise<number | undefined>((resolve) => {
      actor.on("instance.ready", (fact) => resolve(fact.thread?.target.threadId));
    }),
    over,
  ]);
  if (thread === undefined) return "The message was not sent: there was no thread to send it to.";
  const outcome = await lab.instance.call({
    method: "sendMessage",
    body: { chat_id: chat, message_thread_id: thread, text },
  });
  tell(`the call: ${JSON.stringify(outcome)}`);
  return outcome.kind === "ok" ? null : "The message was not sent: the line above says why.";
}

process.exitCode = await main();
