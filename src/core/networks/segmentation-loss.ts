/**
 * nnU-Net's loss: soft Dice and cross-entropy (of regions: with logits) at every resolution but the lowest. Sources:
 * nnunetv2/training/loss/{compound_losses,dice,robust_ce_loss,deep_supervision}.py.
 */
import type { GraphWriter, Value } from "./writer";

export interface SegmentationLoss {
  /** Dice is taken over the whole batch. */
  readonly batchDice: boolean;
  /** Classes may overlap: targets are masks, one a region. */
  readonly regions: boolean;
  /** Some voxels have no label. */
  readonly ignores: boolean;
  /** Sides of a picture: 2 or 3. */
  readonly sides: number;
}

/** The sum over resolutions; the lowest one's weight is zero, so nothing of it is computed. */
export function deepSupervision(
  graph: GraphWriter,
  loss: SegmentationLoss,
  logits: readonly Value[],
  targets: readonly Value[],
): Value {
  graph.scope("loss");
  const weighted = logits.slice(0, -1).map((output, k) => {
    const one = (loss.regions ? regionLoss : classLoss)(graph, loss, output, targets[k] ?? output);
    const scaled = graph.op("mul", [one, 1]);
    graph.drop(one);
    return scaled;
  });
  return (
    weighted.reduce((sum: Value | null, value) => graph.op("add", [sum ?? 0, value]), null) ?? (logits[0] as Value)
  );
}

/** `DC_and_CE_loss`. */
function classLoss(graph: GraphWriter, loss: SegmentationLoss, output: Value, target: Value): Value {
  const mask = loss.ignores ? graph.op("ne.Scalar", [target, 0]) : null;
  const labels = mask === null ? target : known(graph, mask, target);
  const labelled = mask === null ? null : graph.op("sum", [mask]);
  const dice = diceLoss(graph, loss, graph.op("softmax.int", [output, 1]), labels, mask);
  const one = graph.op("select", [target, 1, 0]);
  const indices = graph.op("to.dtype", [one, "$int64"]);
  const entropy = graph.op("cross_entropy_loss", [output, indices]);
  graph.drop(one, indices);
  const result = total(graph, entropy, dice);
  if (mask !== null && labelled !== null) graph.drop(mask, labels, labelled);
  return result;
}

/** Targets with the missing labels replaced. */
function known(graph: GraphWriter, mask: Value, target: Value): Value {
  const zero = graph.op("scalar_tensor", [0, "$int16"]);
  const labels = graph.op("where.self", [mask, target, zero]);
  graph.drop(zero);
  return labels;
}

/** `DC_and_BCE_loss`. */
function regionLoss(graph: GraphWriter, loss: SegmentationLoss, output: Value, target: Value): Value {
  const last = loss.ignores ? graph.op("slice.Tensor", [target, 1, -1, null]) : null;
  const mask = last === null ? null : graph.op("bitwise_not", [last]);
  const regions = mask === null ? target : graph.op("slice.Tensor", [target, 1, 0, -1]);
  const dice = diceLoss(graph, loss, graph.op("sigmoid", [output]), regions, mask);
  const labels = graph.op("to.dtype", [regions, "$float32"]);
  const entropy =
    mask === null
      ? graph.op("binary_cross_entropy_with_logits", [output, labels])
      : maskedMean(graph, graph.op("binary_cross_entropy_with_logits", [output, labels, null, null, 0]), mask);
  const result = total(graph, entropy, dice);
  graph.drop(labels);
  return result;
}

/** Mean of the voxels that have labels. */
function maskedMean(graph: GraphWriter, values: Value, mask: Value): Value {
  const kept = graph.op("mul.Tensor", [values, mask]);
  graph.drop(values);
  const sum = graph.op("sum", [kept]);
  graph.drop(kept);
  const count = graph.op("sum", [mask]);
  const limited = graph.op("clamp", [count, 1e-8]);
  graph.drop(count);
  const mean = graph.op("div", [sum, limited]);
  graph.drop(sum, limited);
  return mean;
}

function total(graph: GraphWriter, entropy: Value, dice: Value): Value {
  const weighted = [entropy, dice].map((part) => graph.op("mul", [part, 1])) as [Value, Value];
  const result = graph.op("add", weighted);
  graph.drop(...weighted, dice, entropy);
  return result;
}

/** `MemoryEfficientSoftDiceLoss`: the background counts among regions only. */
function diceLoss(
  graph: GraphWriter,
  { batchDice, regions, sides }: SegmentationLoss,
  probabilities: Value,
  target: Value,
  mask: Value | null,
): Value {
  const axes = Array.from({ length: sides }, (_, k) => 2 + k);
  const sum = (value: Value): Value => graph.op("sum.dim_IntList", [value, axes, false, "$float32"]);
  const whole = regions
    ? graph.op("to.dtype", [target, "$float32"], { nograd: true })
    : oneHot(graph, probabilities, target);
  const foreground = (value: Value): Value => (regions ? value : graph.op("slice.Tensor", [value, 1, 1, null]));
  const truth = foreground(whole);
  const masked = (value: Value): Value => {
    if (mask === null) return value;
    const kept = graph.op("mul.Tensor", [value, mask]);
    if (value !== truth && value !== predicted) graph.drop(value);
    return kept;
  };
  const summed = (value: Value): Value => {
    const kept = masked(value);
    const result = sum(kept);
    if (kept !== truth && kept !== predicted) graph.drop(kept);
    return result;
  };
  let predicted: Value = probabilities;
  const truths = summed(truth);
  predicted = foreground(probabilities);
  if (predicted !== probabilities) graph.drop(probabilities);
  const product = graph.op("mul.Tensor", [predicted, truth]);
  const sums = [summed(product), summed(predicted), truths].map((value) => {
    if (!batchDice) return value;
    const all = graph.op("sum.dim_IntList", [value, [0], false, "$float32"]);
    graph.drop(value);
    return all;
  });
  return ratio(graph, sums as [Value, Value, Value], [whole, truth, predicted]);
}

/** `(2 · intersection + s) / max(truth + prediction + s, ε)`, its mean with the sign turned. */
function ratio(
  graph: GraphWriter,
  [intersection, prediction, truth]: readonly [Value, Value, Value],
  locals: readonly Value[],
): Value {
  const doubled = graph.op("mul", [intersection, 2]);
  const numerator = graph.op("add", [doubled, 1e-5]);
  graph.drop(doubled);
  const both = graph.op("add", [truth, prediction]);
  const smoothed = graph.op("add", [both, 1e-5]);
  graph.drop(both);
  const denominator = graph.op("clamp_min", [smoothed, 1e-8]);
  const dice = graph.op("div", [numerator, denominator]);
  graph.drop(numerator, smoothed, denominator);
  const mean = graph.op("mean", [dice]);
  graph.drop(dice);
  const result = graph.op("neg", [mean]);
  graph.drop(...new Set([intersection, prediction, truth, mean, ...locals]));
  return result;
}

function oneHot(graph: GraphWriter, like: Value, target: Value): Value {
  const zeros = graph.op("zeros_like", [like], { nograd: true, kw: { dtype: "$float32" } });
  const indices = graph.op("to.dtype", [target, "$int64"], { nograd: true });
  graph.into("scatter_", zeros, 1, indices, 1);
  graph.drop(indices);
  return zeros;
}
