/**
 * The Trainer's evaluation beside the optimizer's states: batch after batch a forward without gradients, and what the
 * loop keeps of each until it moves to the host. Sources: transformers/trainer.py (evaluation_loop, prediction_step),
 * transformers/trainer_pt_utils.py (EvalLoopContainer, nested_concat).
 */
import { playRegion } from "../engine/folding/region";
import { repeated } from "../engine/pieces";
import type { Tensor } from "../engine/tensor";
import type { Torch } from "../engine/torch";
import { allocateBatch, type BatchTensor, type PassFactory } from "./forward";
import type { Strategy } from "./parallel";
import { type Prediction, predict, taken } from "./prediction";
import type { EvaluationSpec } from "./run";

export interface EvaluationOptions {
  readonly spec: EvaluationSpec;
  readonly batch: readonly BatchTensor[];
  readonly autocast: "bfloat16" | "float16" | null;
}

/** Items of the batch that its loss is divided by; counted for each batch. */
const COUNT = "num_items_in_batch";

/** What models are compared with, by the names `find_labels` gives them (transformers/utils/generic.py). */
const LABELS: ReadonlySet<string> = new Set(["labels", "start_positions", "end_positions"]);

/** Batches run one by one; of more, only the last is, beside what the ones before it left. */
const FIRST_BATCHES = 2;

/** `EvalLoopContainer`: tensors kept on the device, concatenated along the batch or listed. */
class Container {
  private kept: Tensor[][] = [];

  constructor(private readonly concatenates: boolean) {}

  /** Keeps one batch's tensors (a tuple is concatenated item by item, the old ones going when all new ones exist). */
  add(torch: Torch, tensors: readonly Tensor[]): void {
    const old = this.kept[0];
    if (old === undefined || !this.concatenates) {
      this.kept.push(tensors.map((tensor) => tensor.retain()));
      return;
    }
    this.kept = [old.map((tensor, k) => joined(torch, tensor, tensors[k]!, 1))];
    for (const tensor of old) tensor.release();
  }

  /** As if `count` more batches like the last one had been added. */
  skip(torch: Torch, last: readonly Tensor[], count: number): void {
    const old = this.kept[0];
    if (old === undefined) return;
    if (this.concatenates) {
      this.kept = [old.map((tensor, k) => joined(torch, tensor, last[k]!, count))];
      for (const tensor of old) tensor.release();
    } else this.kept.push(...repeated(torch, count, () => last.map(({ sizes, dtype }) => kept(torch, sizes, dtype))));
  }

  /** `to_cpu_and_numpy`. */
  clear(): void {
    for (const tensors of this.kept) for (const tensor of tensors) tensor.release();
    this.kept = [];
  }
}

/** A tensor of predictions that outlives its batch. */
function kept(torch: Torch, sizes: readonly number[], dtype: Tensor["dtype"]): Tensor {
  return torch.empty("cat", sizes, dtype);
}

/** `count` tensors like `added` behind `tensor`, along the first dimension. */
function joined(torch: Torch, tensor: Tensor, added: Tensor, count: number): Tensor {
  const rows = (tensor.sizes[0] ?? 1) + count * (added.sizes[0] ?? 1);
  return kept(torch, [rows, ...tensor.sizes.slice(1)], tensor.dtype);
}

/** What every process has of a tensor, as one block; the own one goes (accelerate/utils/operations.py, `_gpu_gather`). */
function gathered(torch: Torch, tensor: Tensor, processes: number): Tensor {
  if (processes <= 1) return tensor;
  const [rows = 1, ...rest] = tensor.sizes;
  const all = torch.empty("all_gather", [processes * rows, ...rest], tensor.dtype);
  tensor.release();
  return all;
}

