/**
 * The model after loading: parameters and buffers on the device, and what adapters and quantization put in place of
 * leaf modules.
 */

import { once } from "../../terms/once";
import { type DType, isFloating } from "../engine/dtype";
import { view as viewed } from "../engine/ops/layout";
import { Settling } from "../engine/settling";
import { hostTensor, Tensor } from "../engine/tensor";
import type { Torch } from "../engine/torch";
import type { ConfigView } from "../graph/config";
import { truthy } from "../graph/expression";
import type { ArchitectureGraph } from "../graph/types";

import { adapt } from "./adapters";
import { byModule } from "./adapters/experts";
import { canInitialize, REPACKED_FROM } from "./adapters/initialization";
import { isAdapted } from "./adapters/targets";
import { wrappedNames } from "./adapters/wrapped-names";
import { describe, type LoadedModel, type Loading, type LoadOptions, made, recast } from "./loaded-model";
import { inKeyOrder, warmUp, whilePacking, withPieces } from "./loading";
import {
  asKept,
  asLinear,
  float8Forwards,
  isPacked,
  isPackedExperts,
  KEEPS_HALF_PRECISION,
  pack,
  quantizedForwards,
  storedForSharding,
} from "./packed-weights";
import { partOf } from "./parts";
import { inputTable, isTable, type PlacedTensor, placeTensors } from "./placed";
import { dequantize } from "./quantization/bitsandbytes";
import { isSkipped } from "./quantization/skipped";
import type { AdapterSpec } from "./run";
import { tiesOf } from "./ties";
import { regrade, steppedOf, withTrained } from "./trained";

const moduleOf = (name: string): string => name.replace(/\.weight$/, "");

/** The tensors as loaded, with the uses of other layers' between them, whose modules get adapters of their own. */
function withShared(found: readonly PlacedTensor[], placed: readonly PlacedTensor[]): readonly PlacedTensor[] {
  if (found.every(({ sharedWith }) => sharedWith === null)) return placed;
  const loaded = new Map(placed.map((item) => [item.name, item]));
  return found.flatMap((item) => (item.sharedWith === null ? (loaded.get(item.name) ?? []) : item));
}

