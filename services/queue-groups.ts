/**
 * Open groups of one queue on the stage: albums, split texts, comments with their forwards.
 *
 * Owns: hosting the chart of each open group, what a part that comes late still belongs to. Does not own: which parts belong
 * together (`shape.rules.ts`), when a group is whole (`grouping.machine.ts`), the items (`queue.machine.ts`).
 */
import type { Actor } from "xstate";
import { groupingMachine } from "../machines/grouping.machine.ts";
import type { GroupingFact } from "../machines/grouping.machine.ts";
import type { JournalSeq } from "../machines/ids.ts";
import type { queueMachine } from "../machines/queue.machine.ts";
import { itemOf } from "../machines/queue.rules.ts";
import type { Member } from "../machines/queue.rules.ts";
import type { GroupPart } from "../machines/shape.rules.ts";
import type { Runtime } from "./runtime.ts";
import { createOnStage } from "./stage.ts";

interface Group {
  readonly actor: Actor<typeof groupingMachine>;
  readonly item: JournalSeq;
  /** The part that the chart is asked about; null once it has joined. */
  asking: Member | null;
}

/** Asked of the group's own listener, which runs within the step. */
const hasJoined = ({ asking }: Group): boolean => asking === null;

/** Albums whose item may still wait, remembered for parts that come late. */
const albumsMax = 64;

export class Groups {
  private readonly runtime: Runtime;
  private readonly queue: Actor<typeof queueMachine>;
  private readonly groups = new Map<string, Group>();
  private readonly albums = new Map<string, JournalSeq>();

  constructor(runtime: Runtime, queue: Actor<typeof queueMachine>) {
    this.runtime = runtime;
    this.queue = queue;
  }

  /** Whether the part became one of an open group's item, or of an album that still waits. */
  joins(part: GroupPart, member: Member): boolean {
    const open = this.groups.get(part.key);
    if (open === undefined) return this.joinsLate(part, member);
    open.asking = member;
    open.actor.send({ type: "part.arrived", part });
    return hasJoined(open);
  }

  /** A group around an item that gathers. */
  open(part: GroupPart, item: JournalSeq): void {
    const { stage } = this.runtime.ports;
    const id = `${this.runtime.settings.me}/group/${String(item)}`;
    const actor = createOnStage(stage, groupingMachine, { id, input: { first: part } });
    const group: Group = { actor, item, asking: null };
    this.groups.set(part.key, group);
    if (part.group === "album") this.rememberAlbum(part.key, item);
    actor.on("*", (fact: GroupingFact) => {
      if (fact.type === "part.joined" && group.asking !== null) {
        this.queue.send({ type: "item.grown", id: item, member: group.asking });
        group.asking = null;
      }
      if (fact.type !== "group.closed") return;
      this.groups.delete(part.key);
      this.queue.send({ type: "item.closed", id: item });
    });
    actor.start();
  }

  /** Nothing more joins these items. */
  close(isMeant: (item: JournalSeq) => boolean): void {
    for (const group of [...this.groups.values()]) if (isMeant(group.item)) group.actor.send({ type: "group.close" });
  }

  dispose(): void {
    for (const { actor } of this.groups.values()) actor.stop();
    this.groups.clear();
  }

  /** Albums come in pieces, seconds apart: while its item waits, a late part still belongs to it. */
  private joinsLate(part: GroupPart, member: Member): boolean {
    const id = this.albums.get(part.key);
    const item = id === undefined ? null : itemOf(this.queue.getSnapshot().context, id);
    if (item?.standing !== "waiting") return false;
    this.queue.send({ type: "item.grown", id: item.id, member });
    return true;
  }

  private rememberAlbum(key: string, item: JournalSeq): void {
    this.albums.set(key, item);
    const [oldest] = this.albums.keys();
    if (this.albums.size > albumsMax && oldest !== undefined) this.albums.delete(oldest);
  }
}
