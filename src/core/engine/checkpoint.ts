/**
 * Activation checkpointing, both kinds, as torch/utils/checkpoint.py implements them.
 */
import type { ComponentKind } from "../report/estimate";
import { backward, CHECKPOINT } from "./backward";
import { type DType, isFloating } from "./dtype";
import { materialized } from "./materialized";
import type { InputMetadata, SavedHandle, SavedTensorHooks } from "./node";
import { OffloadHooks } from "./offload";
import { SelectiveCache, type SelectiveKeeping } from "./selective";
import { sameView, type Tensor } from "./tensor";
import type { Torch } from "./torch";

/** The checkpointed function: borrowed inputs, owned outputs. */
export type Segment = (inputs: readonly (Tensor | null)[]) => Tensor[];

interface AutocastState {
  readonly enabled: boolean;
  readonly dtype: DType | null;
}

/** Runs `body` as the recomputation does: gradient mode on, autocast as it was in forward, booked as activations. */
function recomputing<T>(torch: Torch, autocast: AutocastState, body: () => T): T {
  const before = {
    grad: torch.gradEnabled,
    enabled: torch.autocastEnabled,
    dtype: torch.autocastDtype,
    kind: torch.kind as ComponentKind,
    scope: torch.scope,
    logits: torch.logits,
  };
  torch.gradEnabled = true;
  torch.autocastEnabled = autocast.enabled;
  torch.autocastDtype = autocast.dtype;
  torch.kind = "activations";
  torch.trail?.again();
  const result = body();
  // Leaving the outermost autocast region clears its cache.
  if (!before.enabled) torch.clearCastCache();
  torch.gradEnabled = before.grad;
  torch.autocastEnabled = before.enabled;
  torch.autocastDtype = before.dtype;
  torch.kind = before.kind;
  torch.scope = before.scope;
  torch.logits = before.logits;
  return result;
}

/** Stands in for one saved tensor until the segment is recomputed (`_Holder`). */
class Holder implements SavedHandle {
  tensor: Tensor | null = null;
  alive = true;

  constructor(private readonly frame: Frame) {
    frame.references++;
  }

  unpack(): Tensor {
    this.frame.recompute();
    const tensor = this.tensor!;
    this.tensor = null;
    return tensor;
  }

  release(): void {
    this.alive = false;
    this.tensor?.release();
    this.tensor = null;
    this.frame.release();
  }
}

/** Saves what the recomputation makes into the holders, in order, and stops after the last (`_recomputation_hook`). */
class RecomputationHooks implements SavedTensorHooks {
  private count = 0;

  constructor(
    private readonly torch: Torch,
    private readonly holders: readonly Holder[],
  ) {}

  pack(tensor: Tensor): SavedHandle {
    const holder = this.holders[this.count++];
    const detached = sameView(tensor);
    if (holder?.alive) holder.tensor = detached.retain();
    if (this.count >= this.holders.length) this.torch.halted = true;
    return detached;
  }
}

/** One checkpointed segment of the non-reentrant kind (`_CheckpointFrame`). */
class Frame implements SavedTensorHooks {
  readonly holders: Holder[] = [];
  references = 1;
  private recomputed = false;
  private readonly inputs: readonly (Tensor | null)[];
  /** Positional inputs that hooks around the checkpoint keep (`_NoopSaveInputs`), those of a checkpoint it stands in too. */
  private readonly packed = new Map<number, SavedHandle>();
  /** Which of them require grad: what another checkpoint makes anew is detached, and joined to its graph as it is unpacked. */
  private readonly differentiable: ReadonlySet<number>;
  private readonly autocast: AutocastState;

  constructor(
    private readonly torch: Torch,
    private readonly segment: Segment,
    inputs: readonly (Tensor | null)[],
    positional: readonly number[],
    private readonly cache: SelectiveCache | null,
  ) {
    const around = torch.hooks[torch.hooks.length - 1];
    if (around !== undefined)
      for (const k of positional) {
        const input = inputs[k];
        if (input) this.packed.set(k, around.pack(input));
      }
    this.differentiable = new Set([...this.packed.keys()].filter((k) => inputs[k]?.requiresGrad));
    this.inputs = inputs.map((input, k) => (this.packed.has(k) ? null : (input?.retain() ?? null)));
    this.autocast = { enabled: torch.autocastEnabled, dtype: torch.autocastDtype };
  }

  pack(): SavedHandle {
    const holder = new Holder(this);
    this.holders.push(holder);
    return holder;
  }

  recompute(): void {
    if (this.recomputed) return;
    this.recomputed = true;
    const { torch } = this;
    // What hooks keep comes back before autocast is as it was (`ctx.get_saved_tensors`, `recompute_fn`), and goes afterwards.
    const back = new Map([...this.packed].map(([k, handle]) => [k, handle.unpack()]));
    for (const k of this.differentiable) back.get(k)!.requiresGradFlag = true;
    recomputing(torch, this.autocast, () => {
      torch.hooks.push(new RecomputationHooks(torch, this.holders));
      torch.policy = this.cache?.replay() ?? null;
      const outputs = this.segment(this.inputs.map((input, k) => back.get(k) ?? input));
      torch.policy = null;
      torch.hooks.pop();
      torch.trail?.end();
      torch.halted = false;
      for (const output of outputs) output.release();
      for (const tensor of back.values()) tensor.release();
    });
  }

