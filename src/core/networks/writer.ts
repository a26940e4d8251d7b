/** Writes a graph instruction by instruction, for networks whose layers follow from lists in their own config. */
import type { ArchitectureGraph, BatchTensor, Instruction, Operand, TensorSpec } from "../graph/types";

/** A value of the graph, as operands name it. */
export type Value = `%${string}`;

/** What may follow an operator's operands. */
type Extra = Pick<Extract<Instruction, { readonly op: string }>, "kw" | "nograd">;

/** A graph being written. */
export class GraphWriter {
  private readonly body: Instruction[] = [];
  private readonly parameters: TensorSpec[] = [];
  private readonly batch: BatchTensor[] = [];
  private values = 0;

  /** A tensor of the batch. */
  input(name: string, shape: readonly (string | number)[], dtype: string): Value {
    this.batch.push({ name, shape: shape.map(String), dtype });
    return `%${name}`;
  }

  /** A parameter, as operands name it. */
  parameter(name: string, shape: readonly number[], module: string): string {
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

  /** An operator that writes into its first operand. */
  into(name: string, self: Value, ...operands: readonly Operand[]): void {
    this.body.push({ op: name, in: [self, ...operands], out: [self.slice(1)] });
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
      buffers: [],
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
