/**
 * TRL's fused head. Source: trl/kernels/chunked_logprob.py (ChunkedLogProbFunction), trl/trainer/utils.py
 * (add_fused_lm_head), version 1.16.
 */
import { table } from "../../../terms/table";
import { say } from "../../../words/message";
import { type DType, ELEMENT_BYTES } from "../dtype";
import { ImpossibleSizes } from "../not-modelled";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { reducedSizes } from "./arithmetic";

/** The name its gathered weight goes by. */
const GATHERED_HEAD = "fused_lm_head";

/** Tokens per tile of the projection. */
const TOKEN_CHUNK = 4096;

/** Per-token results after the log-probabilities, in the order of the function's outputs, and their dtypes. */
const OPTIONAL: readonly { readonly name: string; readonly dtype: DType; readonly differentiable: boolean }[] = [
  { name: "entropy", dtype: "float32", differentiable: true },
  { name: "log_sum_sq_probs", dtype: "float32", differentiable: false },
  { name: "mean_logits", dtype: "float32", differentiable: false },
  { name: "is_top1", dtype: "bool", differentiable: false },
];

/** A name that Python binds to one tensor after the other: the new one exists before the old one goes. */
class Local {
  private tensor: Tensor | null = null;

  bind(tensor: Tensor | null): void {
    this.tensor?.release();
    this.tensor = tensor;
  }
}

/** `tensor.to(dtype)` of some rows: nothing new when it has the dtype. */
function cast(torch: Torch, like: Tensor, rows: number, dtype: DType): Tensor | null {
  return like.dtype === dtype ? null : torch.empty("_to_copy", [rows, ...like.sizes.slice(1)], dtype);
}

/** Calls `body` for each tile: rows of tokens (`first` of their chunk) by rows of the vocabulary. */
function tiles(total: number, size: number, body: (rows: number) => void): void {
  if (!(size >= 1)) throw new ImpossibleSizes(say("engine.sizes"));
  for (let start = 0; start < total; start += size) body(Math.min(size, total - start));
}

/**
 * Goes through the tiles of one chunk of tokens after the other.
 *
 * @param begin what a chunk begins with
 * @param tile what a tile makes, if it makes anything: as many blocks as `made`
 */
function chunks(
  torch: Torch,
  { rows, vocabulary, chunk }: { readonly rows: number; readonly vocabulary: number; readonly chunk: number },
  begin: (tokens: number) => void,
  { made, tile }: { readonly made: number; readonly tile: (words: number) => void },
): void {
  torch.ledger.checkAllocations(made * Math.ceil(rows / TOKEN_CHUNK) * Math.ceil(vocabulary / chunk));
  tiles(rows, TOKEN_CHUNK, (tokens) => {
    begin(tokens);
    if (made > 0) tiles(vocabulary, chunk, tile);
  });
}

/** Times that a tile's logits cross the memory for one product: written, read by what makes statistics or gradients of it. */
const TILE_PASSES = 3;

/** Products of all tokens with the whole head begin; their tiles go through one buffer. */
function project(torch: Torch, rows: number, weight: Tensor, dtype: DType, count: number): void {
  const [columns, inner] = weight.sizes as [number, number];
  const reads = count * (rows * columns * TILE_PASSES + inner * (rows + columns)) * ELEMENT_BYTES[dtype];
  torch.multiply([rows, columns], { count, rows, columns, inner, dtype }, reads);
}

/**
 * Log-probabilities of `targets` under `hidden @ weight.T`, tile by tile, and the further results `outputs` names.
 * Backward recomputes each tile and adds up both gradients in float32.
 */
