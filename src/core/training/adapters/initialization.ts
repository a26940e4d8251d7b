/**
 * What peft holds while it makes LoRA's factors from the weight they stand beside: the decomposition of each weight in
 * float32, on the device the weight is on, and the residual that takes its place. One weight follows the other, so that the
 * peak is one weight's; nothing of it is left when the steps begin.
 * Sources: peft/tuners/lora/layer.py (LoraLayer.pissa_init, olora_init, mica_init, loftq_init, update_layer),
 * peft/utils/loftq_utils.py (loftq_init, _low_rank_decomposition), torch/_lowrank.py (svd_lowrank, get_approximate_basis).
 *
 * The kernels' own copies and workspaces are not here; the estimate's band has room for them.
 */
import type { DType } from "../../engine/dtype";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { dequantize, type PackedWeight, packWeight } from "../quantization/bitsandbytes";
import { packInt8 } from "../quantization/int8";
import type { AdapterSpec, InitializationSpec } from "../run";

/** A weight whose factors are made, and the ones that there will be. */
export interface Decomposed {
  readonly weight: Tensor;
  /** How the weight is stored, where that is not as it is. */
  readonly packed: PackedWeight | undefined;
  readonly outputs: number;
  readonly inputs: number;
  readonly rank: number;
}

/** What a weight's initialisation leaves: both factors in float32 or the weight's dtype, and what takes its place. */
export interface Initialized {
  readonly a: Tensor;
  readonly b: Tensor;
  /** Null where the weight stays as it is. */
  readonly residual: Tensor | null;
}

type Initialize = (torch: Torch, spec: InitializationSpec, base: Decomposed) => Initialized;

const KINDS: Readonly<Record<InitializationSpec["kind"], Initialize>> = { pissa, olora, mica, loftq };

/**
 * Makes the factors of one weight, and moves them to its dtype (`_move_adapter_to_device_of_base_layer`).
 *
 * @returns factors that stay, and what takes the weight's place (null: it stays as it is)
 */
export function initialize(torch: Torch, spec: InitializationSpec, base: Decomposed, dtype: DType): Initialized {
  const { kind } = torch;
  torch.kind = "temporaries";
  const { a, b, residual } = KINDS[spec.kind](torch, spec, base);
  const made = { a: cast(torch, a, dtype), b: cast(torch, b, dtype), residual };
  for (const tensor of [made.a, made.b]) torch.ledger.relabel(tensor.storage.id, "adapters");
  if (residual !== null) torch.ledger.relabel(residual.storage.id, "weights");
  torch.kind = kind;
  return made;
}

/** Whether a weight is taken apart as it is stored: OLoRA alone unpacks one, and packs the rest anew. */
export function canInitialize({ kind }: InitializationSpec, packed: PackedWeight | undefined): boolean {
  return packed === undefined || (kind === "olora" && packed.format === "bnb-4bit");
}

/**
 * What a word of `init_lora_weights` stands for; undefined where factors are drawn, or come from data (`eva`, `corda`,
 * `lora_ga`: what is gathered for them is gathered before).
 */
export function initializationNamed(
  word: string,
  loftq: Pick<InitializationSpec, "bits" | "iterations">,
  onDevice: boolean,
): InitializationSpec | undefined {
  const [, kind, iterations] = /^(pissa|olora|mica|loftq)(?:_niter_(\d+))?$/i.exec(word) ?? [];
  switch (kind?.toLowerCase()) {
    case "pissa":
      return { kind: "pissa", ...(iterations === undefined ? {} : { iterations: Number(iterations) }), onDevice };
    case "olora":
      return { kind: "olora", onDevice };
    case "mica":
      return { kind: "mica", onDevice };
    case "loftq":
      return { kind: "loftq", ...loftq, onDevice };
    default:
      return undefined;
  }
}

/** Whether the device holds the model while the factors are made. */
export function initializesOnDevice(adapter: AdapterSpec | null): boolean {
  return adapter?.initialization?.onDevice === true;
}

/** Dtype that a 4-bit weight is unpacked to after it was packed anew, from the float32 residual. */
export const REPACKED_FROM: DType = "float32";

function make(torch: Torch, operator: string, sizes: readonly number[], dtype: DType = "float32"): Tensor {
  return torch.empty(operator, sizes, dtype);
}

