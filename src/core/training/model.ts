/**
 * The model after loading: parameters and buffers on the device, and what adapters and quantization put in place of
 * leaf modules.
 */
import type { DType } from "../engine/dtype";
import type { ModuleForward } from "../engine/interpreter";
import type { Tensor } from "../engine/tensor";
import type { Torch } from "../engine/torch";
import type { ConfigView } from "../graph/config";
import { evaluate, type Scope, truthy } from "../graph/expression";
import type { ArchitectureGraph, TensorSpec } from "../graph/types";
import { applyLora, isAdapted } from "./adapters/lora";
import { applyModulesToSave } from "./adapters/modules-to-save";
import type { AdapterSpec } from "./run";

export interface LoadedModel {
  /** In the order of `model.parameters()`, tied ones once. */
  readonly parameters: readonly Tensor[];
  /** Parameters and buffers by every name they go by. */
  readonly byName: ReadonlyMap<string, Tensor>;
  readonly modules: ReadonlyMap<string, ModuleForward>;
  /** Elements of all parameters, and of those that are trained. */
  readonly elements: number;
  readonly trainableElements: number;
}

/** One parameter or buffer of one layer. */
export interface PlacedTensor {
  readonly name: string;
  readonly sizes: readonly number[];
  readonly dtype: DType;
  readonly module: string;
  readonly index: number | null;
}

function dtypeOf(text: string | undefined, load: DType): DType {
  const name = text?.replace(/^\$/, "");
  return name === undefined || name === "load" ? load : (name as DType);
}

function place(spec: TensorSpec, scope: Scope, load: DType, index: number | null): PlacedTensor | null {
  if (spec.when !== undefined && !truthy(evaluate(spec.when, scope))) return null;
  return {
    name: index === null ? spec.name : spec.name.replaceAll("{i}", String(index)),
    sizes: spec.shape.map((expression) => Math.max(0, Math.round(Number(evaluate(expression, scope))))),
    dtype: dtypeOf(spec.dtype, load),
    module: spec.module,
    index,
  };
}

/** Every parameter (or buffer) of the graph, layer by layer where the model repeats. */
export function placeTensors(specs: readonly TensorSpec[], view: ConfigView, load: DType): PlacedTensor[] {
  const placed: PlacedTensor[] = [];
  for (let k = 0; k < specs.length; ) {
    const spec = specs[k]!;
    if (spec.layers === undefined) {
      const tensor = place(spec, view.scope, load, null);
      if (tensor !== null) placed.push(tensor);
      k++;
      continue;
    }
    // Consecutive specs over the same layers belong together: layer 0 of all, then layer 1, …
    let end = k;
    const [from, to] = spec.layers;
    while (
      end < specs.length &&
      specs[end]!.layers?.[0] === from &&
      specs[end]!.layers?.[1] === to &&
      prefix(specs[end]!) === prefix(spec)
    )
      end++;
    const first = Number(evaluate(from, view.scope));
    const last = Number(evaluate(to, view.scope));
    for (let index = first; index < last; index++) {
      const kind = view.layerKind(index);
      const scope: Scope = (name) => (name === "i" ? index : name === "kind" ? kind : view.scope(name));
      for (let n = k; n < end; n++) {
        const tensor = place(specs[n]!, scope, load, index);
        if (tensor !== null) placed.push(tensor);
      }
    }
    k = end;
  }
  return placed;
}

/** Path before the layer index: `model.layers`. */
function prefix(spec: TensorSpec): string {
  return spec.name.split(".{i}")[0]!;
}

export interface LoadOptions {
  readonly loadDtype: DType;
  readonly adapter: AdapterSpec | null;
  /** Module path of the output head, which `all-linear` leaves out. */
  readonly head: string | null;
}

/** Loads the model: weights, buffers, adapters. Allocations are booked on the phase in force. */
export function loadModel(torch: Torch, graph: ArchitectureGraph, view: ConfigView, options: LoadOptions): LoadedModel {
  const byName = new Map<string, Tensor>();
  const modules = new Map<string, ModuleForward>();
  const { adapter } = options;
  const tied = new Map(
    graph.tied.filter((tie) => truthy(evaluate(tie.when, view.scope))).map((tie) => [tie.name, tie.to] as const),
  );
  const placed = placeTensors(graph.parameters, view, options.loadDtype).filter(({ name }) => !tied.has(name));
  const ordered: Tensor[] = [];
  for (const item of placed) {
    const tensor = torch.empty("empty", item.sizes, item.dtype);
    setKind(torch, tensor, "weights");
    tensor.name = item.name;
    tensor.requiresGradFlag = adapter === null;
    byName.set(item.name, tensor);
    ordered.push(tensor);
  }
  for (const item of placeTensors(graph.buffers, view, options.loadDtype)) {
    const tensor = torch.empty("empty", item.sizes, item.dtype);
    setKind(torch, tensor, "buffers");
    byName.set(item.name, tensor);
  }
  for (const [name, to] of tied) {
    const target = byName.get(to);
    if (target !== undefined) byName.set(name, target);
  }
  const parameters = adapter === null ? ordered : adapt(torch, adapter, placed, ordered, byName, modules, options.head);
  return {
    parameters,
    byName,
    modules,
    elements: total(parameters),
    trainableElements: total(parameters.filter((tensor) => tensor.requiresGradFlag)),
  };
}

function adapt(
  torch: Torch,
  adapter: AdapterSpec,
  placed: readonly PlacedTensor[],
  ordered: readonly Tensor[],
  byName: Map<string, Tensor>,
  modules: Map<string, ModuleForward>,
  head: string | null,
): Tensor[] {
  const parameters: Tensor[] = [];
  placed.forEach((item, k) => {
    const path = item.name.replace(/\.(weight|bias)$/, "");
    const next = placed[k + 1];
    const last = next === undefined || next.name.replace(/\.(weight|bias)$/, "") !== path;
    parameters.push(ordered[k]!);
    if (applyModulesToSave(torch, adapter, item, byName, parameters)) return;
    // peft appends an adapted module's own parameters after the base layer's.
    if (last && isAdapted(adapter, path, item.module, head))
      parameters.push(...applyLora(torch, adapter, path, item.module, byName, modules));
  });
  return parameters;
}

function setKind(torch: Torch, tensor: Tensor, kind: "weights" | "buffers"): void {
  if (tensor.storage.id >= 0) torch.ledger.kinds[tensor.storage.id] = kind;
}

function total(tensors: readonly Tensor[]): number {
  return tensors.reduce((sum, tensor) => sum + tensor.elements, 0);
}