export function chunkedLogProbs(
  torch: Torch,
  hidden: Tensor,
  { weight, bias }: { readonly weight: Tensor; readonly bias: Tensor | null },
  targets: Tensor,
  chunk: number,
  outputs: readonly string[],
): Tensor[] {
  const rows = hidden.size(0);
  const vocabulary = weight.size(0);
  const compute = torch.autocasting ? torch.autocastDtype! : hidden.dtype;
  const size = { rows, vocabulary, chunk };
  const copies = Number(weight.dtype !== compute) + Number(bias !== null && bias.dtype !== compute);
  const vector = (operator: string, dtype: DType = "float32"): Tensor => torch.empty(operator, [rows], dtype);
  const node = torch.record("ChunkedLogProbFunctionBackward", [hidden, weight, bias], (torch, gradients, _, node) => {
    const [forHidden, forWeight, forBias] = node.edges;
    torch.usage?.enterModule?.(torch, GATHERED_HEAD, weight.elements + (bias?.elements ?? 0));
    const sums = [
      forHidden ? torch.empty("zeros", hidden.sizes, "float32") : null,
      forWeight ? torch.empty("zeros", weight.sizes, "float32") : null,
      forBias ? torch.empty("zeros", [vocabulary], "float32") : null,
    ];
    // The tile's logits again, and the gradients of both factors.
    project(torch, rows, weight, compute, 1 + (forHidden ? 1 : 0) + (forWeight ? 1 : 0));
    const buffer = torch.empty("empty", [Math.min(rows, TOKEN_CHUNK), chunk], compute);
    const dense = gradients.map((gradient) =>
      gradient === null || gradient.contiguous ? null : torch.empty("clone", gradient.sizes, gradient.dtype),
    );
    const hiddenChunk = new Local();
    const weightChunk = new Local();
    const begin = (tokens: number): void => hiddenChunk.bind(cast(torch, hidden, tokens, compute));
    chunks(torch, size, begin, {
      made: copies + (forBias ? 1 : 0),
      tile: (words) => {
        weightChunk.bind(cast(torch, weight, words, compute));
        if (bias !== null) cast(torch, bias, words, compute)?.release();
        if (forBias) torch.empty("sum", [words], "float32").release();
      },
    });
    const results = [hidden, weight, bias].map((input, k) => {
      const sum = sums[k] ?? null;
      return sum === null ? null : input!.dtype === "float32" ? sum.retain() : torch.toCopy(sum, input!.dtype);
    });
    torch.usage?.leaveModule?.(torch, GATHERED_HEAD, true);
    for (const tensor of [...sums, buffer, ...dense]) tensor?.release();
    hiddenChunk.bind(null);
    weightChunk.bind(null);
    return results;
  });
  const { gradEnabled } = torch;
  torch.gradEnabled = false;
  // Read without calling the module: what is sharded is gathered for it (maybe_gather_lm_head_ctx), in backward again.
  torch.usage?.enterModule?.(torch, GATHERED_HEAD, weight.elements + (bias?.elements ?? 0));
  // running maximum, its sum of exponentials, three more sums, the maximum before the target, the target's logit
  const statistics = ["full", "zeros", "zeros", "zeros", "zeros", "full", "zeros"].map((name) => vector(name));
  project(torch, rows, weight, compute, 1);
  const buffer = torch.empty("empty", [Math.min(rows, TOKEN_CHUNK), chunk], compute);
  const hiddenChunk = new Local();
  chunks(torch, size, (tokens) => hiddenChunk.bind(cast(torch, hidden, tokens, compute)), {
    made: copies,
    tile: (words) => {
      cast(torch, weight, words, compute)?.release();
      if (bias !== null) cast(torch, bias, words, compute)?.release();
    },
  });
  const log = vector("log");
  const logZ = vector("add");
  log.release();
  const results: Tensor[] = [torch.attach(node, vector("sub"))];
  for (const { name, dtype, differentiable } of OPTIONAL) {
    if (!outputs.includes(name)) continue;
    const temporaries = TEMPORARIES[name]!.map((operator) => vector(operator, dtype));
    const out = vector(name, dtype);
    for (const tensor of temporaries) tensor.release();
    results.push(differentiable ? torch.attach(node, out) : out);
  }
  if (node !== null) {
    torch.gradEnabled = gradEnabled;
    for (const tensor of [hidden, weight, bias, targets]) if (tensor !== null) torch.save(node, tensor);
    torch.save(node, logZ);
    if (outputs.includes("entropy")) torch.saveOutput(node, results[1]!);
  }
  torch.gradEnabled = gradEnabled;
  torch.usage?.leaveModule?.(torch, GATHERED_HEAD, true);
  for (const tensor of [...statistics, buffer, logZ]) tensor.release();
  hiddenChunk.bind(null);
  return results;
}

/** What the expressions of the optional results allocate on the way. */
const TEMPORARIES: Readonly<Record<string, readonly string[]>> = table({
  entropy: ["div"],
  log_sum_sq_probs: ["log", "mul"],
  mean_logits: [],
  is_top1: ["ge", "gt"],
});

/**
 * Log-probabilities of `index` under whole logits, and their entropy, in one pass (trl/kernels/logprob_entropy.py). Backward
 * writes a gradient of the logits' size.
 */
export function logProbEntropy(torch: Torch, logits: Tensor, index: Tensor): Tensor[] {
  const rows = logits.sizes.slice(0, -1);
  const node = torch.record("LogProbEntropyFunctionBackward", [logits], (torch, gradients) => {
    const out = torch.empty("empty_like", logits.sizes, logits.dtype);
    for (const gradient of gradients)
      if (gradient !== null && !gradient.contiguous) torch.empty("clone", gradient.sizes, gradient.dtype).release();
    return [out];
  });
  const [logProbs, entropy, ...statistics] = ["empty", "empty_like", "empty_like", "empty_like"].map((operator) =>
    torch.empty(operator, rows, "float32"),
  );
  if (node !== null) for (const tensor of [logits, index, ...statistics]) torch.save(node, tensor);
  for (const tensor of statistics) tensor.release();
  return [torch.attach(node, logProbs!), torch.attach(node, entropy!)];
}