/** All that a packed weight is made of. */
function tensorsOf(packed: PackedWeight | null): readonly Tensor[] {
  return packed === null ? [] : [packed.packed, ...(packed.constants ?? [])];
}

function free(...tensors: (Tensor | null)[]): void {
  for (const tensor of tensors) tensor?.release();
}

/** `tensor.to(dtype)`; null where it is the tensor itself. */
function castOf(torch: Torch, tensor: Tensor, dtype: DType): Tensor | null {
  return tensor.dtype === dtype ? null : make(torch, "_to_copy", tensor.sizes, dtype);
}

/** `tensor.to(dtype)` in place of the tensor. */
function cast(torch: Torch, tensor: Tensor, dtype: DType): Tensor {
  const other = castOf(torch, tensor, dtype);
  if (other === null) return tensor;
  tensor.release();
  return other;
}

interface Decomposition {
  readonly u: Tensor;
  readonly s: Tensor;
  readonly vh: Tensor;
}

/** `torch.linalg.svd(x, full_matrices=False)`. */
function svd(torch: Torch, rows: number, columns: number): Decomposition {
  const rank = Math.min(rows, columns);
  return {
    u: make(torch, "_linalg_svd", [rows, rank]),
    s: make(torch, "_linalg_svd", [rank]),
    vh: make(torch, "_linalg_svd", [rank, columns]),
  };
}

/** `torch.linalg.qr(x).Q`. */
function qr(torch: Torch, rows: number, columns: number): Tensor {
  const rank = Math.min(rows, columns);
  const q = make(torch, "linalg_qr", [rows, rank]);
  make(torch, "linalg_qr", [rank, columns]).release();
  return q;
}

/** `torch.svd_lowrank`: the subspace that the largest singular values span is iterated, the weight itself is only multiplied. */
function svdLowRank(torch: Torch, outputs: number, inputs: number, rank: number, iterations: number): Decomposition {
  // The matrix is taken with its longer side first.
  const [rows, columns] = [Math.max(outputs, inputs), Math.min(outputs, inputs)];
  const random = make(torch, "randn", [columns, rank]);
  let product = make(torch, "mm", [rows, rank]);
  let basis = qr(torch, rows, rank);
  for (let k = 0; k < iterations; k++)
    for (const side of [columns, rows]) {
      const next = make(torch, "mm", [side, rank]);
      product.release();
      product = next;
      const turned = qr(torch, side, rank);
      basis.release();
      basis = turned;
    }
  free(random, product);
  const projected = make(torch, "mm", [basis.size(1), columns]);
  const { u, s, vh } = svd(torch, basis.size(1), columns);
  const raised = make(torch, "mm", [rows, u.size(1)]);
  free(u, basis, projected);
  // Where the matrix was turned, so are the factors.
  return outputs < inputs ? { u: vh, s, vh: raised } : { u: raised, s, vh };
}

/** `torch.diag(torch.sqrt(s))`. */
function roots(torch: Torch, rank: number): Tensor {
  const root = make(torch, "sqrt", [rank]);
  const diagonal = make(torch, "diag_embed", [rank, rank]);
  root.release();
  return diagonal;
}

/** `scale * b @ a`, which the weight loses. */
function product(torch: Torch, { outputs, inputs, rank }: Decomposed): Tensor {
  const scaled = make(torch, "mul", [outputs, rank]);
  const result = make(torch, "mm", [outputs, inputs]);
  scaled.release();
  return result;
}

function pissa(torch: Torch, { iterations }: InitializationSpec, base: Decomposed): Initialized {
  const { weight, outputs, inputs, rank } = base;
  const raised = castOf(torch, weight, "float32");
  const { u, s, vh } =
    iterations === undefined ? svd(torch, outputs, inputs) : svdLowRank(torch, outputs, inputs, rank, iterations);
  const left = roots(torch, rank);
  const a = make(torch, "mm", [rank, inputs]);
  left.release();
  const right = roots(torch, rank);
  const b = make(torch, "mm", [outputs, rank]);
  right.release();
  const low = product(torch, base);
  const rest = make(torch, "sub", weight.sizes);
  free(low, raised);
  const residual = cast(torch, rest, weight.dtype);
  weight.release();
  free(u, s, vh);
  return { a, b, residual };
}