/** Loads the model: weights, buffers, quantization, adapters. Allocations are booked on the phase in force. */
export function loadModel(torch: Torch, graph: ArchitectureGraph, view: ConfigView, options: LoadOptions): LoadedModel {
  const loading: Loading = {
    torch,
    options,
    byName: new Map(),
    modules: new Map(),
    packed: new Map(),
    unpacked: new Map(),
  };
  const { byName } = loading;
  const names = new Map(
    graph.tied
      .filter((tie) => truthy(view.expressions.evaluate(tie.when, view.scope)))
      .map((tie) => [tie.name, tie.to] as const),
  );
  const whole = inParts(options, placeTensors(graph.parameters, view, options.loadDtype));
  const listed = options.splits === undefined ? whole : whole.map(options.splits);
  for (const { name, sharedWith } of listed) if (sharedWith !== null) names.set(name, sharedWith);
  const { found, tied, copies } = tiesOf(listed, names, options.unitOf, {
    embedding: options.embeddings ?? (moduleOf(inputTable(listed, names, undefined)?.name ?? "") || null),
    head: options.head,
  });
  const own = found.filter(({ name }) => !tied.has(name));
  const isLeft = (item: PlacedTensor): boolean => isFrozen(options, item.name) || isIdle(options, item);
  const placed = withTrained(options.trained, own, view.scope, tied)
    .map((item) => asKept(loading, asLinear(loading, item)))
    .map((item) => (isLeft(item) ? { ...item, frozen: true } : item));
  if (options.packsOnTheFly) {
    warmUp(torch, placed, (item) => isPacked(loading, item), options.quantization);
    for (const item of inKeyOrder(placed)) byName.set(item.name, arrive(loading, item));
  } else for (const item of placed) byName.set(item.name, loadParameter(loading, item));
  const states = options.autocast ?? options.loadDtype;
  const settling = new Map<string, DType>();
  for (const item of inParts(options, placeTensors(graph.buffers, view, options.bufferDtype ?? options.loadDtype))) {
    if (item.settles && item.dtype !== states) settling.set(item.name, states);
    const casts = options.castsBuffers === true && item.settles !== true && isFloating(item.dtype);
    byName.set(item.name, made(torch, "buffers", "empty", item.sizes, casts ? options.loadDtype : item.dtype));
  }
  if (options.quantization?.prepareForKbit && !KEEPS_HALF_PRECISION.has(options.quantization.type))
    raiseHalfPrecision(loading, placed);
  raiseTrained(loading, placed);
  const tables = new Set(graph.parameters.filter(isTable).map(({ name }) => name));
  for (const [name, to] of tied) {
    const target = byName.get(to);
    if (target !== undefined) byName.set(name, target);
    if (target !== undefined && tables.has(name)) target.isTable = true;
    const weight = loading.packed.get(moduleOf(to));
    if (weight !== undefined) loading.packed.set(moduleOf(name), weight);
  }
  if (options.adapter !== null) repackedTargets(loading, placed, options.adapter);
  quantizedForwards(loading, placed);
  if (options.prunedWeights !== undefined) maskPruned(torch, placed, options.prunedWeights);
  if (options.float8) float8Forwards(loading, placed, options.float8);
  const table = inputTable(placed, tied, options.embeddings);
  const base = options.adapter === null ? undefined : { byName: new Map(byName), modules: new Map(loading.modules) };
  const adapted =
    options.adapter === null
      ? null
      : adapt(torch, options.adapter, {
          ...loading,
          placed: withShared(found, placed),
          tied,
          family: options.family,
          head: options.head,
          table,
          promptSizes: options.promptSizes,
          ...(options.initializes ? { initializes: true } : {}),
          isFrozen: (path) => isFrozen(options, path),
        });
  const beside = options.trained?.besideAdapter ?? [];
  const wrapped = once(() => adapted && wrappedNames(adapted.parameters, placed));
  if (adapted !== null && beside.length > 0) regrade(beside, wrapped() ?? []);
  const named = () => wrapped() ?? placed.map((item) => ({ tensor: byName.get(item.name)!, item }));
  const stepped = steppedOf(options.trained ?? {}, named, adapted === null ? tied : new Map());
  const parameters = adapted?.parameters ?? placed.map(({ name }) => byName.get(name)!);
  const counted = parameters.filter(({ name }) => name === null || !copies.has(name));
  const packedElements = [...loading.packed.values()].reduce(
    (sum, weight) => sum + weight.outputs * weight.inputs - weight.packed.elements,
    0,
  );
  return {
    parameters,
    byName,
    modules: loading.modules,
    parametrized: adapted?.parametrized ?? byModule([], loading.unpacked),
    embedding:
      table === undefined
        ? null
        : { path: options.embeddings ?? moduleOf(table.name), weight: byName.get(table.name)! },
    prompt: adapted?.prompt ?? null,
    regularised: adapted?.regularised ?? [],
    ...(settling.size > 0 ? { settling: new Settling(byName, settling) } : {}),
    ...(base && { base }),
    ...(stepped && { stepped }),
    elements: total(counted) + packedElements,
    trainableElements: total(counted.filter((tensor) => tensor.requiresGradFlag)),
  };
}

/** The tensors in the dtypes of the models that they are of. */
function inParts({ partDtypes, loadDtype }: LoadOptions, placed: readonly PlacedTensor[]): readonly PlacedTensor[] {
  if (partDtypes === undefined) return placed;
  const dtypes = new Map(Object.entries(partDtypes));
  return placed.map((item) => {
    const dtype = dtypes.get(item.name.slice(0, item.name.indexOf(".")));
    return dtype === undefined || item.dtype !== loadDtype ? item : { ...item, dtype };
  });
}

/** OLoRA packs 4-bit weights anew from a float32 residual: they are unpacked to that from then on. */
function repackedTargets({ packed, options }: Loading, placed: readonly PlacedTensor[], adapter: AdapterSpec): void {
  if (adapter.initialization?.kind !== "olora" || options.initializes) return;
  for (const { name, module } of placed) {
    const path = moduleOf(name);
    const weight = packed.get(path);
    if (
      weight !== undefined &&
      canInitialize(adapter.initialization, weight) &&
      isAdapted(adapter, path, module, options.head)
    )
      packed.set(path, { ...weight, dtype: REPACKED_FROM });
  }
}

