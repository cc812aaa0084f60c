/**
 * An instance that works in turns and stands still at one step of a handoff (updates §5.10), so that a test can kill it, or
 * another one, exactly there.
 *
 * Owns: the gates, put between the real store and the services. Does not own: any behaviour of a handoff.
 *
 * Lines on stdin: `{"type":"hold"}` and `{"type":"free"}` keep turns back; `{"type":"arm","gates":[…]}` closes gates,
 * `{"type":"go"}` opens all; `{"type":"offer","text","threadId"}` offers the waiting turn with this text.
 * Lines on stdout, each a step: `at GATE`, `queue STANDING TEXT,…` at every change, `ran TEXT` as a turn begins and
 * `acked TEXT ANSWER` as it ends, `offer KIND`.
 *
 * Gates: `offer` (nothing is on disk), `offered` (it is, the donor has no answer), `blind` (the recipient sees no offers),
 * `accept` (staged), `accepted` (on disk, the recipient has no answer), `standing` (the donor asks whose it is),
 * `gone` (the donor has the answer that it is not his, and has not read it).
 */
import { createInterface } from "node:readline";
import { journalSeq } from "../../../machines/ids.ts";
import type { OfferStore, Store } from "../../../services/ports.ts";
import { openProgramInstance, tell } from "./program-instance.ts";

const closed = new Set<string>();
let openers: (() => void)[] = [];

/** Reports that it is reached, and stands there while it is closed. */
async function gate(name: string): Promise<void> {
  if (!closed.has(name)) return;
  tell({ type: "step", step: `at ${name}` });
  while (closed.has(name)) await new Promise<void>((resolve) => openers.push(resolve));
}

function withGates(offers: OfferStore): OfferStore {
  return {
    ...offers,
    async offer(request) {
      await gate("offer");
      const answer = await offers.offer(request);
      await gate("offered");
      return answer;
    },
    offersTo: (who) => (closed.has("blind") ? Promise.resolve([]) : offers.offersTo(who)),
    async accept(request) {
      await gate("accept");
      const answer = await offers.accept(request);
      await gate("accepted");
      return answer;
    },
    async standing(request) {
      await gate("standing");
      const answer = await offers.standing(request);
      if (answer.kind === "gone") await gate("gone");
      return answer;
    },
  };
}

const composed = await openProgramInstance({
  host: "turns",
  store: (store: Store) => ({ ...store, offers: withGates(store.offers) }),
  handOut: () => Promise.resolve(),
  runTurn: async (turn) => {
    tell({ type: "step", step: `ran ${turn.text}` });
    tell({ type: "step", step: `acked ${turn.text} ${String(await turn.ack())}` });
  },
});

let shown = "";
composed.queue.actor.subscribe(() => {
  const now = composed.queue
    .list()
    .map(({ standing, text }) => `${standing} ${text}`)
    .join(",");
  if (now !== shown) tell({ type: "step", step: `queue ${(shown = now)}` });
});

async function offer(text: string, threadId: number): Promise<void> {
  const found = composed.queue.list().find((item) => item.text === text);
  const outcome = await composed.handoffs.offerTo(journalSeq(Number(found?.id)), { threadId });
  tell({ type: "step", step: `offer ${outcome.kind}` });
}

let release: () => void = () => undefined;
interface Command {
  readonly type: "hold" | "free" | "arm" | "go" | "offer";
  readonly gates: readonly string[];
  readonly text: string;
  readonly threadId: number;
}
createInterface({ input: process.stdin }).on("line", (line) => {
  const command = JSON.parse(line) as Command; // the test's own lines
  switch (command.type) {
    case "hold":
      release = composed.queue.hold();
      break;
    case "free":
      release();
      break;
    case "arm":
      for (const name of command.gates) closed.add(name);
      break;
    case "go":
      closed.clear();
      for (const open of openers) open();
      openers = [];
      break;
    case "offer":
      void offer(command.text, command.threadId);
  }
});
composed.queue.listening.updates(true);
composed.queue.listening.turns(true);
composed.actor.start();
