/**
 * What a server does with one line, on any medium (protocol §2.2, §2.4, §4.4 up to the handler).
 *
 * Owns: malformed answers, the ledger, what a failed handler answers.
 * Does not own: connections and lines (unix/, memory/); the order of refusals, which differs by role: acks as requests,
 * authentication and everything after it are the handler's.
 * Invariants:
 *  - every line gets exactly one answer, unless its handler never settles (W-10);
 *  - no line, handler or answer makes `answer` throw or its promise reject;
 *  - an answer carries the id of the request it answers (O-8).
 */
import { requestLedgerEntriesMax } from "../../../machines/wire/constants.ts";
import type { Ack, Envelope, WireErrorCode } from "../../../machines/wire/envelopes.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import type { Inbound, RequestHandler } from "../../../services/ports.ts";
import type { TransportCounters } from "./counters.ts";
import { RequestLedger } from "./ledger.ts";
import { encodeEnvelope, fingerprintOf, ledgerKeyOf, parseEnvelope } from "./parse.ts";

/** W-9. */
export const malformedAnswer = encodeEnvelope({
  kind: "bus.ack",
  requestId: "invalid",
  ok: false,
  message: wireText.malformed,
});

const refusal = (request: Envelope, message: string, code?: WireErrorCode): Ack => ({
  kind: "bus.ack",
  requestId: request.requestId,
  ok: false,
  message,
  ...(code === undefined ? {} : { error: { code } }),
});

/** Of all answers that a ledger remembers; in UTF-16 units. A repetition of what fell out runs again. */
const answersLengthMax = 32 * 1024 * 1024;

export interface Answering {
  /** The answer to a line, encoded, when it is there at once; otherwise a promise of it, which never rejects. */
  answer(line: string, from: Inbound): string | Promise<string>;
  /** Forgets the ledger (W-27). */
  clear(): void;
}

export interface AnsweringOptions {
  readonly handle: RequestHandler;
  readonly counters: TransportCounters;
}

export function createAnswering({ handle, counters }: AnsweringOptions): Answering {
  const ledger = new RequestLedger<string>({
    entriesMax: requestLedgerEntriesMax,
    weightMax: answersLengthMax,
    weigh: (answer) => answer.length,
  });

  async function run(request: Envelope, from: Inbound): Promise<string> {
    try {
      const ack = await handle(request, from);
      if (ack.requestId !== request.requestId)
        throw new Error(`The handler of ${request.kind} answered another request.`);
      return encodeEnvelope(ack);
    } catch (error) {
      // W-11: the cause is not on the wire, and the ledger keeps this answer like any other (W-23).
      counters.count("handler-failed", error);
      return encodeEnvelope(refusal(request, wireText.handlerFailed));
    }
  }

  return {
    answer(line, from) {
      const envelope = parseEnvelope(line);
      if (envelope === null) {
        counters.count("line-malformed");
        return malformedAnswer;
      }
      const admission = ledger.admit(ledgerKeyOf(envelope), fingerprintOf(envelope), () => run(envelope, from));
      switch (admission.kind) {
        case "collision":
          counters.count("request-id-collision");
          return encodeEnvelope(refusal(envelope, wireText.requestIdReused, "request-id-collision"));
        case "full":
          counters.count("ledger-full");
          return encodeEnvelope(refusal(envelope, wireText.ledgerFull, "ledger-overloaded"));
        case "repeated":
          counters.count("request-repeated");
          return admission.answer;
        case "new":
          return admission.answer;
      }
    },
    clear: () => ledger.clear(),
  };
}
