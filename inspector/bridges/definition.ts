/**
 * A chart's flat list of states as the nested definition that viewers of other protocols draw.
 *
 * Owns: nesting, and sorting transitions into `on`, `after`, `always` and invocations' own. Does not own: the wording of
 * either protocol beyond that.
 */
import type { ActionShown, NodeShown, TransitionShown } from "../charts.ts";

export interface DefinitionTransition {
  readonly target?: readonly string[];
  readonly guard?: string;
  readonly actions?: readonly ActionShown[];
  readonly reenter?: boolean;
  readonly description?: string;
}

export interface DefinitionNode {
  readonly id: string;
  readonly key: string;
  readonly type?: "parallel" | "final" | "history";
  readonly initial?: string;
  readonly states?: Readonly<Record<string, DefinitionNode>>;
  readonly on?: Readonly<Record<string, readonly DefinitionTransition[]>>;
  readonly after?: Readonly<Record<string, readonly DefinitionTransition[]>>;
  readonly always?: readonly DefinitionTransition[];
  readonly invoke?: readonly {
    readonly id: string;
    readonly src: string;
    readonly onDone?: readonly DefinitionTransition[];
    readonly onError?: readonly DefinitionTransition[];
  }[];
  readonly entry?: readonly ActionShown[];
  readonly exit?: readonly ActionShown[];
  readonly tags?: readonly string[];
  readonly description?: string;
}

const donePrefix = "xstate.done.actor.";
const errorPrefix = "xstate.error.actor.";
const afterPrefix = "xstate.after.";

const one = ({ target, guard, actions, reenter, description }: TransitionShown): DefinitionTransition => ({
  ...(target.length === 0 ? {} : { target: target.map((id) => `#${id}`) }),
  ...(guard === undefined ? {} : { guard }),
  ...(actions.length === 0 ? {} : { actions }),
  ...(reenter ? { reenter } : {}),
  ...(description === undefined ? {} : { description }),
});

/** `xstate.after.renewInterval.lease.holding` of the state `lease.holding` is `renewInterval`. */
const delayOf = (event: string, id: string): string => {
  const rest = event.slice(afterPrefix.length);
  return rest.endsWith(`.${id}`) ? rest.slice(0, -id.length - 1) : rest;
};

function grouped(
  transitions: readonly TransitionShown[],
  keyOf: (transition: TransitionShown) => string,
): Record<string, DefinitionTransition[]> {
  const groups: Record<string, DefinitionTransition[]> = {};
  for (const transition of transitions) (groups[keyOf(transition)] ??= []).push(one(transition));
  return groups;
}

const ifAny = <Key extends string, Value extends object>(key: Key, value: Value): Partial<Record<Key, Value>> =>
  // A computed key is not seen by the compiler as exactly that key.
  Object.keys(value).length === 0 ? {} : ({ [key]: value } as Partial<Record<Key, Value>>);

function transitionsOf(node: NodeShown) {
  const isOf = (prefix: string) => (each: TransitionShown) => each.event.startsWith(prefix);
  const answers = (prefix: string, id: string) =>
    node.transitions.filter((each) => each.event === `${prefix}${id}`).map(one);
  const invoke = node.invoke.map(({ id, src }) => ({
    id,
    src,
    ...ifAny("onDone", answers(donePrefix, id)),
    ...ifAny("onError", answers(errorPrefix, id)),
  }));
  const isAnswer = (each: TransitionShown): boolean =>
    node.invoke.some(({ id }) => each.event === `${donePrefix}${id}` || each.event === `${errorPrefix}${id}`);
  const plain = node.transitions.filter((each) => each.event !== "" && !isOf(afterPrefix)(each) && !isAnswer(each));
  return {
    ...ifAny("invoke", invoke),
    ...ifAny(
      "on",
      grouped(plain, (each) => each.event),
    ),
    ...ifAny(
      "after",
      grouped(node.transitions.filter(isOf(afterPrefix)), (each) => delayOf(each.event, node.id)),
    ),
    ...ifAny("always", node.transitions.filter((each) => each.event === "").map(one)),
  };
}

/** Null for an empty list. */
export function definitionOf(nodes: readonly NodeShown[]): DefinitionNode | null {
  const childrenOf = (id: string): NodeShown[] => nodes.filter((node) => node.parent === id);
  const build = (node: NodeShown): DefinitionNode => {
    const children = childrenOf(node.id);
    const initial = nodes.find((each) => each.id === node.initial)?.key;
    return {
      id: node.id,
      key: node.key,
      ...(node.type === "atomic" || node.type === "compound" ? {} : { type: node.type }),
      ...(initial === undefined ? {} : { initial }),
      ...transitionsOf(node),
      ...ifAny("entry", node.entry),
      ...ifAny("exit", node.exit),
      ...ifAny("tags", node.tags),
      ...(node.description === undefined ? {} : { description: node.description }),
      ...ifAny("states", Object.fromEntries(children.map((child) => [child.key, build(child)]))),
    };
  };
  const [root] = nodes;
  return root === undefined ? null : build(root);
}
