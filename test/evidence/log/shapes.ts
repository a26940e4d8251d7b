/**
 * Tracebacks as libraries leave them, by what was running: names of files and functions are the libraries' own, everything else
 * is made up here.
 */

/** File, function, source of the line. */
export type Row = readonly [file: string, name: string, code: string];

const TORCH = "/opt/env/lib/python3.11/site-packages/torch";
const HF = "/opt/env/lib/python3.11/site-packages/transformers";
const SITE = "/opt/env/lib/python3.11/site-packages";

const main: Row = ["/home/u/train.py", "<module>", "main()"];
const call: Row = [`${TORCH}/nn/modules/module.py`, "_call_impl", "return forward_call(*args, **kwargs)"];
const linear: Row = [`${TORCH}/nn/modules/linear.py`, "forward", "return F.linear(input, self.weight, self.bias)"];
const trainer: readonly Row[] = [
  main,
  ["/home/u/train.py", "main", "trainer.train()"],
  [`${HF}/trainer.py`, "train", "return inner_training_loop("],
];
const loop: readonly Row[] = [
  ...trainer,
  [`${HF}/trainer.py`, "_inner_training_loop", "tr_loss_step = self.training_step(model, inputs, num_items_in_batch)"],
];
const computing: readonly Row[] = [
  ...loop,
  [`${HF}/trainer.py`, "training_step", "loss = self.compute_loss(model, inputs)"],
  [`${HF}/trainer.py`, "compute_loss", "outputs = model(**inputs)"],
  call,
];
const engine: readonly Row[] = [
  [`${TORCH}/_tensor.py`, "backward", "torch.autograd.backward("],
  [`${TORCH}/autograd/__init__.py`, "backward", "_engine_run_backward("],
  [`${TORCH}/autograd/graph.py`, "_engine_run_backward", "return Variable._execution_engine.run_backward("],
];
const step: readonly Row[] = [
  [`${SITE}/accelerate/optimizer.py`, "step", "self.optimizer.step(closure)"],
  [`${TORCH}/optim/lr_scheduler.py`, "wrapper", "return func.__get__(opt, opt.__class__)(*args, **kwargs)"],
  [`${TORCH}/optim/optimizer.py`, "wrapper", "out = func(*args, **kwargs)"],
  [`${TORCH}/optim/optimizer.py`, "_use_grad", "ret = func(self, *args, **kwargs)"],
];
const decoder: readonly Row[] = [
  [`${HF}/models/llama/modeling_llama.py`, "forward", "outputs = self.model("],
  call,
  [`${HF}/models/llama/modeling_llama.py`, "forward", "layer_outputs = decoder_layer("],
  call,
];

