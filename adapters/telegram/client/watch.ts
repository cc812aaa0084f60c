/**
 * Watches one HTTP request from the agent's side.
 *
 * Owns: the facts about a call that grammY does not report: whether a byte of it may have reached the server, the
 * status of the answer, and that the connection broke in the middle of the answer.
 * Does not own: the connections (the shared agent keeps them), what the facts mean (`classify.ts`).
 *
 * Invariants: `mayBeSent` is false only while it is certain that no byte of the request left: there was no connection, or
 * its TCP or TLS handshake had not ended. Everything that is not known for certain counts as sent.
 */
import type { Agent, ClientRequest, IncomingMessage } from "node:http";
import type { Socket } from "node:net";

export interface RequestFacts {
  /** Whether a byte of the request may have reached the server. */
  readonly mayBeSent: boolean;
  /** Of the answer's head; null before it came. */
  readonly status: number | null;
  /** The `retry-after` header, null when it is not a number of seconds. */
  readonly retryAfterS: number | null;
}

export interface Watch {
  /** Stands for the shared agent in one request. */
  readonly agent: Agent;
  facts(): RequestFacts;
}

/**
 * What an agent is to `http.request`: it hands the request a socket. Not in Node's typings, yet what every agent on npm
 * implements or inherits.
 */
interface RequestAgent {
  addRequest(request: ClientRequest, options: object): void;
}

/** Calls `onBroken` when the connection ends in the middle of an answer, which node-fetch would wait out. */
export function watchRequest(shared: Agent, onBroken: () => void): Watch {
  let mayBeSent = false;
  let status: number | null = null;
  let retryAfterS: number | null = null;
  const sent = (): void => {
    mayBeSent = true;
  };
  const observe = (request: ClientRequest): void => {
    request.once("socket", (socket) => {
      // Node writes the request after this event. A socket that is closed already (a lookup that failed at once) takes none.
      if (socket.destroyed) return;
      const pending = pendingHandshake(socket);
      if (pending === null || request.reusedSocket) sent();
      else socket.once(pending, sent);
    });
    request.once("response", (answer) => {
      sent();
      status = answer.statusCode ?? null;
      retryAfterS = secondsOf(answer);
      answer.once("close", () => {
        if (!answer.complete) onBroken();
      });
    });
  };
  // The wrapper inherits everything from the shared agent (its protocol, its options) and adds an observer.
  const target = shared as Agent & RequestAgent;
  const agent = Object.create(target, {
    addRequest: {
      value: (request: ClientRequest, options: object) => {
        observe(request);
        target.addRequest(request, options);
      },
    },
  }) as Agent; // `Object.create` is typed `any`; its prototype is the agent.
  return { agent, facts: () => ({ mayBeSent, status, retryAfterS }) };
}

/** The event that ends the socket's handshake, null when it has ended or cannot be told. Node buffers writes until then. */
function pendingHandshake(socket: Socket): "connect" | "secureConnect" | null {
  if ("encrypted" in socket) {
    return "secureConnecting" in socket && socket.secureConnecting === true ? "secureConnect" : null;
  }
  return socket.connecting ? "connect" : null;
}

function secondsOf(answer: IncomingMessage): number | null {
  const header = answer.headers["retry-after"];
  return header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) : null;
}
