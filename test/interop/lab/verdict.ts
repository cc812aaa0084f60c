/**
 * What came of pointing an instance of ours at a foreign process, in one sentence: what happened, and what to do about it.
 *
 * Owns: the words, and whether waiting any longer can help. Does not own: the exchange (`interop.ts` prints it).
 * Invariant: only the newest thing that went wrong counts, and none does once the two have found each other.
 */
import { readRegistration } from "../../../machines/acks.rules.ts";
import { generation } from "../../../machines/ids.ts";
import type { ProtocolIdentity } from "../../../machines/wire/constants.ts";
import type { Ack, Envelope, RequestEnvelope } from "../../../machines/wire/envelopes.ts";
import { wireText } from "../../../machines/wire/texts.ts";
import type { RequestOutcome } from "../../../services/ports.ts";

export interface Meeting {
  readonly as: "leader" | "follower";
  readonly socket: string;
  /** What we say of ourselves, as a follower. */
  readonly identity: ProtocolIdentity;
}

export type Finding =
  /** Nobody took our connection. */
  | { readonly kind: "unreached"; readonly reason: string }
  /** What came of a request of ours. */
  | { readonly kind: "asked"; readonly request: RequestEnvelope; readonly outcome: RequestOutcome }
  /** What we answered to a request. */
  | { readonly kind: "answered"; readonly request: Envelope; readonly ack: Ack }
  /** A line of a peer that is no envelope. */
  | { readonly kind: "garbled" }
  /** The other side ended a connection of ours. */
  | { readonly kind: "closed" }
  /** Our own side troubles us. */
  | { readonly kind: "troubled"; readonly trouble: string; readonly reason: string };

export class Verdict {
  /** Resolves when no waiting can help any more. */
  readonly final: Promise<void>;
  private readonly meeting: Meeting;
  private failure: string | null = null;
  private isMet = false;
  private isServing = false;
  private isClosed = false;
  private end: () => void = () => undefined;

  constructor(meeting: Meeting) {
    this.meeting = meeting;
    this.final = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  /** We serve, or are registered. */
  ready(): void {
    this.failure = null;
    if (this.meeting.as === "leader") this.isServing = true;
    else this.isMet = true;
  }

  note(finding: Finding): void {
    if (this.isClosed) return;
    if (finding.kind === "answered" && finding.request.kind === "follower.register" && finding.ack.ok) {
      this.isMet = true;
      this.failure = null;
      return;
    }
    // A leader's followers come and go; a follower has one leader, and is nothing without it.
    const words = this.meeting.as === "leader" && this.isMet ? null : this.wordsFor(finding);
    if (words === null) return;
    this.failure = words;
    if (this.isHopeless(finding)) this.end();
  }

  /** From here on we go ourselves: what ends now says nothing about the other side. */
  close(): void {
    this.isClosed = true;
  }

  /** Null = the two have found each other, and nothing has come between them since. */
  sentence(): string | null {
    if (this.failure !== null) return this.failure;
    if (this.isMet) return null;
    const { as, socket } = this.meeting;
    if (as === "follower") return `We did not come to ask at ${socket} in this time: give it more --seconds.`;
    return this.isServing
      ? `Nobody asked to register at ${socket}: point the follower at this socket, while this runs.`
      : `We did not come to serve at ${socket} in this time: give it more --seconds.`;
  }

  /** The secret and the protocol of this run stay what they are. */
  private isHopeless(finding: Finding): boolean {
    if (finding.kind !== "asked" || finding.request.kind !== "follower.register") return false;
    if (finding.outcome.kind !== "answered") return false;
    const { ack } = finding.outcome;
    return ack.message === wireText.unauthorized || this.incompatibility(ack) !== null;
  }

  private incompatibility(ack: Ack): string | null {
    const answer = readRegistration(this.meeting.identity, ack, generation(""));
    return answer.kind === "refused" && /^Incompatible /.test(answer.reason) ? answer.reason : null;
  }

  private wordsFor(finding: Finding): string | null {
    const { as, socket } = this.meeting;
    switch (finding.kind) {
      case "unreached":
        return as === "leader" ? null : unreached(socket, finding.reason);
      case "asked":
        if (finding.request.kind === "follower.register") return this.wordsForRegistration(finding.outcome);
        return finding.request.kind === "follower.heartbeat" ? this.wordsForHeartbeat(finding.outcome) : null;
      case "answered":
        return as === "leader" && !finding.ack.ok ? this.wordsForOurs(finding.ack.message ?? "no reason") : null;
      case "garbled":
        return as === "leader"
          ? `Somebody sends lines to ${socket} that are no v1 envelopes: look at what is pointed at it.`
          : null;
      case "closed":
        return this.isMet && as === "follower"
          ? `The leader at ${socket} hung up after we had registered: look whether that process still runs, and why it closed.`
          : null;
      case "troubled":
        return as === "leader" && !this.isServing
          ? `We cannot serve at ${socket} (${finding.trouble}: ${finding.reason}): remove that cause.`
          : null;
    }
  }

  private wordsForRegistration(outcome: RequestOutcome): string | null {
    const leader = `The leader at ${this.meeting.socket}`;
    if (outcome.kind === "notSent")
      return `${leader} hung up before we could ask (${outcome.reason}): look there for the cause.`;
    if (outcome.kind === "lost")
      return outcome.how === "timedOut"
        ? `${leader} took our registration and does not answer: look whether it hangs, or give it more --seconds.`
        : `${leader} hung up without an answer to our registration: look whether v1 is spoken there, and at its log.`;
    const { ack } = outcome;
    if (ack.message === wireText.unauthorized)
      return `${leader} does not know this secret: give as --secret the busSecret that stands in its record of owners.json now; every leader has a new one.`;
    const incompatible = this.incompatibility(ack);
    if (incompatible !== null)
      return `${leader} does not speak our protocol (${incompatible}): compare what it says as "protocol" with ours, above, and take a release of it that says the same.`;
    if (!ack.ok)
      return `${leader} refused our registration (${ack.message ?? "without a reason"}): remove that cause there.`;
    return null;
  }

  private wordsForHeartbeat(outcome: RequestOutcome): string | null {
    const leader = `The leader at ${this.meeting.socket}`;
    if (outcome.kind !== "answered")
      return `${leader} does not answer our heartbeats any more (${outcome.reason}): look whether it hangs or is gone.`;
    return outcome.ack.ok
      ? null
      : `${leader} does not know us any more (${outcome.ack.message ?? "without a reason"}): look whether it was started anew, or gave our seat to another.`;
  }

  private wordsForOurs(message: string): string {
    return message === wireText.unauthorized
      ? `Somebody asks at ${this.meeting.socket} with another secret: give it the --secret of this run.`
      : `We refused who asked at ${this.meeting.socket} (${message}): send what is missing, and compare the lines above.`;
  }
}

function unreached(socket: string, reason: string): string {
  return /EACCES|EPERM/.test(reason)
    ? `The socket ${socket} may not be opened by this user (${reason}): run this as the user of the leader.`
    : `Nobody serves at ${socket} (${reason}): start the leader, or name the socket of one that runs; it is bus.sock beside owners.json, unless its record there has a busSocketPath.`;
}
