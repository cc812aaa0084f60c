/**
 * What a bridge must remember of the frames that it translates.
 *
 * Owns: charts by name, and per actor what frames leave out when it has not changed. Does not own: the translation.
 *
 * Invariants: at most `actorsMax` actors are remembered; one that ended is forgotten.
 */
import type { NodeShown } from "../charts.ts";
import type { ActorName, ActorShown, Frame } from "../frames.ts";

const actorsMax = 5_000;

export interface KnownActor {
  readonly name: ActorName;
  readonly session: string;
  readonly chart: string | null;
  readonly status: string;
  readonly value: unknown;
  readonly context: unknown;
}

/** Sessions are unique within one process; several may be shown together. */
export const sessionOf = (from: string | undefined, session: string): string =>
  from === undefined ? session : `${from}/${session}`;

export class FrameReader {
  readonly #charts = new Map<string, readonly NodeShown[]>();
  readonly #actors = new Map<string, KnownActor>();

  chart(from: string | undefined, chart: string | null): readonly NodeShown[] {
    return chart === null ? [] : (this.#charts.get(sessionOf(from, chart)) ?? []);
  }

  learn(frame: Frame): void {
    if (frame.kind === "chart")
      // Made by `charts.ts`, and redacted text by text: the shape is still that.
      this.#charts.set(sessionOf(frame.from, frame.chart), frame.nodes as readonly NodeShown[]);
  }

  /** True when this actor was not known. */
  see(from: string | undefined, shown: ActorShown): { readonly isNew: boolean; readonly actor: KnownActor } {
    const session = sessionOf(from, shown.actor.session);
    const known = this.#actors.get(session);
    const actor: KnownActor = {
      name: shown.actor,
      session,
      chart: shown.chart ?? known?.chart ?? null,
      status: shown.status,
      value: shown.value ?? known?.value,
      context: "context" in shown ? shown.context : known?.context,
    };
    if (actor.status === "active") this.#remember(session, actor);
    else this.#actors.delete(session);
    return { isNew: known === undefined, actor };
  }

  known(from: string | undefined, session: string): KnownActor | null {
    return this.#actors.get(sessionOf(from, session)) ?? null;
  }

  #remember(session: string, actor: KnownActor): void {
    this.#actors.delete(session);
    this.#actors.set(session, actor);
    for (const oldest of this.#actors.keys()) {
      if (this.#actors.size <= actorsMax) return;
      this.#actors.delete(oldest);
    }
  }
}
