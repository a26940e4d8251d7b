/**
 * Autograd functions of a model's own code: a forward without gradients, a node, and a backward that is a program, too.
 * Source: torch/csrc/autograd/python_function.cpp (`THPFunction_apply`, `PyNode::apply`).
 */
import type { OwnBackward, OwnForward } from "../graph/types";
import type { Segment } from "./checkpoint";
import { materialized } from "./materialized";
import type { InputMetadata, Node } from "./node";
import type { Tensor } from "./tensor";
import type { Torch } from "./torch";

const NAME = "PythonFunction";

interface Called {
  readonly node: Node;
  /** By input. */
  readonly differentiable: readonly boolean[];
  /** Outputs that nothing is differentiated by. */
  readonly others: readonly InputMetadata[];
}

export class OwnFunctions {
  /** What the forward before left. */
  private called: Called | null = null;

  constructor(private readonly torch: Torch) {}

  /** Runs the forward; inputs and weights are borrowed, outputs owned by the caller. */
  forward(
    { gradients, zeros }: OwnForward,
    run: Segment,
    inputs: readonly (Tensor | null)[],
    weights: readonly (Tensor | null)[],
  ): Tensor[] {
    const { torch } = this;
    const all = [...inputs, ...weights];
    const node = torch.record(NAME, all, () => all.map(() => null));
    const { gradEnabled } = torch;
    torch.gradEnabled = false;
    const outputs = run(inputs);
    torch.gradEnabled = gradEnabled;
    for (const k of gradients) {
      const output = outputs[k];
      if (output !== undefined) torch.attach(node, output);
    }
    this.called = node && {
      node,
      differentiable: all.map((input) => input?.requiresGrad === true),
      others: zeros.flatMap((k) => outputs[k] ?? []).map(({ sizes, dtype }) => ({ sizes, dtype })),
    };
    return outputs;
  }

  /** The backward of the forward before: it is kept, with what it needs, and run when its gradients are there. */
  backward(
    { saved, to }: OwnBackward,
    run: Segment,
    inputs: readonly (Tensor | null)[],
    gradientsAt: readonly number[],
  ): Tensor[] {
    const { torch, called } = this;
    this.called = null;
    if (called === null) return [];
    const { node, differentiable, others } = called;
    const given = new Set(gradientsAt);
    const kept = inputs.slice(0, saved).filter((input) => input !== null);
    const closed = inputs.map((input, k) => (k < saved || given.has(k) ? null : (input?.retain() ?? null)));
    for (const tensor of kept)
      if (tensor.node === node) torch.saveOutput(node, tensor);
      else torch.save(node, tensor);
    node.held = closed.filter((tensor) => tensor !== null);
    const autocast = torch.autocastEnabled;
    node.backward = (torch, gradients, unpacked) => {
      const all = materialized(torch, node.outputs, gradients);
      const values = closed.map((tensor, k) => {
        const at = gradientsAt.indexOf(k);
        return at < 0 ? (unpacked[k] ?? tensor) : all.of(at);
      });
      const unused = others.map(({ sizes, dtype }) => torch.empty("zeros", sizes, dtype));
      const { autocastEnabled } = torch;
      torch.autocastEnabled = autocast;
      const outputs = run(values);
      torch.autocastEnabled = autocastEnabled;
      if (!autocastEnabled) torch.clearCastCache();
      all.release();
      for (const tensor of unused) tensor.release();
      const result: (Tensor | null)[] = differentiable.map(() => null);
      outputs.forEach((output, k) => {
        const at = to[k];
        if (at !== undefined && differentiable[at] === true && result[at] === null) result[at] = output;
        else output.release();
      });
      return result;
    };
    return [];
  }
}