export const SHAPES = {
  none: [],
  "trainer-backward": [
    ...loop,
    [`${HF}/trainer.py`, "training_step", "self.accelerator.backward(loss, **kwargs)"],
    [`${SITE}/accelerate/accelerator.py`, "backward", "loss.backward(**kwargs)"],
    ...engine,
  ],
  "checkpoint-backward": [
    main,
    ["/home/u/train.py", "main", "accelerator.backward(loss)"],
    [`${SITE}/accelerate/accelerator.py`, "backward", "loss.backward(**kwargs)"],
    ...engine,
    [`${TORCH}/autograd/function.py`, "apply", "return user_fn(self, *args)"],
    [`${TORCH}/utils/checkpoint.py`, "backward", "torch.autograd.backward(outputs_with_grad, args_with_grad)"],
    ...engine.slice(1),
  ],
  recomputation: [
    main,
    ["/home/u/train.py", "main", "loss.backward()"],
    ...engine,
    [`${TORCH}/autograd/function.py`, "apply", "return user_fn(self, *args)"],
    [`${TORCH}/utils/checkpoint.py`, "backward", "outputs = ctx.run_function(*detached_inputs)"],
    call,
    [`${HF}/models/llama/modeling_llama.py`, "forward", "hidden_states = self.mlp(hidden_states)"],
    call,
    linear,
  ],
  "plain-backward": [main, ["/home/u/train.py", "fit", "loss.backward()"], ...engine],
  "deepspeed-backward": [
    ...loop,
    [`${HF}/trainer.py`, "training_step", "self.accelerator.backward(loss, **kwargs)"],
    [`${SITE}/accelerate/accelerator.py`, "backward", "self.deepspeed_engine_wrapped.backward(loss, **kwargs)"],
    [`${SITE}/accelerate/utils/deepspeed.py`, "backward", "self.engine.backward(loss, **kwargs)"],
    [`${SITE}/deepspeed/runtime/engine.py`, "backward", "self._do_optimizer_backward(loss, retain_graph)"],
    [
      `${SITE}/deepspeed/runtime/zero/stage_1_and_2.py`,
      "backward",
      "self.loss_scaler.backward(loss.float(), retain_graph=retain_graph)",
    ],
    ...engine,
  ],
  "old-backward": [
    main,
    ["./run_clm_no_trainer.py", "main", "accelerator.backward(loss)"],
    [`${SITE}/accelerate/accelerator.py`, "backward", "loss.backward()"],
    [
      `${TORCH}/tensor.py`,
      "backward",
      "torch.autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)",
    ],
    [`${TORCH}/autograd/__init__.py`, "backward", "allow_unreachable=True, accumulate_grad=True)"],
  ],
  "foreach-adamw": [
    ...trainer,
    [`${HF}/trainer.py`, "_inner_training_loop", "self.optimizer.step()"],
    ...step,
    [`${TORCH}/optim/adamw.py`, "step", "adamw("],
    [`${TORCH}/optim/adamw.py`, "_multi_tensor_adamw", "exp_avg_sq_sqrt = torch._foreach_sqrt(device_exp_avg_sqs)"],
  ],
  "adamw-states": [
    ...trainer,
    [`${HF}/trainer.py`, "_inner_training_loop", "self.optimizer.step()"],
    ...step,
    [`${TORCH}/optim/adamw.py`, "step", "has_complex = self._init_group("],
    [`${TORCH}/optim/adamw.py`, "_init_group", 'state["exp_avg"] = torch.zeros_like('],
  ],
  "own-optimizer": [
    main,
    ["/home/u/coati/trainer/sft.py", "fit", "self.strategy.optimizer_step(self.optimizer)"],
    ["/home/u/coati/trainer/strategies/colossalai.py", "optimizer_step", "optimizer.step()"],
    [`${SITE}/colossalai/zero/sharded_optim/low_level_optim.py`, "step", "self.optim.step()"],
    [`${SITE}/colossalai/nn/optimizer/hybrid_adam.py`, "step", "state['exp_avg'] = torch.zeros_like(p)"],
  ],
  scaler: [
    main,
    ["/home/u/flair/trainers/trainer.py", "train_custom", "scaler.step(self.optimizer)"],
    [
      `${TORCH}/cuda/amp/grad_scaler.py`,
      "step",
      "retval = self._maybe_opt_step(optimizer, optimizer_state, *args, **kwargs)",
    ],
    [`${TORCH}/cuda/amp/grad_scaler.py`, "_maybe_opt_step", "retval = optimizer.step(*args, **kwargs)"],
    [`${TORCH}/optim/adamw.py`, "step", "adamw("],
  ],
  "lightning-backward": [
    main,
    [`${SITE}/lightning/pytorch/trainer/trainer.py`, "fit", "call._call_and_handle_interrupt("],
    [
      `${SITE}/lightning/pytorch/loops/optimization/automatic.py`,
      "_optimizer_step",
      "call._call_lightning_module_hook(",
    ],
    [`${SITE}/lightning/pytorch/core/module.py`, "optimizer_step", "optimizer.step(closure=optimizer_closure)"],
    [`${TORCH}/optim/adamw.py`, "step", "loss = closure()"],
    [
      `${SITE}/lightning/pytorch/loops/optimization/automatic.py`,
      "closure",
      "self._backward_fn(step_output.closure_loss)",
    ],
    [`${SITE}/lightning/pytorch/core/module.py`, "backward", "loss.backward(*args, **kwargs)"],
    ...engine,
  ],
  "evaluation-loop": [
    main,
    ["/home/u/train.py", "main", "metrics = trainer.evaluate()"],
    [`${HF}/trainer.py`, "evaluate", "output = eval_loop("],
    [
      `${HF}/trainer.py`,
      "evaluation_loop",
      "preds_host = logits if preds_host is None else nested_concat(preds_host, logits)",
    ],
    [
      `${HF}/trainer_pt_utils.py`,
      "nested_concat",
      "return torch_pad_and_concatenate(tensors, new_tensors, padding_index=padding_index)",
    ],
    [`${HF}/trainer_pt_utils.py`, "torch_pad_and_concatenate", "return torch.cat((tensor1, tensor2), dim=0)"],
  ],
  "evaluation-forward": [
    ...trainer,
    [`${HF}/trainer.py`, "_inner_training_loop", "self._maybe_log_save_evaluate(tr_loss, model, trial, epoch)"],
    [`${HF}/trainer.py`, "_maybe_log_save_evaluate", "metrics = self._evaluate(trial, ignore_keys_for_eval)"],
    [`${HF}/trainer.py`, "evaluate", "output = eval_loop("],
    [`${HF}/trainer.py`, "evaluation_loop", "losses, logits, labels = self.prediction_step(model, inputs)"],
    [`${HF}/trainer.py`, "prediction_step", "loss, outputs = self.compute_loss(model, inputs, return_outputs=True)"],
    call,
    ...decoder,
    linear,
  ],
  "predict-generate": [
    main,
    ["/home/u/workflow.py", "run_sft", "predict_results = trainer.predict(dataset_module)"],
    [`${HF}/trainer_seq2seq.py`, "predict", "return super().predict(test_dataset)"],
    [`${HF}/trainer.py`, "evaluation_loop", "losses, logits, labels = self.prediction_step(model, inputs)"],
    [`${HF}/trainer_seq2seq.py`, "prediction_step", "generated_tokens = self.model.generate(**generation_inputs)"],
    [`${HF}/generation/utils.py`, "generate", "result = self._sample("],
    [`${HF}/generation/utils.py`, "_sample", "outputs = self(**model_inputs, return_dict=True)"],
    call,
    ...decoder,
  ],
  "cross-entropy": [
    ...computing,
    [`${HF}/models/qwen2/modeling_qwen2.py`, "forward", "loss = self.loss_function(logits=logits, labels=labels)"],
    [`${HF}/loss/loss_utils.py`, "ForCausalLMLoss", "loss = fixed_cross_entropy(logits, labels, num_items_in_batch)"],
    [`${HF}/loss/loss_utils.py`, "fixed_cross_entropy", "loss = nn.functional.cross_entropy(source, target)"],
    [`${TORCH}/nn/functional.py`, "cross_entropy", "return torch._C._nn.cross_entropy_loss("],
  ],
  "float-logits": [...computing, [`${HF}/models/llama/modeling_llama.py`, "forward", "logits = logits.float()"]],
  "test-cross-entropy": [
    ["/home/u/test/test_cross_entropy.py", "test_correctness", "output = torch_ce(_tensor, target)"],
    call,
    [`${TORCH}/nn/modules/loss.py`, "forward", "return F.cross_entropy(input, target, weight=self.weight)"],
    [`${TORCH}/nn/functional.py`, "cross_entropy", "return torch._C._nn.cross_entropy_loss(input, target, weight)"],
  ],
  "policy-loss": [
    [
      "/home/u/megatron/core/pipeline_parallel/schedules.py",
      "forward_step_calc_loss",
      "outputs = loss_func(output_tensor)",
    ],
    [
      "/home/u/slime/backends/megatron_utils/loss.py",
      "loss_function",
      "loss, log = func(args, batch, logits, sum_of_sample_mean)",
    ],
    [
      "/home/u/slime/backends/megatron_utils/loss.py",
      "get_log_probs_and_entropy",
      "log_prob, entropy = calculate_log_probs_and_entropy(",
    ],
    [
      "/home/u/slime/utils/ppo_utils.py",
      "compute_log_probs",
      "return -fused_vocab_parallel_cross_entropy(logits, tokens, process_group)",
    ],
  ],
  "own-cross-entropy": [
    main,
    ["/home/u/train.py", "main", "loss = loss_fn(hidden, labels)"],
    call,
    ["/home/u/efficient_cross_entropy.py", "forward", "grad_in_feat = torch.zeros_like(in_feat)"],
  ],
  "detection-loss": [
    main,
    ["/home/u/train.py", "train", "loss, loss_items = compute_loss(pred, targets.to(device))"],
    ["/home/u/yolov3/utils/loss.py", "compute_loss", "lobj += BCEobj(pi[..., 4], tobj)"],
    call,
    [`${TORCH}/nn/modules/loss.py`, "forward", "return F.binary_cross_entropy_with_logits(input, target)"],
    [
      `${TORCH}/nn/functional.py`,
      "binary_cross_entropy_with_logits",
      "return torch.binary_cross_entropy_with_logits(input, target)",
    ],
  ],
  "yolo-loss": [
    main,
    [`${SITE}/ultralytics/engine/model.py`, "train", "self.trainer.train()"],
    [`${SITE}/ultralytics/engine/trainer.py`, "_do_train", "self.loss, self.loss_items = self.model(batch)"],
    call,
    [`${SITE}/ultralytics/nn/tasks.py`, "forward", "return self.loss(x, *args, **kwargs)"],
    [`${SITE}/ultralytics/nn/tasks.py`, "loss", "return self.criterion(preds, batch)"],
    [`${SITE}/ultralytics/utils/loss.py`, "__call__", "loss[1], loss[3] = self.calculate_segmentation_loss("],
  ],
  "plain-forward": [
    main,
    ["/home/u/train.py", "train", "predictions = network(images)"],
    call,
    ["/home/u/model.py", "forward", "out = self.model(x)"],
    call,
  ],
  "linear-forward": [main, ["/home/u/train.py", "train", "outputs = model(inputs)"], call, linear],
  "attention-forward": [
    ...computing,
    [`${HF}/models/gpt2/modeling_gpt2.py`, "forward", "transformer_outputs = self.transformer("],
    call,
    [`${HF}/models/gpt2/modeling_gpt2.py`, "forward", "attn_outputs = self.attn("],
    call,
    [`${HF}/models/gpt2/modeling_gpt2.py`, "_attn", "attn_weights = nn.functional.softmax(attn_weights, dim=-1)"],
  ],
  "diffusers-softmax": [
    main,
    [
      "/home/u/train_text_to_image.py",
      "main",
      "model_pred = unet(noisy_latents, timesteps, encoder_hidden_states).sample",
    ],
    call,
    [
      `${SITE}/diffusers/models/cross_attention.py`,
      "get_attention_scores",
      "attention_probs = attention_scores.softmax(dim=-1)",
    ],
  ],
  "trainer-forward": [...computing, ...decoder, linear],
  "dpo-forward": [
    ...loop,
    [`${HF}/trainer.py`, "training_step", "loss = self.compute_loss(model, inputs)"],
    [
      `${SITE}/trl/trainer/dpo_trainer.py`,
      "compute_loss",
      "loss, metrics = self.get_batch_loss_metrics(model, inputs)",
    ],
    [`${SITE}/trl/trainer/dpo_trainer.py`, "concatenated_forward", "outputs = model(input_ids, **model_kwargs)"],
    call,
    ...decoder,
    linear,
  ],
  "head-forward": [
    ...computing,
    [`${HF}/models/bart/modeling_bart.py`, "forward", "lm_logits = self.lm_head(outputs[0])"],
    call,
    linear,
  ],
  "bert-forward": [
    main,
    ["/home/u/train.py", "train", "all_encoder_layer, pooled = model_bert(all_input_ids, all_segment_ids)"],
    [`${TORCH}/nn/modules/module.py`, "__call__", "result = self.forward(*input, **kwargs)"],
    ["/home/u/bert/modeling.py", "forward", "context_layer = torch.matmul(attention_probs, value_layer)"],
  ],
  "fsdp-forward": [
    ...computing,
    [
      `${TORCH}/distributed/fsdp/fully_sharded_data_parallel.py`,
      "forward",
      "output = self._fsdp_wrapped_module(*args, **kwargs)",
    ],
    call,
    ...decoder,
    [`${TORCH}/distributed/fsdp/_runtime_utils.py`, "_pre_forward_unshard", "_unshard(state, handle)"],
    [`${TORCH}/distributed/fsdp/_utils.py`, "_alloc_storage", "tensor._typed_storage()._resize_(size.numel())"],
  ],
  "conv-forward": [
    ["/home/u/execution.py", "execute", "output_data = get_output_data(obj, input_data_all)"],
    ["/home/u/nodes.py", "encode", "t = vae.encode(pixels[:,:,:,:3])"],
    call,
    [`${TORCH}/nn/modules/conv.py`, "_conv_forward", "return F.conv2d(input, weight, bias, self.stride)"],
  ],
  shards: [
    main,
    ["/home/u/train.py", "main", "model = AutoModelForCausalLM.from_pretrained(path)"],
    [`${HF}/modeling_utils.py`, "_load_pretrained_model", "new_error_msgs = _load_state_dict_into_meta_model("],
    [
      `${HF}/modeling_utils.py`,
      "_load_state_dict_into_meta_model",
      "set_module_tensor_to_device(model, param_name, param_device)",
    ],
    [`${SITE}/accelerate/utils/modeling.py`, "set_module_tensor_to_device", "new_value = value.to(device)"],
  ],
  quantizing: [
    main,
    [`${HF}/models/auto/auto_factory.py`, "from_pretrained", "return model_class.from_pretrained("],
    [
      `${HF}/modeling_utils.py`,
      "_load_state_dict_into_meta_model",
      "hf_quantizer.create_quantized_param(model, param, param_name)",
    ],
    [
      `${HF}/quantizers/quantizer_bnb_4bit.py`,
      "create_quantized_param",
      "new_value = bnb.nn.Params4bit(new_value).to(target_device)",
    ],
    [`${SITE}/bitsandbytes/nn/modules.py`, "to", "return self._quantize(device)"],
    [`${SITE}/bitsandbytes/nn/modules.py`, "_quantize", "w_4bit, quant_state = bnb.functional.quantize_4bit("],
  ],
  "to-device": [
    main,
    ["/home/u/train.py", "main", "trainer = Trainer("],
    [`${HF}/trainer.py`, "__init__", "self._move_model_to_device(model, args.device)"],
    [`${HF}/trainer.py`, "_move_model_to_device", "model = model.to(device)"],
    [`${TORCH}/nn/modules/module.py`, "to", "return self._apply(convert)"],
    [`${TORCH}/nn/modules/module.py`, "convert", "return t.to(device, dtype, non_blocking)"],
  ],
  "zero-states": [
    main,
    ["/home/u/pretrain.py", "setup_model_and_optimizer", "model, optimizer, _, lr_scheduler = deepspeed.initialize("],
    [`${SITE}/deepspeed/__init__.py`, "initialize", "engine = DeepSpeedEngine(args=args)"],
    [`${SITE}/deepspeed/runtime/engine.py`, "__init__", "self._configure_optimizer(optimizer, model_parameters)"],
    [`${SITE}/deepspeed/runtime/engine.py`, "_configure_zero_optimizer", "optimizer = DeepSpeedZeroOptimizer("],
    [`${SITE}/deepspeed/runtime/zero/stage_1_and_2.py`, "__init__", "self.initialize_optimizer_states()"],
    [`${SITE}/deepspeed/runtime/zero/stage_1_and_2.py`, "initialize_optimizer_states", "self.optimizer.step()"],
    [`${TORCH}/optim/adamw.py`, "_init_group", 'state["exp_avg"] = torch.zeros_like('],
  ],
  "zero3-init": [
    main,
    ["/home/u/train.py", "main", "trainer.train()"],
    [
      `${SITE}/accelerate/accelerator.py`,
      "_prepare_deepspeed",
      "engine, optimizer, _, lr_scheduler = deepspeed.initialize(**kwargs)",
    ],
    [`${SITE}/deepspeed/runtime/engine.py`, "_configure_zero_optimizer", "optimizer = DeepSpeedZeroOptimizer_Stage3("],
    [`${SITE}/deepspeed/runtime/zero/stage3.py`, "__init__", "self._setup_for_real_optimizer()"],
    [`${SITE}/deepspeed/runtime/zero/stage3.py`, "_setup_for_real_optimizer", "self._create_fp32_partitions()"],
  ],
  "torch-load": [
    ["/home/u/demo.py", "<module>", "checkpoint = torch.load(args.checkpoint)"],
    [`${TORCH}/serialization.py`, "load", "return _load(f, map_location, pickle_module, **pickle_load_args)"],
    [
      `${TORCH}/serialization.py`,
      "persistent_load",
      "deserialized_objects[root_key] = restore_location(obj, location)",
    ],
    [`${TORCH}/serialization.py`, "_cuda_deserialize", "return storage_type(obj.size())"],
  ],
  "best-model": [
    ...trainer,
    [`${HF}/trainer.py`, "_inner_training_loop", "self._load_best_model()"],
    [
      `${HF}/trainer.py`,
      "_load_best_model",
      "load_result = load_sharded_checkpoint(model, self.state.best_model_checkpoint)",
    ],
    [`${HF}/modeling_utils.py`, "load_sharded_checkpoint", "state_dict = torch.load(os.path.join(folder, shard_file))"],
    [
      `${TORCH}/serialization.py`,
      "load",
      "return _load(opened_zipfile, map_location, pickle_module, **pickle_load_args)",
    ],
  ],
  "fsdp-save": [
    main,
    ["/home/u/pretrain.py", "main", "FSDPCheckpoint.fsdp_save_ckpt("],
    ["/home/u/train/fsdp_utils.py", "fsdp_save_ckpt", "ema_state_dict = ema_model.state_dict()"],
    [`${TORCH}/nn/modules/module.py`, "state_dict", "hook(self, prefix, keep_vars)"],
    [
      `${TORCH}/distributed/fsdp/_state_dict_utils.py`,
      "_pre_state_dict_hook",
      "_pre_state_dict_hook_fn[fsdp_state._state_dict_type](",
    ],
    [`${TORCH}/distributed/fsdp/_utils.py`, "_alloc_storage", "tensor._typed_storage()._resize_(size.numel())"],
  ],
  "trainer-save": [
    main,
    ["/home/u/train.py", "train", "safe_save_model_for_hf_trainer(trainer=trainer, output_dir=out)"],
    ["/home/u/train.py", "safe_save_model_for_hf_trainer", "state_dict = trainer.model.state_dict()"],
    [
      `${TORCH}/nn/modules/module.py`,
      "state_dict",
      "module.state_dict(destination=destination, prefix=prefix + name + '.')",
    ],
    [`${TORCH}/distributed/fsdp/_utils.py`, "_alloc_storage", "tensor._typed_storage()._resize_(size.numel())"],
  ],
  "vllm-start": [
    ["/home/u/load_llm.py", "<module>", "llm = LLM(model=path)"],
    [`${SITE}/vllm/entrypoints/llm.py`, "__init__", "self.llm_engine = LLMEngine.from_engine_args(engine_args)"],
    [`${SITE}/vllm/engine/llm_engine.py`, "__init__", "self._initialize_kv_caches()"],
    [
      `${SITE}/vllm/engine/llm_engine.py`,
      "_initialize_kv_caches",
      "self.model_executor.initialize_cache(num_gpu_blocks, num_cpu_blocks)",
    ],
    [`${SITE}/vllm/worker/worker.py`, "raise_if_cache_size_invalid", "raise ValueError("],
  ],
  unscale: [
    main,
    ["/home/u/train.py", "main", "accelerator.clip_grad_norm_(params, args.max_grad_norm)"],
    [
      `${SITE}/accelerate/accelerator.py`,
      "clip_grad_norm_",
      "return torch.nn.utils.clip_grad_norm_(parameters, max_norm)",
    ],
    [
      `${TORCH}/nn/utils/clip_grad.py`,
      "clip_grad_norm_",
      "total_norm = torch.linalg.vector_norm(torch.stack(norms), norm_type)",
    ],
  ],
} as const satisfies Readonly<Record<string, readonly Row[]>>;

