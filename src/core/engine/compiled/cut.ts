/** Minimum cut of a directed graph with node capacities (Dinic's algorithm). Pure. */

/** Capacity that is never cut. */
export const UNCUT = Number.POSITIVE_INFINITY;

interface Arc {
  readonly to: number;
  left: number;
  /** Index of the opposite arc in `arcs[to]`. */
  readonly back: number;
}

export class FlowGraph {
  private readonly arcs: Arc[][];

  constructor(nodes: number) {
    this.arcs = Array.from({ length: nodes }, () => []);
  }

  connect(from: number, to: number, capacity: number): void {
    const there = this.arcs[from]!;
    const back = this.arcs[to]!;
    there.push({ to, left: capacity, back: back.length });
    back.push({ to: from, left: 0, back: there.length - 1 });
  }

  /** Nodes on the source's side of a minimum cut. */
  reachable(source: number, sink: number): Uint8Array {
    for (;;) {
      const levels = this.levels(source);
      if (levels[sink]! < 0) return Uint8Array.from(levels, (level) => (level >= 0 ? 1 : 0));
      const next = new Int32Array(this.arcs.length);
      while (this.push(source, sink, levels, next) > 0);
    }
  }

  private levels(source: number): Int32Array {
    const levels = new Int32Array(this.arcs.length).fill(-1);
    levels[source] = 0;
    const queue = [source];
    for (let k = 0; k < queue.length; k++)
      for (const { to, left } of this.arcs[queue[k]!]!)
        if (left > 0 && levels[to]! < 0) {
          levels[to] = levels[queue[k]!]! + 1;
          queue.push(to);
        }
    return levels;
  }

  /** One augmenting path, followed with a list: deep graphs would overflow the stack. */
  private push(source: number, sink: number, levels: Int32Array, next: Int32Array): number {
    const path: Arc[] = [];
    let node = source;
    while (node !== sink) {
      const arcs = this.arcs[node]!;
      const arc = arcs[next[node]!];
      if (arc === undefined) {
        const last = path.pop();
        if (last === undefined) return 0;
        node = this.arcs[last.to]![last.back]!.to;
        next[node]!++;
      } else if (arc.left > 0 && levels[arc.to] === levels[node]! + 1) {
        path.push(arc);
        node = arc.to;
      } else next[node]!++;
    }
    const flow = path.reduce((least, { left }) => Math.min(least, left), UNCUT);
    for (const arc of path) {
      arc.left -= flow;
      this.arcs[arc.to]![arc.back]!.left += flow;
    }
    return Number.isFinite(flow) ? flow : 0;
  }
}