/** The first rows and columns of a QR decomposition; a weight in float32 loses their product in place. */
function olora(torch: Torch, _: InitializationSpec, base: Decomposed): Initialized {
  const { weight, packed, outputs, inputs, rank } = base;
  const unpacked = packed === undefined ? null : dequantize(torch, packed);
  const raised = castOf(torch, unpacked ?? weight, "float32");
  if (raised !== null) unpacked?.release();
  const short = Math.min(outputs, inputs);
  const q = make(torch, "linalg_qr", [outputs, short]);
  const r = make(torch, "linalg_qr", [short, inputs]);
  const a = make(torch, "clone", [rank, inputs]);
  const b = make(torch, "clone", [outputs, rank]);
  product(torch, base).release();
  if (packed !== undefined) {
    const again = packWeight(torch, outputs, inputs, REPACKED_FROM, packed.nested);
    free(raised ?? unpacked, weight, ...(packed.constants ?? []), q, r);
    return { a, b, residual: again.packed };
  }
  const residual = raised && castOf(torch, raised, weight.dtype);
  raised?.release();
  if (residual !== null) weight.release();
  free(q, r);
  return { a, b, residual };
}

/** The left singular vectors of the smallest singular values, which are not trained, and zeros. */
function mica(torch: Torch, _: InitializationSpec, { weight, outputs, inputs, rank }: Decomposed): Initialized {
  const raised = castOf(torch, weight, "float32");
  const { u, s, vh } = svd(torch, outputs, inputs);
  s.release();
  const left = make(torch, "clone", [outputs, rank]);
  const zeros = make(torch, "zeros", [rank, inputs]);
  const b = castOf(torch, left, weight.dtype);
  const a = castOf(torch, zeros, weight.dtype);
  free(raised, u, vh);
  if (b !== null) left.release();
  if (a !== null) zeros.release();
  return { a: a ?? zeros, b: b ?? left, residual: null };
}

/**
 * The weight is packed and what that loses is decomposed, over and over; a round's names live until the next one's value is
 * there. The base stays unpacked, as the packed weight says it.
 */
function loftq(torch: Torch, { bits = 4, iterations = 1 }: InitializationSpec, base: Decomposed): Initialized {
  const { weight, outputs, inputs, rank } = base;
  const sizes = [outputs, inputs];
  const short = Math.min(outputs, inputs);
  const raised = castOf(torch, weight, "float32");
  let rest = make(torch, "clone", sizes);
  let names: (Tensor | null)[] = [];
  let stored: PackedWeight | null = null;
  let unpacked: Tensor | null = null;
  let factors: readonly [Tensor, Tensor] | null = null;
  for (let round = 0; round < iterations; round++) {
    const half = bits === 8 ? "float16" : "float32";
    const whole = make(torch, "_to_copy", sizes, half);
    const packed =
      bits === 8 ? packInt8(torch, outputs, inputs, half) : packWeight(torch, outputs, inputs, half, false);
    free(whole, ...tensorsOf(stored));
    stored = packed;
    const again = dequantize(torch, packed);
    unpacked?.release();
    unpacked = again;
    const lost = make(torch, "sub", sizes);
    rest.release();
    rest = lost;
    const { u, s, vh } = svd(torch, outputs, inputs);
    const b = spread(torch, [short, rank], [outputs, rank]);
    const a = spread(torch, [rank, short], [rank, inputs]);
    free(...names, ...(factors ?? []));
    names = [u, s, vh];
    factors = [a, b];
    if (round + 1 === iterations) break;
    const low = make(torch, "mm", sizes);
    const next = make(torch, "sub", sizes);
    free(low, rest);
    rest = next;
  }
  const residual = unpacked && castOf(torch, unpacked, weight.dtype);
  free(raised, rest, ...tensorsOf(stored), ...names);
  if (residual !== null) unpacked?.release();
  weight.release();
  const [a, b] = factors!;
  return { a, b, residual: residual ?? unpacked };

  /** A part of `torch.sqrt(torch.diag(s))`, cut before the root is taken, times a factor. */
  function spread(torch: Torch, part: readonly number[], result: readonly number[]): Tensor {
    const diagonal = make(torch, "diag_embed", [short, short]);
    const root = make(torch, "sqrt", part);
    diagonal.release();
    const out = make(torch, "mm", result);
    root.release();
    return out;
  }
}