export type Shape = keyof typeof SHAPES;

/** How a traceback is printed. */
export type Style = "plain" | "rank" | "ray" | "quoted" | "ipython" | "ipython-old" | "rich" | "first" | "carets";

function box(line: string): string {
  return `│ ${line.padEnd(96)} │`;
}

const PRINTERS: Readonly<Record<Style, (rows: readonly Row[], message: string) => string[]>> = {
  plain: (rows, message) => [
    "Traceback (most recent call last):",
    ...rows.flatMap(([file, name, code], index) => [`  File "${file}", line ${index + 10}, in ${name}`, `    ${code}`]),
    message,
  ],
  carets: (rows, message) => [
    "Traceback (most recent call last):",
    ...rows.flatMap(([file, name, code], index) => [
      `  File "${file}", line ${index + 10}, in ${name}`,
      `    ${code}`,
      `    ${"^".repeat(code.length)}`,
    ]),
    message,
  ],
  rank: (rows, message) => PRINTERS.plain(rows, message).map((line) => `[rank3]: ${line}`),
  ray: (rows, message) =>
    PRINTERS.plain(rows, message).map(
      (line) => `(LLMRayActor pid=20770) ERROR 06-28 06:11:45 worker_base.py:145] ${line}`,
    ),
  quoted: (rows, message) => PRINTERS.plain(rows, message).map((line) => `> ${line}`),
  ipython: (rows, message) => [
    "OutOfMemoryError                          Traceback (most recent call last)",
    ...rows.flatMap(([file, name, code], index) => [
      "",
      `File ${file}:${index + 10}, in Some.${name}(self, *args)`,
      `    ${index + 8} # before`,
      `---> ${index + 10} ${code}`,
      `     ${index + 11} after = 1`,
    ]),
    "",
    message,
  ],
  "ipython-old": (rows, message) => [
    "RuntimeError                              Traceback (most recent call last)",
    ...rows.flatMap(([file, name, code], index) => [
      "",
      `${file.startsWith("/") ? file : "<ipython-input-13-94>"} in ${name}(self, *args)`,
      `    ${index + 8} # before`,
      `---> ${index + 10} ${code}`,
    ]),
    "",
    message,
  ],
  rich: (rows, message) => [
    "╭───────────────────── Traceback (most recent call last) ──────────────────────────────────────────╮",
    ...rows.flatMap(([file, name, code], index) => [
      ...(file.length > 60 ? [box(`${file}:${index + 10} in`), box(name)] : [box(`${file}:${index + 10} in ${name}`)]),
      box(""),
      box(`  ${index + 9} │   # before`),
      box(`❱ ${index + 10} │   ${code}`),
      box(`  ${index + 11} │   # after`),
      box(""),
    ]),
    "╰──────────────────────────────────────────────────────────────────────────────────────────────────╯",
    ...(message.match(/.{1,118}(?: |$)/g) ?? [message]),
  ],
  first: (rows, message) => [`!!! Exception during processing !!! ${message}`, ...PRINTERS.plain(rows, message)],
};

export function printed(shape: Shape, style: Style, message: string): string {
  return PRINTERS[style](SHAPES[shape], message).join("\n");
}
