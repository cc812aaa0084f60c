/** Frames told as a story, for tests of what the inspector's page makes of them. */
import type { ActorShown, Frame, FrameBody, MessageBody } from "../../../inspector/frames.ts";
import { Exchanges } from "../../../inspector/page/exchanges.ts";
import { Judge } from "../../../inspector/page/judge.ts";
import { History } from "../../../inspector/page/model.ts";

export class Story {
  readonly history = new History();
  readonly judge = new Judge();
  readonly exchanges = new Exchanges();
  readonly frames: Frame[] = [];
  nowMs = 1_000;
  #seq = 0;

  /** Each frame comes `afterMs` later than the one before. */
  tell(body: FrameBody, { from, afterMs = 10 }: { readonly from?: string; readonly afterMs?: number } = {}): this {
    this.nowMs += afterMs;
    this.#seq += 1;
    const head = { protocol: "partyline-inspect", version: 1, seq: this.#seq, atMs: this.nowMs } as const;
    const frame: Frame = { ...head, ...(from === undefined ? {} : { from }), ...body };
    this.frames.push(frame);
    const step = this.history.add(frame);
    if (step === null) return this;
    this.exchanges.add(step, null);
    this.judge.add(step, this.history.head);
    return this;
  }

  attach(id: string, name: string): this {
    return this.tell({ kind: "source", id, state: "attached", instance: id, name, pid: 1 });
  }

  /** An actor of the instance comes to rest; `part` is `""` for the instance's own. */
  rest(
    instance: string,
    part: string,
    shown: Pick<ActorShown, "value" | "context"> & { readonly status?: string },
  ): this {
    const id = part === "" ? instance : `${instance}/${part}`;
    const { status = "active", ...rest } = shown;
    return this.tell(
      { kind: "snapshot", actor: { id, session: id }, chart: part === "" ? "instance" : part, status, ...rest },
      { from: instance },
    );
  }

  message(by: string, it: Omit<MessageBody, "kind" | "by">): this {
    return this.tell({ kind: "message", by, ...it }, { from: by });
  }

  /** Begin and end. */
  crossing(by: string, it: Omit<MessageBody, "kind" | "by" | "phase">): this {
    const { outcome = "ok", ...about } = it;
    return this.message(by, { ...about, phase: "begin" }).message(by, { ...about, phase: "end", outcome });
  }

  get brokenNow(): string[] {
    return [...this.judge.brokenAt(this.history.end - 1)].sort();
  }
}

/** An instance that leads under the epoch. */
export const leads = (story: Story, instance: string, epoch: number): Story =>
  story
    .attach(instance, instance)
    .rest(instance, "", { value: { online: { leading: "bus" } }, context: { epoch } })
    .rest(instance, "lease", { value: { holding: "held" }, context: { epoch } })
    .rest(instance, "activation", { value: { serving: "polled" }, context: { epoch } });