  release(): void {
    if (--this.references > 0) return;
    this.cache?.release();
    for (const input of this.inputs) input?.release();
    for (const handle of this.packed.values()) handle.release();
  }
}

function nonReentrant(
  torch: Torch,
  segment: Segment,
  inputs: readonly (Tensor | null)[],
  positional: readonly number[],
  selective: SelectiveKeeping | undefined,
): Tensor[] {
  const cache = selective === undefined ? null : new SelectiveCache(torch, selective);
  const frame = new Frame(torch, segment, inputs, positional, cache);
  torch.hooks.push(frame);
  torch.policy = cache;
  const outputs = segment(inputs);
  torch.policy = null;
  torch.hooks.pop();
  frame.release();
  return outputs;
}

/**
 * `CheckpointFunction`: forward without gradients, backward runs the segment again and differentiates it by a nested
 * backward. Only the positional tensors are inputs of the function; the rest is closed over.
 */
function reentrant(
  torch: Torch,
  segment: Segment,
  inputs: readonly (Tensor | null)[],
  positional: readonly number[],
  keepsAutocast: boolean,
): Tensor[] {
  const autocast = { enabled: torch.autocastEnabled && keepsAutocast, dtype: torch.autocastDtype };
  const passed = positional.filter((k) => inputs[k] !== null);
  const differentiable = passed.map((k) => inputs[k]!.requiresGrad);
  const closed = inputs.map((input, k) => (passed.includes(k) ? null : (input?.retain() ?? null)));
  /** What the segment gave in forward. */
  let given: InputMetadata[] = [];
  const node = torch.record(
    CHECKPOINT,
    passed.map((k) => inputs[k]!),
    (torch, gradients, saved) => {
      const detached = saved.map((tensor, k) => {
        const leaf = sameView(tensor);
        leaf.requiresGradFlag = differentiable[k]!;
        leaf.isView = false;
        return leaf;
      });
      const all = materialized(torch, given, gradients);
      const again = closed.map((input, k) => input ?? detached[passed.indexOf(k)] ?? null);
      const outputs = recomputing(torch, autocast, () => {
        const made = segment(again);
        torch.trail?.end();
        return made;
      });
      const used = outputs
        .map((output, k) => ({ output, gradient: all.of(k) }))
        .filter(({ output, gradient }) => output.requiresGrad && gradient !== null);
      backward(
        torch,
        used.map(({ output }) => output),
        used.map(({ gradient }) => gradient!.retain()),
      );
      for (const output of outputs) output.release();
      all.release();
      return detached.map((leaf) => {
        // `inp.grad`: where something keeps the graph of the recomputation, the leaf and its gradient stay with it.
        const gradient = leaf.grad?.retain() ?? null;
        leaf.release();
        return gradient;
      });
    },
  );
  const held = closed.filter((input) => input !== null);
  if (node === null) for (const input of held) input.release();
  else {
    for (const k of passed) torch.save(node, inputs[k]!);
    // The closure belongs to the node's context, which lives as long as the graph.
    node.held = held;
  }
  const enabled = torch.gradEnabled;
  torch.gradEnabled = false;
  const outputs = segment(inputs);
  torch.gradEnabled = enabled;
  given = outputs.map(({ sizes, dtype }) => ({ sizes, dtype }));
  return outputs.map((output) => {
    // Indices are never differentiable (torch/csrc/autograd/custom_function.cpp, _process_backward_mode_ad).
    if (!isFloating(output.dtype)) return output;
    if (!inputs.includes(output)) return torch.attach(node, output);
    // An input that is returned as it is comes out as another tensor of the function.
    const copy = sameView(output);
    output.release();
    return torch.attach(node, copy);
  });
}

export interface CheckpointOptions {
  readonly useReentrant: boolean;
  /** What is saved for the recomputation waits in host memory. */
  readonly offloads?: boolean | undefined;
  /** Outputs of attention and of every other matrix product are kept (never reentrant). */
  readonly selective?: SelectiveKeeping | undefined;
  /** Whether the recomputation of the reentrant kind runs under the forward's autocast, as PyTorch's own does (default true). */
  readonly autocast?: boolean | undefined;
}

/**
 * Runs a segment under gradient checkpointing.
 *
 * @param positional which inputs were positional tensor arguments (what the reentrant kind differentiates)
 */
export function checkpoint(
  torch: Torch,
  segment: Segment,
  inputs: readonly (Tensor | null)[],
  positional: readonly number[],
  options: CheckpointOptions,
): Tensor[] {
  if (!torch.gradEnabled) return segment(inputs);
  const { useReentrant, offloads = false, selective, autocast = true } = options;
  const run = (): Tensor[] =>
    useReentrant && selective === undefined
      ? reentrant(torch, segment, inputs, positional, autocast)
      : nonReentrant(torch, segment, inputs, positional, selective);
  if (!offloads) return run();
  torch.hooks.push(new OffloadHooks(torch, null));
  const outputs = run();
  torch.hooks.pop();
  return outputs;
}
