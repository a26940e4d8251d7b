/**
 * LoRA and DoRA as peft runs them. Sources: peft/tuners/lora/{layer.py,dora.py,variants.py}.
 */

import type { DType } from "../../engine/dtype";
import type { ModuleForward } from "../../engine/interpreter/options";
import { add, div, mul, sub } from "../../engine/ops/arithmetic";
import { embedding } from "../../engine/ops/gathering";
import { clone, permute, view } from "../../engine/ops/layout";
import { linear, matmul } from "../../engine/ops/linear";
import { dropout } from "../../engine/ops/nonlinear";
import { sameView, type Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { AdapterSpec } from "../run";
import {
  type AdapterLayer,
  adapterDtype,
  type BaseLayer,
  castInput,
  done,
  inModule,
  inputOf,
  parameter,
} from "./layer";
import { mergedLora } from "./merged-queries";
import { rankOf } from "./ranks";

interface Lora {
  readonly a: Tensor;
  readonly b: Tensor;
  readonly bias: Tensor | null;
  readonly magnitude: Tensor | null;
}

/** MiCA's second factor stays as it was made (peft/tuners/lora/variants.py, MiCALinearVariant). */
function trainsBoth({ initialization }: AdapterSpec): boolean {
  return initialization?.kind !== "mica";
}

/** LoRA or DoRA on a linear layer. */
export function lora(torch: Torch, adapter: AdapterSpec, base: BaseLayer): AdapterLayer {
  const parts = adapter.mergedParts;
  if (parts !== undefined && base.path.endsWith(`.${parts.module}`)) return mergedLora(torch, adapter, base, parts);
  const { path, dtype } = base;
  const rank = rankOf(adapter, path);
  const a = parameter(torch, `${path}.lora_A`, [rank, base.inputs], dtype);
  const b = parameter(torch, `${path}.lora_B`, [base.outputs, rank], dtype);
  b.requiresGradFlag = trainsBoth(adapter);
  const bias = adapter.loraBias ? parameter(torch, `${path}.lora_B_bias`, [base.outputs], dtype) : null;
  const magnitude =
    adapter.type === "dora"
      ? parameter(
          torch,
          `${path}.lora_magnitude_vector`,
          [base.outputs],
          adapter.castTo === undefined ? dtype : "float32",
        )
      : null;
  const forward = (base.format === null ? plainLora : quantizedLora)(adapter, { a, b, bias, magnitude }, base);
  return { parameters: [a, b, bias, magnitude].filter((tensor) => tensor !== null), forward };
}

/** LoRA on an embedding: a table of `r` columns beside the frozen one (peft/tuners/lora/layer.py, Embedding). */
export function loraEmbedding(torch: Torch, adapter: AdapterSpec, path: string, table: Tensor): AdapterLayer {
  const rank = rankOf(adapter, path);
  const dtype = adapterDtype(adapter, table.dtype);
  const a = parameter(torch, `${path}.lora_embedding_A`, [rank, table.size(0)], dtype);
  const b = parameter(torch, `${path}.lora_embedding_B`, [table.size(1), rank], dtype);
  b.requiresGradFlag = trainsBoth(adapter);
  const forward: ModuleForward = (torch, input) => {
    const result = embedding(torch, table, input);
    const columns = permute(torch, a, [1, 0]);
    const rows = permute(torch, b, [1, 0]);
    const picked = embedding(torch, columns, input);
    const up = matmul(torch, picked, rows);
    const scaled = done(mul(torch, up, 0.5), up);
    const sum = done(add(torch, result, scaled), scaled, result);
    const out = done(castInput(torch, sum, table.dtype), sum);
    for (const tensor of [picked, rows, columns]) tensor.release();
    return out;
  };
  return { parameters: [a, b], forward };
}

function delta(torch: Torch, adapter: AdapterSpec, lora: Lora, x: Tensor, result: Tensor, base: BaseLayer): Tensor {
  return lora.magnitude === null
    ? lowRank(torch, adapter, lora, x, result, null)
    : weightDecomposed(torch, adapter, lora, x, result, base);
}

/** The layer that the adapter stands for, between the hooks that it has itself. */
function insideHooks(torch: Torch, { path, forward }: BaseLayer, input: Tensor): Tensor {
  const inner = `${path}.base_layer`;
  if (torch.modules?.has(inner) !== true) return forward(torch, input);
  return inModule(torch, inner, input, (given) => forward(torch, given));
}

/** peft/tuners/lora/layer.py (Linear.forward). */
function plainLora(adapter: AdapterSpec, lora: Lora, base: BaseLayer): ModuleForward {
  return (torch, input) => {
    const result = insideHooks(torch, base, input);
    torch.trail?.read(`${lora.a.name}.weight`);
    const x = inputOf(torch, adapter, input, adapter.seenAs?.(lora.a) ?? lora.a.dtype);
    const sum = delta(torch, adapter, lora, x, result, base);
    const { dtype } = result;
    result.release();
    const out = done(castInput(torch, sum, dtype), sum);
    x.release();
    return out;
  };
}

/** peft/tuners/lora/{bnb,gptq,awq,hqq}.py: bitsandbytes' 4-bit result is cloned, casts happen outside autocast only. */
function quantizedLora(adapter: AdapterSpec, lora: Lora, base: BaseLayer): ModuleForward {
  return (torch, input) => {
    const made = base.forward(torch, input);
    const result = base.format === "bnb-4bit" ? done(clone(torch, made), made) : made;
    const convert = !torch.autocasting;
    const x = convert ? castInput(torch, input, adapter.seenAs?.(lora.a) ?? lora.a.dtype) : input.retain();
    const { dtype } = result;
    let out: Tensor;
    if (lora.magnitude === null) out = lowRank(torch, adapter, lora, x, result, convert ? dtype : null);
    else {
      const sum = weightDecomposed(torch, adapter, lora, x, result, base);
      out = convert ? done(castInput(torch, sum, dtype), sum) : sum;
    }
    result.release();
    x.release();
    return out;
  };
}

/** `result + lora_B(lora_A(dropout(x))) * scaling`; `dtype`: what the product is cast to before it is added. */
function lowRank(
  torch: Torch,
  adapter: AdapterSpec,
  { a, b, bias }: Lora,
  x: Tensor,
  result: Tensor,
  dtype: DType | null,
): Tensor {
  const dropped = dropout(torch, x, adapter.dropout, true);
  const down = done(
    inModule(torch, a.name ?? "", dropped, (given) => linear(torch, given, a, null)),
    dropped,
  );
  const up = done(
    inModule(torch, b.name ?? "", down, (given) => linear(torch, given, b, bias)),
    down,
  );
  const scaled = done(mul(torch, up, 0.5), up);
  const output = dtype === null ? scaled : done(castInput(torch, scaled, dtype), scaled);
  return done(add(torch, result, output), output);
}

/** DoRA: `result + lora_magnitude_vector(dropout(x), …)` (peft/tuners/lora/variants.py, DoraLinearVariant). */
function weightDecomposed(
  torch: Torch,
  adapter: AdapterSpec,
  lora: Lora,
  input: Tensor,
  result: Tensor,
  base: BaseLayer,
): Tensor {
  const dropping = adapter.dropout > 0 && torch.training;
  const x = dropout(torch, input, adapter.dropout, true);
  const { magnitude } = lora;
  const forward = (given: Tensor, made: Tensor | null): Tensor => magnitudes(torch, lora, given, base, made);
  const decomposed = inModule(torch, magnitude?.name ?? "", x, forward, { beside: dropping ? null : result });
  const out = done(add(torch, result, decomposed), decomposed);
  x.release();
  return out;
}

/**
 * The module of the magnitudes: the weight's norm is recomputed from an identity pushed through the adapter at every forward.
 *
 * @param result what the layer below made; null: it is made anew
 */
function magnitudes(torch: Torch, lora: Lora, x: Tensor, base: BaseLayer, result: Tensor | null): Tensor {
  const { a, b, magnitude } = lora;
  const { weight, bias, transposed, format, path } = base;
  const called = magnitude?.name ?? "";
  const factor = (input: Tensor, of: Tensor): Tensor =>
    inModule(torch, of.name ?? "", input, (given) => linear(torch, given, of, null), {
      called: `${called}.${lastOf(of)}`,
    });
  const features = a.size(1);
  // get_lora_weight: x_eye stays a local until the function returns
  torch.trail?.read(`${a.name}.weight`);
  const eye = torch.empty("eye", [features, features], a.dtype);
  const down = factor(eye, a);
  const up = done(factor(down, b), down);
  const turned = done(permute(torch, up, [1, 0]), up);
  eye.release();
  const loraWeight = done(castInput(torch, turned, x.dtype), turned);
  torch.trail?.read(`${path}.base_layer.weight`);
  const stored = weight(torch);
  const baseWeight = done(castInput(torch, stored, x.dtype), stored);
  // get_weight_norm
  const oriented = transposed ? permute(torch, baseWeight, [1, 0]) : baseWeight.retain();
  const detached = sameView(loraWeight);
  const scaledLora = mul(torch, detached, 0.5);
  const combined = done(add(torch, oriented, scaledLora), scaledLora, oriented);
  const norm = norm2(torch, combined);
  combined.release();
  detached.release();
  const quotient = div(torch, magnitude!, norm);
  const scale = done(view(torch, quotient, [1, -1]), quotient);
  const low = factor(x, a);
  const loraResult = done(factor(low, b), low);
  let baseResult: Tensor;
  if (result === null) {
    const turned = transposed
      ? transpose(torch, baseWeight, format === null && stored.dtype === x.dtype)
      : baseWeight.retain();
    baseResult = done(linear(torch, x, turned, null), turned);
  } else if (bias !== null) {
    torch.trail?.read(`${path}.base_layer.bias`);
    baseResult = sub(torch, result, bias);
  } else baseResult = result.retain();
  // (mag_norm_scale - 1) * base_result + mag_norm_scale * lora_result * scaling
  const less = sub(torch, scale, 1);
  const first = done(mul(torch, less, baseResult), less);
  const second = mul(torch, scale, loraResult);
  const third = done(mul(torch, second, 0.5), second);
  const decomposed = done(add(torch, first, third), first, third);
  for (const tensor of [loraWeight, baseWeight, norm, scale, loraResult, baseResult]) tensor.release();
  return decomposed;
}

/** The last part of a name. */
function lastOf({ name }: Tensor): string {
  return name?.split(".").pop() ?? "";
}

/**
 * A weight turned round. Of a parameter peft makes another one (`torch.nn.Parameter(weight.T)`, peft/utils/other.py,
 * transpose), which requires grad: autocast keeps its cast, and backward makes a gradient that nobody reads.
 */
function transpose(torch: Torch, weight: Tensor, isParameter: boolean): Tensor {
  const turned = permute(torch, weight, [1, 0]);
  if (!isParameter) return turned;
  const leaf = done(sameView(turned), turned);
  leaf.isView = false;
  leaf.requiresGradFlag = true;
  return leaf;
}

/** `torch.linalg.norm(weight, dim=1).to(weight.dtype)`, detached afterwards. */
function norm2(torch: Torch, weight: Tensor): Tensor {
  const { gradEnabled } = torch;
  torch.gradEnabled = false;
  const norm = torch.empty("linalg_vector_norm", [weight.size(0)], torch.autocasting ? "float32" : weight.dtype);
  torch.gradEnabled = gradEnabled;
  const out = castInput(torch, norm, weight.dtype);
  norm.release();
  return out;
}
