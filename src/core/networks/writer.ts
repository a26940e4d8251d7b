/** Writes a graph instruction by instruction, for networks whose layers follow from lists in their own config. */
import type { ArchitectureGraph, BatchTensor, FamilyGraphs, Instruction, Operand, TensorSpec } from "../graph/types";

/** A value of the graph, as operands name it. */
export type Value = `%${string}`;

/** What may follow an operator's operands. */
type Extra = Pick<Extract<Instruction, { readonly op: string }>, "kw" | "nograd">;

/** A graph being written. */
export class GraphWriter {
  private readonly body: Instruction[] = [];
  private readonly parameters: TensorSpec[] = [];
  private readonly buffers: TensorSpec[] = [];
  private readonly batch: BatchTensor[] = [];
  private values = 0;

  /** A tensor of the batch. */
  input(name: string, shape: readonly (string | number)[], dtype: string): Value {
    this.batch.push({ name, shape: shape.map(String), dtype });
    return `%${name}`;
  }

  /** A buffer, as operands name it; of the weights' dtype unless said. */
  buffer(name: string, shape: readonly number[], module: string, dtype?: string): string {
    this.buffers.push({ name, shape: shape.map(String), module, ...(dtype === undefined ? {} : { dtype }) });
    return `@${name}`;
  }

  /** A parameter, as operands name it. */
  parameter(name: string, shape: readonly (string | number)[], module: string): string {
    this.parameters.push({ name, shape: shape.map(String), module });
    return `@${name}`;
  }

  /** What follows belongs to this module. */
  scope(path: string): void {
    this.body.push({ scope: path });
  }

  op(name: string, operands: readonly Operand[], extra: Extra = {}): Value {
    const out = String(this.values++);
    this.body.push({ op: name, in: operands, out: [out], ...extra });
    return `%${out}`;
  }

  /** Call of a leaf module. */
  call(kind: string, path: string, operands: readonly Operand[], attrs?: Readonly<Record<string, Operand>>): Value {
    const out = String(this.values++);
    this.body.push({ call: kind, path, in: operands, out: [out], ...(attrs === undefined ? {} : { attrs }) });
    return `%${out}`;
  }

  /** A buffer that counts the batches it has seen. */
  count(buffer: string): void {
    this.body.push({ op: "add_.Tensor", in: [buffer, 1], out: [null] });
  }

  /** An operator that writes into its first operand. */
  into(name: string, self: Value, ...operands: readonly Operand[]): void {
    this.body.push({ op: name, in: [self, ...operands], out: [self.slice(1)] });
  }

  /** The names of the script's loop are bound to what has been made: what they had of the micro-batch before goes. */
  binds(): void {
    this.body.push({ op: "loop_binds", in: [], out: [] });
  }

  /** Python lets go of these. */
  drop(...values: readonly Value[]): void {
    this.body.push({ drop: values.map((value) => value.slice(1)) });
  }

  /** The graph so far, with the loss first among what it gives. */
  graph(task: string, outputs: readonly Value[]): ArchitectureGraph {
    return {
      task,
      attention: "none",
      when: [],
      parameters: this.parameters,
      buffers: this.buffers,
      tied: [],
      batch: this.batch,
      main: {
        inputs: this.batch.map(({ name }) => name),
        outputs: outputs.map((value) => value.slice(1)),
        body: this.body,
      },
      blocks: [],
    };
  }
}

/** Release of transformers, where it has the network, and sizes that a config may leave out. */
interface Origin {
  readonly transformers?: string;
  readonly defaults?: FamilyGraphs["defaults"];
}

/** A family with the one graph that was written for a config. */
export function writtenGraphs(
  family: string,
  graph: ArchitectureGraph,
  { transformers = "", defaults = {} }: Origin = {},
): FamilyGraphs {
  return {
    family,
    captured: { transformers, torch: "2.11.0", license: "Apache-2.0" },
    defaults,
    derived: {},
    layerKind: null,
    aliases: {},
    head: null,
    graphs: [graph],
  };
}
