/**
 * What one step sets off: facts reach the environment, orders and commands reach components, at once and in order.
 *
 * Owns: the queue of effects of one atomic move, the memo (environment, fact) → reaction, the bound on orphans.
 * Does not own: which moves there are (`composition.ts`).
 *
 * Invariants: effects of one step are carried out in the chart's order, before those of the steps they cause; a cascade
 * that exceeds the bound on orphans is given up as a whole.
 */
/* eslint-disable @typescript-eslint/no-non-null-assertion -- every index is computed to be within its table */
import { Bags } from "./bags.ts";
import { Interner } from "./data.ts";
import type { Effect, Locals, Step } from "./locals.ts";
import type { CompanionFact, Order, World } from "./world.ts";

export const environment = 0;
export const orphans = 1;
export const placeOffset = 2;

/** An order with its names looked up. */
type Prepared =
  | { readonly kind: "send"; readonly place: number; readonly event: number }
  | { readonly kind: "start"; readonly place: number; readonly step: Step }
  | { readonly kind: "remove"; readonly place: number }
  | { readonly kind: "request"; readonly operation: number };

export type Orders = readonly Prepared[];

export interface Reacted {
  readonly env: number;
  readonly orders: Orders;
}

const endlessAt = 1000;

export class Cascade<Env, Seen, View> {
  readonly envs = new Interner<Env>();
  readonly bags = new Bags();
  /** The state that is being changed. */
  readonly state: Int32Array;
  private readonly world: World<Env, Seen, View>;
  private readonly locals: Locals;
  private readonly chartAt: readonly number[];
  private readonly placeIndex: ReadonlyMap<string, number>;
  /** Place of a child → who invokes it, and as what. */
  private readonly parents: { readonly place: number; readonly src: string }[] = [];
  /** Place → fact → environment → reaction. */
  private readonly reactions: Reacted[][][] = [];
  private readonly queue: { readonly place: number; readonly step: Step }[] = [];
  /** Steps of the present move that started a pending timer anew. */
  private readonly restarts: { readonly place: number; readonly step: Step }[] = [];

  constructor(world: World<Env, Seen, View>, locals: Locals, chartAt: readonly number[]) {
    this.world = world;
    this.locals = locals;
    this.chartAt = chartAt;
    this.placeIndex = new Map(world.places.map((each, index) => [each.name, index]));
    this.state = new Int32Array(placeOffset + world.places.length);
    world.places.forEach(({ chart, hosts = {} }, place) => {
      for (const src of chart.children) {
        const child = this.placeIndex.get(hosts[src] ?? "");
        if (child === undefined)
          throw new Error(`${world.name}: no place plays ${src}, a child of ${chart.machine.id}`);
        this.parents[child] = { place, src };
      }
    });
  }

  prepare(orders: readonly Order[]): Orders {
    return orders.map((order) => this.prepared(order));
  }

  /** Timers that the present move started anew, as `place` and id. */
  *restarted(): Generator<readonly [number, string]> {
    for (const { place, step } of this.restarts) for (const id of step.restarted) yield [place, id];
  }

  /** Before each move. */
  forget(): void {
    this.restarts.length = 0;
  }

  /** A component took a step. False = beyond the bounds. */
  took(place: number, step: Step): boolean {
    this.state[placeOffset + place] = step.next;
    if (step.restarted.length > 0) this.restarts.push({ place, step });
    if (step.effects.length === 0 && !step.isDone) return true;
    this.queue.length = 0;
    return this.spread(place, step) && this.drain();
  }

  carryOut(orders: Orders): boolean {
    if (orders.length === 0) return true;
    this.queue.length = 0;
    return this.obeyAll(orders) && this.drain();
  }

  /** Puts a request into the bag of those that nobody waits for. */
  orphan(operation: number): boolean {
    const bag = this.state[orphans]!;
    if (this.bags.at(bag).length >= this.world.orphansMax) return false;
    this.state[orphans] = this.bags.with(bag, operation);
    return true;
  }

