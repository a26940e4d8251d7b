/** Hooks around the forward of modules, as `register_forward_pre_hook` and `register_forward_hook` put them there. */
import type { Node } from "./node";
import { sameView, type Tensor } from "./tensor";
import type { Torch } from "./torch";

/** What wraps modules by their paths; the model itself is the empty path. */
export interface ModuleHooks {
  /** They stand around checkpointed layers, not inside of what is recomputed. */
  readonly aroundCheckpoints?: boolean;
  /** What an adapter stands for keeps its hooks inside of it, under `base_layer`. */
  readonly insideAdapters?: boolean;
  /** Modules inside of layers have some, too, that are no leaves. */
  readonly insideLayers?: boolean;
  /** Modules of adapters are checkpointed each by itself, inside their hooks. */
  readonly checkpointsAdapters?: boolean;
  /** What a wrapper around a module hands on to it, owned. */
  wrap?(torch: Torch, inputs: readonly (Tensor | null)[]): (Tensor | null)[];
  /** Whether a module has hooks. */
  has(path: string): boolean;
  /** Runs before a module's forward: what it is given, owned, and what it gets instead. */
  before(torch: Torch, path: string, inputs: readonly (Tensor | null)[]): (Tensor | null)[];
  /** Runs after it: what it gives, owned, and what its caller gets instead. */
  after(torch: Torch, path: string, outputs: readonly Tensor[]): Tensor[];
}

/**
 * A `torch.autograd.Function` that returns its inputs: `then` runs once all their gradients are there. What is given is owned,
 * and what needs no gradient passes as it is.
 */
export function passThrough(
  torch: Torch,
  inputs: readonly (Tensor | null)[],
  then: (torch: Torch) => void,
): (Tensor | null)[] {
  const passing = inputs.filter((input) => input?.requiresGrad === true) as Tensor[];
  const node = torch.record("PassThroughBackward", passing, (torch, gradients) => {
    then(torch);
    return gradients.map((gradient) => gradient?.retain() ?? null);
  });
  if (node === null) return [...inputs];
  return inputs.map((input) => {
    if (input?.requiresGrad !== true) return input;
    const same = torch.attach(node, sameView(input));
    input.release();
    return same;
  });
}

/** `tensor.register_hook`: runs when the tensor's gradient is there, before what made the tensor is differentiated. */
export function onGradient(torch: Torch, tensor: Tensor, hook: (torch: Torch) => void): void {
  const node: Node = torch.gradientNode(tensor);
  node.hooks = [...(node.hooks ?? []), hook];
}

/** `register_multi_grad_hook`: runs when the gradients of all that need one are there. */
export function onGradients(torch: Torch, tensors: readonly (Tensor | null)[], hook: (torch: Torch) => void): void {
  const needing = tensors.filter((tensor) => tensor?.requiresGrad === true) as Tensor[];
  let missing = needing.length;
  for (const tensor of needing)
    onGradient(torch, tensor, (inside) => {
      missing--;
      if (missing === 0) hook(inside);
    });
}