/** Whether the trainer leaves the part of the model alone that a parameter or module belongs to. */
function isFrozen({ frozenParts }: LoadOptions, path: string): boolean {
  const part = frozenParts.length === 0 ? null : partOf(path);
  return part !== null && frozenParts.includes(part);
}

/** Whether another layer is the one that is trained. */
function isIdle({ trainedLayer }: LoadOptions, { index }: PlacedTensor): boolean {
  return trainedLayer !== undefined && index !== trainedLayer;
}

function loadParameter(loading: Loading, item: PlacedTensor): Tensor {
  const { torch, options } = loading;
  if (isPackedExperts(options.quantization, item)) {
    const [count = 1, ...rest] = item.sizes;
    const one = { ...item, sizes: [count * (rest[0] ?? 1), rest[1] ?? 1] };
    const whole = pack(torch, options.quantization!, one);
    const { packed } = whole;
    if (options.quantization?.unpacksExperts === true)
      loading.unpacked.set(item.name, (torch) => {
        const flat = dequantize(torch, whole);
        const stacked = viewed(torch, flat, item.sizes);
        flat.release();
        return stacked;
      });
    // The layer's operators see the weights as they are.
    const seen = new Tensor(torch.ledger, packed.storage, item.sizes, null, item.dtype);
    return describe(seen, item, false);
  }
  if (isPacked(loading, item)) {
    const whole = pack(torch, options.quantization!, item);
    const weight = options.sharded ? storedForSharding(torch, whole, options.loadDtype) : whole;
    loading.packed.set(item.name.slice(0, -".weight".length), weight);
    return describe(weight.packed, item, false);
  }
  const tensor = options.sharded
    ? hostTensor(torch.ledger, item.sizes, item.dtype)
    : made(torch, "weights", "empty", item.sizes, item.dtype);
  return describe(tensor, item, options.adapter === null && options.quantization === null);
}

/** A parameter as it comes from a checkpoint, with what exists only while it is packed or merged. */
function arrive(loading: Loading, item: PlacedTensor): Tensor {
  const { torch, options } = loading;
  if (!isPacked(loading, item)) return withPieces(torch, item, () => loadParameter(loading, item));
  return whilePacking(torch, item, options.quantization!, () => loadParameter(loading, item));
}

/** `prepare_model_for_kbit_training`: half-precision parameters that were not packed become float32 (peft/utils/other.py). */
function raiseHalfPrecision(loading: Loading, placed: readonly PlacedTensor[]): void {
  for (const item of placed) {
    const { dtype } = loading.byName.get(item.name)!;
    if (dtype === "float16" || dtype === "bfloat16") recast(loading, item, "float32");
  }
}

/** Trained weights in a dtype of their own. */
function raiseTrained(loading: Loading, placed: readonly PlacedTensor[]): void {
  const dtype = loading.options.trained?.dtype;
  if (dtype === undefined) return;
  for (const item of placed) {
    const tensor = loading.byName.get(item.name)!;
    if (tensor.requiresGradFlag && tensor.dtype !== dtype) recast(loading, item, dtype, true);
  }
}

/** llmcompressor's word for every weight it can prune. */
const PRUNABLE = "__ALL_PRUNABLE__";

/**
 * Pruned weights stay dense while they are trained; a mask of as many bytes keeps their zeros
 * (llmcompressor/modifiers/pruning/utils/pytorch/layer_mask.py, LayerParamMasking.add_mask).
 */
function maskPruned(torch: Torch, placed: readonly PlacedTensor[], targets: readonly string[]): void {
  const matches = ({ name, module }: PlacedTensor): boolean =>
    targets.some((target) => {
      if (target === PRUNABLE || target === module) return module === "Linear" && name.endsWith(".weight");
      return target.startsWith("re:") ? isSkipped(name, target) : name === target;
    });
  for (const item of placed) if (matches(item)) made(torch, "buffers", "ones_like", item.sizes, "bool");
}

function total(tensors: readonly Tensor[]): number {
  return tensors.reduce((sum, tensor) => sum + tensor.elements, 0);
}
