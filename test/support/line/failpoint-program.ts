/**
 * An instance that kills itself (SIGKILL) exactly at one step of an update's way, with the lines of `run --ndjson`.
 *
 * Owns: the four steps, put between the real ports and the services. Does not own: any of their behaviour.
 * The step is named in PARTYLINE_TEST_STEP and taken at the first update whose text starts with `fatal`.
 *
 * Steps: `received` (a batch is in hand, not in the journal), `admitted` (it is in the journal, nothing forwarded),
 * `forwarded` (the first update of each thread has arrived, the answers are thrown away), `acked` (all were answered and
 * noted; the poll that would confirm the batch to Telegram has not left).
 */
import { createInterface } from "node:readline";
import type { HandedUpdate } from "../../../services/queue.ts";
import type { Link, Store, TelegramApi, Transport } from "../../../services/ports.ts";
import { openProgramInstance, tell } from "./program-instance.ts";

type Step = "received" | "admitted" | "forwarded" | "acked";
const wanted = process.env["PARTYLINE_TEST_STEP"] as Step; // set by the test, one of the four

function die(step: Step): never {
  tell({ type: "step", step });
  process.kill(process.pid, "SIGKILL");
  throw new Error("still alive after SIGKILL");
}

/** The fatal batch: how many of its updates, and of its threads, are still to be answered for by their recipients. */
const batch = { isIn: false, open: 0, lanes: new Set<string>() };
let answered = 0;
const isFatal = (body: string): boolean => body.includes('"text":"fatal');
const never = <Value>(): Promise<Value> => new Promise<Value>(() => undefined);

function withStoreSteps(store: Store): Store {
  const { journal } = store;
  return {
    ...store,
    journal: {
      cursor: () => journal.cursor(),
      heads: (request) => journal.heads(request),
      drop: (request) => journal.drop(request),
      redirect: (request) => journal.redirect(request),
      deadLetter: (request) => journal.deadLetter(request),
      async admit(request) {
        const found = request.updates.filter(({ body }) => isFatal(body));
        const fatal = found.length;
        if (fatal > 0 && wanted === "received") die("received");
        const answer = await journal.admit(request);
        if (fatal > 0) {
          batch.isIn = true;
          batch.open += fatal;
          for (const { lane } of found) batch.lanes.add(lane);
          tell({ type: "step", step: `durable ${fatal}` });
        }
        return answer;
      },
    },
  };
}

function withLinkSteps(link: Link): Link {
  return {
    closed: link.closed,
    close: () => {
      link.close();
    },
    async request(envelope, timeoutMs) {
      const isForward = envelope.kind.startsWith("leader.forward") && isFatal(JSON.stringify(envelope));
      if (isForward && wanted === "admitted") die("admitted");
      const outcome = await link.request(envelope, timeoutMs);
      if (!isForward) return outcome;
      batch.open -= 1;
      if (wanted !== "forwarded") return outcome;
      answered += 1;
      if (answered === batch.lanes.size) die("forwarded");
      // This answer was never read either; the other threads' first updates are on their way.
      return never();
    },
  };
}

function withTransportSteps(transport: Transport): Transport {
  return {
    leaderAddress: transport.leaderAddress,
    followerAddress: (instance) => transport.followerAddress(instance),
    listen: (request) => transport.listen(request),
    dial: async (address, timeoutMs) => withLinkSteps(await transport.dial(address, timeoutMs)),
  };
}

/** For `acked`: the poll after the batch waits until all is answered, and then never leaves. */
function withPollStep(telegram: TelegramApi): TelegramApi {
  return {
    ...telegram,
    async call(method, payload, limits) {
      if (method === "getUpdates" && wanted === "acked" && batch.isIn) {
        while (batch.open > 0) await new Promise((resolve) => setTimeout(resolve, 5));
        // The answer is noted by the chart before this turn of the event loop is over.
        setImmediate(() => die("acked"));
        return never();
      }
      return telegram.call(method, payload, limits);
    },
  };
}

const open = new Map<string, HandedUpdate>();
const composed = await openProgramInstance({
  host: "updates",
  store: withStoreSteps,
  transport: withTransportSteps,
  telegram: withPollStep,
  handOut: (handed) => {
    open.set(handed.id, handed);
    const { id, update, redelivered } = handed;
    tell({ type: "update", id, update, ...(redelivered ? { redelivered } : {}) });
    return Promise.resolve();
  },
  runTurn: () => Promise.resolve(),
});
createInterface({ input: process.stdin }).on("line", (line) => {
  const { type, id } = JSON.parse(line) as { type: string; id: string }; // the test's own lines
  if (type === "ack") void open.get(id)?.ack();
});
composed.queue.listening.updates(true);
composed.actor.start();
