/**
 * LoRA on parameters that are no linear layer's: experts whose matrices are stored together (transformers 5), and the
 * router. peft turns the names of the single matrices, and `all-linear`, into parameters to adapt. Sources:
 * peft/utils/transformers_weight_conversion.py (`_convert_peft_config_moe`), peft/tuners/tuners_utils.py
 * (`_inject_parameters`), peft/tuners/lora/layer.py (`ParamWrapper`), torch/nn/utils/parametrize.py.
 */
import type { ModuleParameters, ParameterWrapper } from "../../engine/interpreter/options";
import { add, mul } from "../../engine/ops/arithmetic";
import { permute, view } from "../../engine/ops/layout";
import { baddbmmOperator, matmul } from "../../engine/ops/linear";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { factsOf } from "../../graph/facts";
import type { PlacedTensor } from "../placed";
import type { AdapterSpec } from "../run";
import { adapterDtype, castInput, done, parameter } from "./layer";
import { isLinear, named } from "./targets";

/** Names of separate matrices with the parameter that holds them now. */
type Names = Readonly<Record<string, string>>;

/** What an adapter means for a family: the modules it is put on, and the parameters, by the end of their name. */
export interface Converted {
  readonly adapter: AdapterSpec;
  /** Rank by the end of a parameter's name. */
  readonly parameters: ReadonlyMap<string, number>;
}

/** The targets as peft converts them for the family; the adapter itself where there is nothing to convert. */
export function convertTargets(
  adapter: AdapterSpec,
  family: string,
  placed: readonly PlacedTensor[],
  head: string | null,
): Converted {
  const names: Names | undefined = factsOf(family).convertedExperts;
  if (!/^(?:lora|dora)$/.test(adapter.type)) return { adapter, parameters: new Map() };
  const parameters = new Map((adapter.targetParameters ?? []).map((name) => [name, adapter.rank]));
  if (names === undefined) return { adapter, parameters };
  const targets = leafTargets(adapter, names, placed, head);
  const rest = targets.filter((target) => names[leaf(target)] === undefined);
  for (const target of targets) {
    const name = names[leaf(target)];
    // Two matrices in one: the rank is that of both together.
    if (name !== undefined) parameters.set(name, (parameters.get(name) ?? 0) + adapter.rank);
  }
  return rest.length === targets.length
    ? { adapter, parameters }
    : { adapter: { ...adapter, targetModules: rest }, parameters };
}

/** Whether peft raises an error for this form of LoRA on a parameter (`ParamWrapper.__init__`). */
export function isRefused({ type, dropout, loraBias, separateExperts }: AdapterSpec): boolean {
  return separateExperts !== true && (type === "dora" || dropout > 0 || loraBias === true);
}

const leaf = (path: string): string => path.slice(path.lastIndexOf(".") + 1);

/** Targets as names; what a pattern or `all-linear` reaches is spelled out (`_resolve_string_target_modules`). */
function leafTargets(
  { targetModules }: AdapterSpec,
  names: Names,
  placed: readonly PlacedTensor[],
  head: string | null,
): string[] {
  if (typeof targetModules !== "string") return [...new Set(targetModules)];
  const linear = placed.filter(({ name, module }) => name.endsWith(".weight") && isLinear(module));
  const modules = linear.map(({ name }) => name.slice(0, -".weight".length));
  if (targetModules === "all-linear")
    return [...new Set([...modules.filter((path) => path !== head).map(leaf), ...Object.keys(names)])];
  const matched = new Set(modules.filter((path) => named(targetModules, path)).map(leaf));
  for (const [name, now] of Object.entries(names)) {
    const holders = placed.filter((item) => item.name.endsWith(`.${now}`));
    const old = holders.map((item) => `${item.name.slice(0, -now.length)}${name}`);
    if (old.some((path) => named(targetModules, path))) matched.add(name);
  }
  return [...matched];
}

/** What a parametrization below the adapters makes of a stored parameter each time it is read. */
export type Unpack = (torch: Torch) => Tensor;

/** An adapter on one parameter: its own parameters, and what takes the parameter's place while its module runs. */
export interface ParameterLora {
  readonly path: string;
  readonly a: Tensor;
  readonly b: Tensor;
  readonly weight: Tensor;
  readonly unpack?: Unpack | undefined;
  readonly scaled: boolean;
  /** The parameter has inputs before outputs. */
  readonly transposed: boolean;
}

