/** What being inside of a function says of a traceback's frames: which part of a run they lie in, and which parts that ends. */
import type { Phase } from "../../core/report/estimate";

/** Parts of a run: those of the estimate, and writing a checkpoint. */
export type Part = Phase | "saving";

export interface Rule {
  readonly part: Part;
  /** One of these is in the frame's file, with forward slashes. */
  readonly files?: readonly string[];
  /** The function's name. */
  readonly names?: readonly string[];
  /** One of these is in the frame's source. */
  readonly code?: readonly string[];
  /** Parts that this one ends, if they were entered before; `all`: any. */
  readonly ends: readonly Part[] | "all";
}

/** What a forward pass may be called from without being one itself. */
const OPEN: readonly Part[] = ["data", "zero", "optimizer", "clip"];

/** The first rule that fits a frame is its rule. */
export const RULES: readonly Rule[] = [
  // A step's closure runs forward and backward inside of `optimizer.step` (Lightning, LBFGS).
  { part: "data", names: ["closure"], ends: "all" },
  { part: "data", files: ["/loops/optimization/"], names: ["__call__"], ends: "all" },

  // Checkpoints. Before loading: `save_pretrained` and `_load_best_model` lie inside of the training loop.
  {
    part: "saving",
    names: [
      "save_model",
      "_save",
      "_save_checkpoint",
      "save_pretrained",
      "save_checkpoint",
      "save_state",
      "_save_optimizer_and_scheduler",
      "save_fsdp_model",
      "save_fsdp_optimizer",
      "get_state_dict",
      "_zero3_consolidated_16bit_state_dict",
      "save_16bit_model",
      "full_optim_state_dict",
      "optim_state_dict",
      "_full_post_state_dict_hook",
      "state_dict",
    ],
    ends: "all",
  },
  { part: "saving", code: ["torch.save("], ends: "all" },

  // Generation.
  {
    part: "generation",
    names: [
      "generate",
      "_generate",
      "greedy_search",
      "_greedy_search",
      "beam_search",
      "_beam_search",
      "_sample",
      "generate_sequences",
      "batch_generation",
      "_generate_and_score_completions",
      "generate_rollout",
      "_prefill",
      "execute_model",
    ],
    ends: ["data", "forward", "loss", "backward", "optimizer", "zero", "clip", "load", "evaluation"],
  },
  {
    part: "generation",
    files: ["/generation/utils.py"],
    names: ["sample"],
    ends: ["data", "forward", "load", "evaluation"],
  },

  // Evaluation.
  {
    part: "evaluation",
    names: [
      "evaluate",
      "_evaluate",
      "evaluation_loop",
      "prediction_loop",
      "prediction_step",
      "predict",
      "predict_step",
      "validate",
      "validation",
      "validation_step",
      "test_step",
      "_run_sanity_check",
      "eval_step",
      "run_validation",
      "evaluation_step",
      "nested_concat",
      "nested_gather",
      "compute_metrics",
      "preprocess_logits_for_metrics",
      "eval_model",
      "do_eval",
      "val_step",
      "valid_one_epoch",
      "log_validation",
    ],
    ends: ["data", "forward", "loss", "load", "zero", "optimizer", "backward", "clip"],
  },
  { part: "evaluation", files: ["/loops/evaluation_loop.py", "/engine/val"], ends: ["data", "load", "forward"] },

  // Clipping and what the scaler does before the step.
  {
    part: "clip",
    names: [
      "clip_grad_norm_",
      "clip_grad_norm",
      "_clip_grad_norm",
      "clip_gradients",
      "unscale_",
      "_unscale_grads_",
      "get_total_norm",
      "_get_total_norm",
      "clip_grads_with_norm_",
      "_clip_grads_with_norm_",
      "unscale_and_clip_grads",
      "get_grad_norm",
    ],
    ends: ["data", "forward", "backward", "optimizer", "loss", "zero"],
  },
  { part: "clip", files: ["/torch/nn/utils/clip_grad.py"], ends: ["data", "forward", "backward", "optimizer"] },

  // The optimizer. DeepSpeed makes its states while it is made, which is loading.
  {
    part: "load",
    files: ["/deepspeed/"],
    names: [
      "__init__",
      "initialize",
      "_configure_optimizer",
      "_configure_zero_optimizer",
      "initialize_optimizer_states",
    ],
    ends: ["data", "forward", "optimizer"],
  },
  { part: "load", files: ["/vllm/"], names: ["__init__", "from_engine_args", "_initialize_kv_caches"], ends: ["data"] },
  {
    part: "load",
    files: ["/colossalai/", "/megatron/", "/fsdp/", "/torch/nn/parallel/distributed.py"],
    names: ["__init__", "setup_model_and_optimizer"],
    ends: ["data", "forward"],
  },
  {
    part: "optimizer",
    files: [
      "/torch/optim/",
      "/bitsandbytes/optim/",
      "/apex/optimizers/",
      "/transformers/optimization.py",
      "/transformer_engine/pytorch/optimizers/",
      "/galore_torch/",
      "/apollo_torch/",
      "/deepspeed/ops/adam/",
      "/deepspeed/ops/lamb/",
      "/torchao/optim/",
      "/lomo",
      "/hybrid_adam.py",
      "/prodigyopt/",
      "/lion_pytorch/",
      "/torch_optimizer/",
      "/megatron/core/optimizer/",
      "/schedulefree/",
      "/dadaptation/",
    ],
    names: [
      "step",
      "wrapper",
      "_use_grad",
      "init_state",
      "_init_group",
      "adam",
      "adamw",
      "sgd",
      "_multi_tensor_adamw",
      "_multi_tensor_adam",
      "_single_tensor_adamw",
      "_single_tensor_adam",
      "_multi_tensor_sgd",
      "_fused_adamw",
      "_fused_adam",
      "update_step",
      "get_state_buffer",
    ],
    ends: ["data", "forward", "backward", "clip", "loss", "zero"],
  },
  {
    part: "optimizer",
    names: ["optimizer_step", "_take_model_step", "_optimizer_step", "_maybe_opt_step", "step_optimizer", "optim_step"],
    ends: ["data", "forward", "backward", "clip", "loss", "zero"],
  },
  {
    part: "optimizer",
    files: [
      "/deepspeed/runtime/zero/",
      "/deepspeed/runtime/engine.py",
      "/deepspeed/runtime/bf16_optimizer.py",
      "/deepspeed/runtime/fp16/",
      "/accelerate/optimizer.py",
    ],
    names: ["step", "_optimizer_step", "_take_model_step"],
    ends: ["data", "forward", "backward", "clip", "loss", "zero"],
  },
  {
    part: "optimizer",
    code: ["optimizer.step(", "optim.step(", "scaler.step(", "opt.step("],
    ends: ["data", "forward", "clip", "loss", "zero"],
  },

  // Backward.
  {
    part: "backward",
    files: ["/torch/autograd/", "/torch/_tensor.py", "/torch/tensor.py"],
    names: ["backward", "_engine_run_backward", "grad"],
    ends: ["data", "forward", "loss", "optimizer", "zero"],
  },
  {
    part: "backward",
    names: ["backward", "_backward", "scaled_backward", "backward_step", "run_backward"],
    ends: ["data", "forward", "loss", "zero"],
  },
  { part: "backward", code: [".backward("], ends: ["data", "forward", "loss", "optimizer", "zero"] },

  // Loading.
  {
    part: "load",
    names: [
      "from_pretrained",
      "_load_pretrained_model",
      "_load_state_dict_into_meta_model",
      "_load_state_dict_into_model",
      "load_state_dict",
      "load_checkpoint",
      "_load_checkpoint",
      "_load_from_checkpoint",
      "_load_best_model",
      "load_sharded_checkpoint",
      "create_quantized_param",
      "set_module_tensor_to_device",
      "_move_model_to_device",
      "prepare_model_for_kbit_training",
      "get_peft_model",
      "prepare_model",
      "_prepare_deepspeed",
      "_prepare_fsdp",
      "load_model",
      "init_model",
      "build_model",
      "setup_model",
      "caching_allocator_warmup",
      "_cuda_deserialize",
      "restore_location",
      "persistent_load",
      "load_weights",
      "init_device",
      "_initialize_model",
      "dispatch_model",
      "materialize_param",
      "set_param_for_module",
      "convert_and_load_state_dict_in_model",
    ],
    ends: ["data", "forward"],
  },
  { part: "load", files: ["/torch/serialization.py"], ends: ["data", "forward"] },
  {
    part: "load",
    files: ["/torch/nn/modules/module.py", "/accelerate/", "/transformers/modeling_utils.py"],
    names: ["to", "cuda", "_apply", "convert", "half", "float", "bfloat16"],
    ends: ["data", "forward"],
  },
  { part: "load", code: ["model.to(", "model.cuda(", "model = model", "model.half(", "model.float("], ends: ["data"] },

  // The batch.
  {
    part: "data",
    names: [
      "_prepare_inputs",
      "_prepare_input",
      "send_to_device",
      "__next__",
      "collate_fn",
      "batch_to_device",
      "pin_memory",
    ],
    ends: ["data"],
  },

  // The step itself.
  {
    part: "forward",
    names: ["training_step", "train_step", "compute_loss", "_inner_training_loop", "train_one_epoch", "train_batch"],
    ends: ["load", "data", "zero"],
  },
  {
    part: "loss",
    names: [
      "cross_entropy",
      "fixed_cross_entropy",
      "loss_function",
      "ForCausalLMLoss",
      "nll_loss",
      "log_softmax",
      "selective_log_softmax",
      "entropy_from_logits",
      "get_batch_logps",
      "_get_per_token_logps",
      "get_batch_loss_metrics",
      "dpo_loss",
      "kl_div",
      "mse_loss",
      "binary_cross_entropy_with_logits",
      "liger_fused_linear_cross_entropy",
      "fused_linear_cross_entropy_forward",
      "compute_log_probs",
      "logprobs_from_logits",
      "v8DetectionLoss",
      "loss",
    ],
    ends: ["data", "forward", "optimizer", "clip", "zero"],
  },
  {
    part: "loss",
    files: ["/loss/", "/losses/", "/loss.py", "/losses.py", "/loss_utils.py"],
    ends: ["data", "forward"],
  },
  {
    part: "loss",
    code: [
      "loss_fct(",
      "loss_fn(",
      "criterion(",
      "F.cross_entropy(",
      "log_softmax(",
      "self.loss_function(",
      "logits.float()",
      "logits = logits.to(",
    ],
    ends: ["data", "forward"],
  },
  {
    part: "forward",
    names: ["forward", "__call__", "_call_impl", "_wrapped_call_impl", "_forward_unimplemented"],
    ends: OPEN,
  },
  { part: "forward", code: ["model(", "network(", "net("], ends: ["data", "zero"] },
];
