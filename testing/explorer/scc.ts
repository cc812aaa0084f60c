/**
 * Strongly connected components of a part of a graph, without recursion.
 *
 * Owns: Tarjan's algorithm (SIAM J. Comput. 1, 1972) on compressed rows. Invariant: nodes outside `within` are ignored.
 */
/* eslint-disable @typescript-eslint/no-non-null-assertion -- every index is computed to be within its table */
export interface Graph {
  /** Edges of node `n` are `targets[offsets[n]] … targets[offsets[n + 1] - 1]`; a negative target leads nowhere. */
  readonly offsets: Int32Array;
  readonly targets: Int32Array;
}

/** `mark` has one entry per node of the graph and is used as scratch space. */
export function stronglyConnected(graph: Graph, within: readonly number[], mark: Uint8Array): number[][] {
  const { offsets, targets } = graph;
  mark.fill(0);
  for (const node of within) mark[node] = 1;
  const order = new Int32Array(mark.length);
  const low = new Int32Array(mark.length);
  const onStack = new Uint8Array(mark.length);
  const edge = new Int32Array(mark.length);
  const stack: number[] = [];
  const path: number[] = [];
  const components: number[][] = [];
  let counter = 0;

  const open = (node: number): void => {
    counter += 1;
    order[node] = counter;
    low[node] = counter;
    onStack[node] = 1;
    edge[node] = offsets[node]!;
    stack.push(node);
    path.push(node);
  };
  const close = (node: number): void => {
    path.pop();
    const parent = path.at(-1);
    if (parent !== undefined) low[parent] = Math.min(low[parent]!, low[node]!);
    if (low[node] !== order[node]) return;
    const component = stack.splice(stack.lastIndexOf(node));
    for (const each of component) onStack[each] = 0;
    components.push(component);
  };

  for (const root of within) {
    if (order[root] !== 0) continue;
    open(root);
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      if (edge[node]! >= offsets[node + 1]!) {
        close(node);
        continue;
      }
      const target = targets[edge[node]!]!;
      edge[node]! += 1;
      if (target < 0 || mark[target] === 0) continue;
      if (order[target] === 0) open(target);
      else if (onStack[target] === 1) low[node] = Math.min(low[node]!, order[target]!);
    }
  }
  return components;
}
