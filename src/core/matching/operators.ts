/** Words by which Python code calls the operators that allocate. */
import { table } from "../../terms/table";

const PRODUCTS = ["linear", "Linear", "matmul", "mm", "bmm", "addmm", "baddbmm", "einsum", "conv1d", "Conv1D"];
/** Autocast casts inside of the products that it lowers. */
const CASTS = ["float", "to", "half", "bfloat16", "type_as", "_to_copy", "autocast", ...PRODUCTS];
const LOSS = ["cross_entropy", "log_softmax", "nll_loss", "loss_fct", "loss_function", "CrossEntropyLoss"];

/** Operators whose name is not the word that calls them. */
const WORDS: Readonly<Record<string, readonly string[]>> = table({
  mm: PRODUCTS,
  addmm: PRODUCTS,
  bmm: PRODUCTS,
  baddbmm: PRODUCTS,
  matmul: PRODUCTS,
  linear: PRODUCTS,
  _to_copy: CASTS,
  clone: ["clone", "contiguous", "reshape"],
  _softmax: ["softmax", "Softmax"],
  _log_softmax: LOSS,
  nll_loss_forward: LOSS,
  nll_loss_backward: LOSS,
  _log_softmax_backward_data: LOSS,
  native_dropout: ["dropout", "Dropout"],
  native_layer_norm: ["layer_norm", "LayerNorm"],
  native_group_norm: ["group_norm", "GroupNorm"],
  native_batch_norm: ["batch_norm", "BatchNorm"],
  cudnn_batch_norm: ["batch_norm", "BatchNorm"],
  convolution: ["conv2d", "conv3d", "conv1d", "_conv_forward", "conv_transpose1d", "conv_transpose2d"],
  zeros_like: ["zeros_like", "init_state", "_init_group", "momentum_buffer"],
  empty_like: ["empty_like", "zeros_like", "init_state", "get_state_buffer"],
  empty: ["empty", "from_pretrained", "set_module_tensor_to_device", "to", "cuda", "convert"],
  silu: ["silu", "act_fn", "SiLU", "activation"],
  gelu: ["gelu", "act_fn", "GELU", "act", "intermediate_act_fn", "activation_fn"],
  mul: ["mul", "act_fn", "act", "apply_rotary_pos_emb"],
  cat: ["cat", "concat", "torch_pad_and_concatenate", "nested_concat", "rotate_half"],
  baddbmm_: PRODUCTS,
});

/** Words that call an operator; its own name without what marks inner ones is always one. */
export function wordsOfOperator(operator: string): readonly string[] {
  const bare = operator.replace(/^_+/, "");
  // Optimizers call one tensor's operator where they do not take them together (torch/optim, `_single_tensor_adamw`).
  const own = [operator, bare, ...(bare.startsWith("foreach_") ? [bare.slice("foreach_".length)] : [])];
  if (operator.startsWith("_scaled_dot_product"))
    return [
      ...own,
      "scaled_dot_product_attention",
      "flash_attn_func",
      "_flash_attention_forward",
      "sdpa_attention_forward",
    ];
  return [...own, ...(WORDS[operator] ?? [])];
}