/**
 * Log-probabilities by flash-attn's cross-entropy kernel (flash_attn/ops/triton/cross_entropy.py, CrossEntropyLoss): one pass,
 * and the gradient is written into the logits where nothing else reads them (`inplace_backward`).
 */
export function flashLogProbs(torch: Torch, logits: Tensor, index: Tensor, inPlace: boolean): Tensor {
  const rows = logits.sizes.slice(0, -1);
  const node = torch.record("CrossEntropyLossBackward", [logits], (torch) => [
    inPlace ? logits.detached() : torch.empty("empty_like", logits.sizes, logits.dtype),
  ]);
  const [losses, sums, penalties] = ["empty", "empty", "empty"].map((operator) =>
    torch.empty(operator, rows, "float32"),
  );
  if (node !== null) for (const tensor of [logits, index, sums!]) torch.save(node, tensor);
  const out = torch.attach(node, torch.empty("neg", rows, "float32"));
  for (const tensor of [losses, sums, penalties]) tensor!.release();
  return out;
}

/** Entropy of whole logits as verl compiles it (verl/utils/torch_functional.py, entropy_from_logits): nothing of their size but the gradient. */
export function compiledEntropy(torch: Torch, logits: Tensor): Tensor {
  const rows = logits.sizes.slice(0, -1);
  const node = torch.record("CompiledFunctionBackward", [logits], (torch) => [
    torch.empty("empty_strided", logits.sizes, logits.dtype),
  ]);
  const statistics = ["empty_strided", "empty_strided"].map((operator) => torch.empty(operator, rows, "float32"));
  if (node !== null) for (const tensor of [logits, ...statistics]) torch.save(node, tensor);
  const out = torch.attach(node, torch.empty("empty_strided", rows, logits.dtype));
  for (const tensor of statistics) tensor.release();
  return out;
}

/** Bytes of a block that the allocator gives for less. */
const BLOCK = 512;

/**
 * PPO's recurrence over the tokens of a completion, from the last to the first: a list keeps one number per sequence for each
 * of them, and a name the last difference (trl/experimental/ppo/ppo_trainer.py, train). One block stands for all.
 */
export function advantages(torch: Torch, rewards: Tensor): Tensor {
  const width = Math.ceil((rewards.size(0) * 4) / BLOCK) * (BLOCK / 4);
  return torch.empty("add", [rewards.size(1) + 1, width], "float32");
}

/** Entering and leaving a model's forward, which accelerate wraps in autocast. */
export function enterAutocast(torch: Torch): Tensor[] {
  torch.autocastEnabled = torch.autocastDtype !== null;
  return [];
}

export function leaveAutocast(torch: Torch): Tensor[] {
  torch.autocastEnabled = false;
  torch.clearCastCache();
  return [];
}

/** `nansum` (along `dims`; none: of all elements) and `nanmean` of all elements: NaNs count as zero, and are counted (aten/native/ReduceOps.cpp). */
export function withoutNaN(torch: Torch, input: Tensor, mean: boolean, dims: readonly number[] = []): Tensor {
  const count = mean ? missing(torch, input) : null;
  const node = torch.record("NansumBackward0", [input], (torch, [gradient], [self]) => {
    if (!gradient) return [null];
    const isnan = torch.empty("isnan", self!.sizes, "bool");
    const not = torch.empty("logical_not", self!.sizes, "bool");
    const out = torch.empty("mul", self!.sizes, gradient.dtype);
    isnan.release();
    not.release();
    return [out];
  });
  if (node !== null) torch.save(node, input);
  const sum = torch.attach(node, torch.empty("nansum", reducedSizes(input.sizes, dims, false), input.dtype));
  if (count === null) return sum;
  const divided = torch.record("DivBackward0", [sum, null], (torch, [gradient]) => [
    gradient ? torch.empty("div", [], gradient.dtype) : null,
    null,
  ]);
  if (divided !== null) torch.save(divided, count);
  const out = torch.attach(divided, torch.empty("div", [], sum.dtype));
  sum.release();
  count.release();
  return out;
}

function missing(torch: Torch, input: Tensor): Tensor {
  const isnan = torch.empty("isnan", input.sizes, "bool");
  const count = torch.empty("sum", [], "int64");
  isnan.release();
  return count;
}