  private prepared(order: Order): Prepared {
    if (order.kind === "request") {
      const { by, src, input } = order;
      return { kind: "request", operation: this.locals.operations.add({ by, src, input }) };
    }
    const place = this.placeIndex.get(order.place);
    if (place === undefined) throw new Error(`${this.world.name} has no place ${order.place}`);
    if (order.kind === "remove") return { kind: "remove", place };
    if (order.kind === "send") return { kind: "send", place, event: this.locals.events.add(order.event) };
    return { kind: "start", place, step: this.locals.start(this.chartAt[place]!, order.as, order.input) };
  }

  private drain(): boolean {
    for (let done = 0; done < this.queue.length; done += 1) {
      if (done > endlessAt) throw new Error(`${this.world.name}: facts and orders chase each other without end`);
      const { place, step } = this.queue[done]!;
      if (!this.spread(place, step)) return false;
    }
    return true;
  }

  private spread(place: number, step: Step): boolean {
    for (const effect of step.effects) if (!this.carry(place, step, effect)) return false;
    if (step.isDone) this.answerParent(place, step);
    return true;
  }

  /** A chart that another one invoked as its child is done: it leaves its place, and its output is the answer. */
  private answerParent(place: number, step: Step): void {
    const parent = this.parents[place];
    if (parent === undefined || this.state[placeOffset + place] !== step.next) return;
    this.state[placeOffset + place] = 0;
    const local = this.state[placeOffset + parent.place]!;
    const heard = local === 0 ? null : this.locals.childDone(local, parent.src, step.next);
    if (heard !== null) this.take(parent.place, heard);
  }

  private take(place: number, step: Step): void {
    this.state[placeOffset + place] = step.next;
    if (step.restarted.length > 0) this.restarts.push({ place, step });
    if (step.effects.length > 0 || step.isDone) this.queue.push({ place, step });
  }

  private carry(place: number, step: Step, effect: Effect): boolean {
    if (effect.kind === "orphaned") return this.orphan(effect.operation);
    if (effect.kind === "fact") return this.report(place, effect.fact);
    const host = this.world.places[place]!.hosts?.[effect.src];
    if (host === undefined) return this.report(place, this.locals.events.add(factOf(effect, this.locals)));
    return this.obey(this.prepared(this.orderFor(host, step, effect)));
  }

  private orderFor(host: string, step: Step, effect: Exclude<Effect, { kind: "fact" | "orphaned" }>): Order {
    if (effect.kind === "companionTold")
      return { kind: "send", place: host, event: this.locals.events.at(effect.event) };
    if (effect.kind === "companionStopped") return { kind: "remove", place: host };
    return { kind: "start", place: host, as: this.locals.at(step.next).as, input: effect.input };
  }

  private report(place: number, fact: number): boolean {
    const env = this.state[environment]!;
    const memo = ((this.reactions[place] ??= [])[fact] ??= []);
    const { env: next, orders } = (memo[env] ??= this.reactionTo(env, place, fact));
    this.state[environment] = next;
    return this.obeyAll(orders);
  }

  private reactionTo(env: number, place: number, fact: number): Reacted {
    const { name } = this.world.places[place]!;
    const said = this.world.onFact(this.envs.at(env), name, this.locals.events.at(fact));
    return { env: this.envs.add(said.env), orders: this.prepare(said.orders ?? []) };
  }

  private obeyAll(orders: Orders): boolean {
    for (const order of orders) if (!this.obey(order)) return false;
    return true;
  }

  private obey(order: Prepared): boolean {
    if (order.kind === "request") return this.orphan(order.operation);
    const { place } = order;
    const local = this.state[placeOffset + place]!;
    if (order.kind === "remove") {
      this.state[placeOffset + place] = 0;
      return local === 0 || this.locals.leftBehind(local).every((each) => this.orphan(each));
    }
    // Whoever sends to a component that is gone is not heard, as in production.
    if (order.kind === "send" && local === 0) return true;
    this.take(place, order.kind === "send" ? this.locals.send(local, order.event) : order.step);
    return true;
  }
}

function factOf(effect: Exclude<Effect, { kind: "fact" | "orphaned" }>, locals: Locals): CompanionFact {
  const { child, src: companion } = effect;
  if (effect.kind === "companionStarted") return { type: "companion.started", companion, child, input: effect.input };
  if (effect.kind === "companionStopped") return { type: "companion.stopped", companion, child };
  return { type: "companion.told", companion, child, event: locals.events.at(effect.event) };
}