/** LoRA on a parameter: factors of every expert side by side (`ParamWrapper.update_layer`). */
export function parameterLora(
  torch: Torch,
  adapter: AdapterSpec,
  rank: number,
  path: string,
  weight: Tensor,
  { family, unpacked }: { readonly family: string; readonly unpacked: ReadonlyMap<string, Unpack> },
): ParameterLora {
  const transposed = weight.rank === 3 && factsOf(family).transposedExperts === true;
  const [experts, first, last] = weight.rank === 3 ? weight.sizes : [1, ...weight.sizes];
  const [outputs, inputs] = transposed ? [last, first] : [first, last];
  const dtype = adapterDtype(adapter, weight.dtype);
  const a = parameter(torch, `${path}.lora_A`, [rank * experts!, inputs!], dtype);
  const b = parameter(torch, `${path}.lora_B`, [outputs!, rank * experts!], dtype);
  // Rank and alpha of fused matrices are raised together.
  const scale = adapter.useRslora ? Math.sqrt(adapter.rank) : adapter.rank;
  return { path, a, b, weight, unpack: unpacked.get(path), scaled: adapter.alpha !== scale, transposed };
}

/**
 * Adapters on parameters of one module, in the order of the parameters: the last wraps the others. While the module runs,
 * each parameter is computed once, when it is first read; registering the parametrization computes it once more, as a check.
 */
function wrapped(adapters: readonly ParameterLora[], unpacks: ReadonlyMap<string, Unpack>): ParameterWrapper {
  return {
    enter(torch): ModuleParameters {
      const ways = new Map<string, Way>();
      for (const adapter of [...adapters].reverse()) {
        const way = adapter.weight.rank === 3 ? folded(torch, adapter) : summed(torch, adapter);
        way.compute(torch).release();
        ways.set(adapter.path, way);
      }
      const computed = new Map<string, Tensor>();
      return {
        get(torch, path): Tensor | undefined {
          const known = computed.get(path);
          const compute = ways.get(path)?.compute ?? unpacks.get(path);
          if (known !== undefined || compute === undefined) return known;
          const tensor = compute(torch);
          computed.set(path, tensor);
          return tensor;
        },
        leave(): void {
          for (const way of ways.values()) for (const tensor of way.held) tensor.release();
          for (const tensor of computed.values()) tensor.release();
        },
      };
    },
  };
}

/** What stands for parameters, by the module that has them: adapters, and what unpacks those that have none. */
export function byModule(
  adapters: readonly ParameterLora[],
  unpacks: ReadonlyMap<string, Unpack>,
): Map<string, ParameterWrapper> {
  const moduleOf = (path: string): string => path.slice(0, path.lastIndexOf("."));
  const modules = new Set([...adapters.map(({ path }) => path), ...unpacks.keys()].map(moduleOf));
  const on = (module: string): ParameterWrapper =>
    wrapped(
      adapters.filter(({ path }) => moduleOf(path) === module),
      unpacks,
    );
  return new Map([...modules].map((module) => [module, on(module)]));
}

/** How the adapted parameter is computed, from what the parametrization holds. */
interface Way {
  readonly held: readonly Tensor[];
  compute(torch: Torch): Tensor;
}

/** `_LoraFactorsProxy`: one `baddbmm` in the parameter's own dtype. */
function folded(torch: Torch, { a, b, weight, unpack, scaled, transposed }: ParameterLora): Way {
  const [experts = 1] = weight.sizes;
  const rows = view(torch, a, [experts, -1, a.size(1)]);
  const columns = view(torch, b, [b.size(0), -1, experts]);
  const left = done(permute(torch, columns, [2, 0, 1]), columns);
  const turned = (tensor: Tensor): Tensor => done(permute(torch, tensor, [0, 2, 1]), tensor);
  const [before, behind] = transposed ? [turned(rows), turned(left)] : [left, rows];
  const lhs = done(castInput(torch, before, weight.dtype), before);
  const rhs = done(castInput(torch, behind, weight.dtype), behind);
  return {
    held: [lhs, rhs],
    compute: (torch) => {
      const { autocastEnabled } = torch;
      torch.autocastEnabled = false;
      const base = unpack?.(torch) ?? weight.retain();
      const out = baddbmmOperator(torch, base, lhs, rhs, scaled);
      base.release();
      torch.autocastEnabled = autocastEnabled;
      return out;
    },
  };
}

/** `_LoraParameterProxy`: the product of the factors, added to the parameter. */
function summed(torch: Torch, { a, b, weight }: ParameterLora): Way {
  const product = matmul(torch, b, a);
  const scaled = done(mul(torch, product, 0.5), product);
  const delta = done(castInput(torch, scaled, weight.dtype), scaled);
  return { held: [delta], compute: (torch) => add(torch, weight, delta) };
}