/** Runs the evaluation after the last step: gradients are gone, weights and optimizer states are there. */
export function runEvaluation(
  torch: Torch,
  passes: PassFactory,
  options: EvaluationOptions,
  strategy: Strategy,
  step: number,
): void {
  const { ledger } = torch;
  const { spec } = options;
  ledger.enter("evaluation", step);
  torch.gradEnabled = false;
  torch.training = false;
  const losses = new Container(spec.concatenates);
  const predictions = new Container(spec.concatenates);
  const references = new Container(spec.concatenates);
  const containers = [losses, predictions, references];
  let prediction: Prediction | null = null;
  let inputs: Tensor[] = [];
  /** The loop's names from one batch to the next. */
  let names: { loss: Tensor; logits: Tensor[]; labels: Tensor[] } | null = null;
  const forget = (): void => {
    for (const tensor of names === null ? [] : [names.loss, ...names.logits, ...names.labels]) tensor.release();
    names = null;
  };
  const { processes = 1 } = spec;
  const perTransfer = spec.accumulationSteps ?? Number.POSITIVE_INFINITY;
  // Once everything has moved to the host, the next batches do what these did.
  const batches = Math.min(spec.batches, perTransfer + 1);
  for (let batch = 0; batch < batches; batch++) {
    const rest = batches - 1 - batch;
    if (batch === FIRST_BATCHES && rest > 0 && names !== null) {
      const { loss, logits, labels } = names as { loss: Tensor; logits: Tensor[]; labels: Tensor[] };
      losses.skip(torch, [loss], rest);
      if (logits.length > 0) predictions.skip(torch, logits, rest);
      if (labels.length > 0) references.skip(torch, labels, rest);
      batch += rest;
    }
    torch.kind = "inputs";
    const next = allocateBatch(torch, options.batch);
    for (const tensor of inputs) tensor.release();
    inputs = next;
    const isFirst: boolean = prediction === null;
    // What the first forward leaves gathered, those after it find there.
    if (prediction === null || (batch === 1 && strategy.keepGathered !== undefined))
      prediction = predict(torch, passes, inputs, options.autocast, strategy, isFirst);
    playRegion(torch, prediction.region, step);
    if (isFirst) strategy.keepGathered?.(torch);
    // What `prediction_step` made itself goes with its return.
    const counted = options.batch.findIndex(({ name }) => name === COUNT);
    if (counted >= 0) inputs.splice(counted, 1)[0]?.release();
    const given = options.batch.filter(({ name }) => name !== COUNT);
    torch.kind = "activations";
    torch.logits = true;
    const storages = taken(prediction);
    const [, ...rests] = prediction.outputs;
    const mean = torch.empty("mean", [], "float32");
    const keepsLogits = spec.keeps !== "loss";
    let logits = keepsLogits ? [...new Set(rests)].map((index) => storages[index]!.retain()) : [];
    for (const tensor of storages) tensor.release();
    let labels = keepsLogits ? given.flatMap(({ name }, k) => (LABELS.has(name) ? [inputs[k]!.retain()] : [])) : [];
    forget();
    const loss = gathered(torch, torch.empty("repeat", [spec.batchSize], "float32"), processes);
    mean.release();
    losses.add(torch, [loss]);
    if (spec.keeps === "argmax" && logits[0] !== undefined) {
      const chosen = torch.empty("argmax", logits[0].sizes.slice(0, -1), "int64");
      for (const tensor of logits) tensor.release();
      logits = [chosen];
    }
    logits = logits.map((tensor) => gathered(torch, tensor, processes));
    if (logits.length > 0) predictions.add(torch, logits);
    labels = labels.map((tensor) => gathered(torch, tensor, processes));
    if (labels.length > 0) references.add(torch, labels);
    torch.logits = false;
    names = { loss, logits, labels };
    if ((batch + 1) % perTransfer === 0) {
      for (const container of containers) container.clear();
      forget();
      for (const tensor of inputs) tensor.release();
      inputs = [];
      if (spec.emptiesCache === true) ledger.emptyCache();
    }
  }
  for (const container of containers) container.clear();
  forget();
  for (const tensor of inputs) tensor.release();
  strategy.endPass?.(torch);
  torch.gradEnabled = true;
  torch.training = true;
}
