/**
 * Arguments that classes of Hugging Face's libraries take: `name@1.2` since that version, `name!1.4` until before it.
 * Source: the libraries' own code; `python -m capture.facts.signatures` writes this file.
 */
import { table } from "../../terms/table";

export interface Signature {
  readonly library: "transformers" | "trl" | "peft";
  /** Class of another library whose arguments it takes besides. */
  readonly base?: string;
  readonly takes: string;
}

export const SIGNATURES: Readonly<Record<string, Signature>> = table({
  BitsAndBytesConfig: {
    library: "transformers",
    takes:
      "bnb_4bit_compute_dtype bnb_4bit_quant_storage@4.46 bnb_4bit_quant_type bnb_4bit_use_double_quant " +
      "llm_int8_enable_fp32_cpu_offload llm_int8_has_fp16_weight llm_int8_skip_modules llm_int8_threshold " +
      "load_in_4bit load_in_8bit",
  },
  Seq2SeqTrainer: {
    library: "transformers",
    takes:
      "args callbacks compute_loss_func@4.53 compute_metrics data_collator eval_dataset model model_init optimizers " +
      "preprocess_logits_for_metrics processing_class@4.46 tokenizer!4.46 train_dataset",
  },
  Seq2SeqTrainingArguments: {
    library: "transformers",
    takes:
      "accelerator_config@4.46 adafactor!5.0 adam_beta1 adam_beta2 adam_epsilon auto_find_batch_size " +
      "average_tokens_across_devices@4.46 batch_eval_metrics@4.46 bf16 bf16_full_eval data_seed " +
      "dataloader_drop_last dataloader_in_order@5.17 dataloader_multiprocessing_context@5.17 dataloader_num_workers " +
      "dataloader_persistent_workers dataloader_pin_memory dataloader_prefetch_factor@4.46 ddp_backend " +
      "ddp_broadcast_buffers ddp_bucket_cap_mb ddp_find_unused_parameters ddp_static_graph@5.17 ddp_timeout debug " +
      "deepspeed disable_tqdm dispatch_batches!4.53 do_eval do_predict do_train enable_jit_checkpoint@5.0 " +
      "eval_accumulation_steps eval_delay eval_do_concat_batches@4.46 eval_on_start@4.46 eval_steps " +
      "eval_strategy@4.46 eval_use_gather_object@4.46 evaluation_strategy!4.53 fp16 fp16_backend!5.0 fp16_full_eval " +
      "fp16_opt_level!5.0 fsdp fsdp_config fsdp_min_num_params!5.0 fsdp_transformer_layer_cls_to_wrap!5.0 " +
      "full_determinism generation_config generation_max_length generation_num_beams gradient_accumulation_steps " +
      "gradient_checkpointing gradient_checkpointing_kwargs greater_is_better group_by_length!5.17 " +
      "half_precision_backend!5.0 hub_always_push hub_model_id hub_private_repo hub_revision@4.53 hub_strategy " +
      "hub_token ignore_data_skip include_for_metrics@4.46 include_inputs_for_metrics!5.0 " +
      "include_num_input_tokens_seen include_tokens_per_second!5.0 jit_mode_eval!5.0 label_names " +
      "label_smoothing_factor learning_rate length_column_name liger_kernel_config@4.53 load_best_model_at_end " +
      "local_rank log_level log_level_replica log_on_each_node logging_dir!5.17 logging_first_step " +
      "logging_nan_inf_filter logging_steps logging_strategy lr_scheduler_kwargs lr_scheduler_type max_grad_norm " +
      "max_steps metric_for_best_model mp_parameters!5.0 neftune_noise_alpha no_cuda!5.0 num_train_epochs optim " +
      "optim_args optim_target_modules@4.46 output_dir overwrite_output_dir!5.0 parallelism_config@5.0 " +
      "past_index!5.0 per_device_eval_batch_size per_device_train_batch_size per_gpu_eval_batch_size!5.0 " +
      "per_gpu_train_batch_size!5.0 predict_with_generate prediction_loss_only project@5.0 push_to_hub " +
      "push_to_hub_model_id!5.0 push_to_hub_organization!5.0 push_to_hub_token!5.0 ray_scope!5.0 " +
      "remove_unused_columns report_to restore_callback_states_from_checkpoint@4.46 resume_from_checkpoint run_name " +
      "save_on_each_node save_only_model save_safetensors!5.0 save_steps save_strategy save_total_limit seed " +
      "skip_memory_metrics sortish_sampler split_batches!4.53 tf32 torch_compile torch_compile_backend " +
      "torch_compile_mode torch_empty_cache_steps@4.46 torchdynamo!5.0 tpu_metrics_debug!5.0 tpu_num_cores!5.0 " +
      "trackio_bucket_id@5.17 trackio_space_id@5.0 trackio_static_space_id@5.17 train_sampling_strategy@5.17 " +
      "use_cache@5.0 use_cpu use_ipex!5.0 use_legacy_prediction_loop!5.0 use_liger_kernel@4.46 use_mps_device!5.0 " +
      "warmup_ratio!5.17 warmup_steps weight_decay",
  },
  Trainer: {
    library: "transformers",
    takes:
      "args callbacks compute_loss_func@4.46 compute_metrics data_collator eval_dataset model model_init " +
      "optimizer_cls_and_kwargs@4.53 optimizers preprocess_logits_for_metrics processing_class@4.46 tokenizer!4.46 " +
      "train_dataset",
  },
  TrainingArguments: {
    library: "transformers",
    takes:
      "accelerator_config@4.46 adafactor!5.0 adam_beta1 adam_beta2 adam_epsilon auto_find_batch_size " +
      "average_tokens_across_devices@4.46 batch_eval_metrics@4.46 bf16 bf16_full_eval data_seed " +
      "dataloader_drop_last dataloader_in_order@5.17 dataloader_multiprocessing_context@5.17 dataloader_num_workers " +
      "dataloader_persistent_workers dataloader_pin_memory dataloader_prefetch_factor@4.46 ddp_backend " +
      "ddp_broadcast_buffers ddp_bucket_cap_mb ddp_find_unused_parameters ddp_static_graph@5.17 ddp_timeout debug " +
      "deepspeed disable_tqdm dispatch_batches!4.53 do_eval do_predict do_train enable_jit_checkpoint@5.0 " +
      "eval_accumulation_steps eval_delay eval_do_concat_batches@4.46 eval_on_start@4.46 eval_steps " +
      "eval_strategy@4.46 eval_use_gather_object@4.46 evaluation_strategy!4.53 fp16 fp16_backend!5.0 fp16_full_eval " +
      "fp16_opt_level!5.0 fsdp fsdp_config fsdp_min_num_params!5.0 fsdp_transformer_layer_cls_to_wrap!5.0 " +
      "full_determinism gradient_accumulation_steps gradient_checkpointing gradient_checkpointing_kwargs " +
      "greater_is_better group_by_length!5.17 half_precision_backend!5.0 hub_always_push hub_model_id " +
      "hub_private_repo hub_revision@4.53 hub_strategy hub_token ignore_data_skip include_for_metrics@4.46 " +
      "include_inputs_for_metrics!5.0 include_num_input_tokens_seen include_tokens_per_second!5.0 jit_mode_eval!5.0 " +
      "label_names label_smoothing_factor learning_rate length_column_name liger_kernel_config@4.53 " +
      "load_best_model_at_end local_rank log_level log_level_replica log_on_each_node logging_dir!5.17 " +
      "logging_first_step logging_nan_inf_filter logging_steps logging_strategy lr_scheduler_kwargs " +
      "lr_scheduler_type max_grad_norm max_steps metric_for_best_model mp_parameters!5.0 neftune_noise_alpha " +
      "no_cuda!5.0 num_train_epochs optim optim_args optim_target_modules@4.46 output_dir overwrite_output_dir!5.0 " +
      "parallelism_config@5.0 past_index!5.0 per_device_eval_batch_size per_device_train_batch_size " +
      "per_gpu_eval_batch_size!5.0 per_gpu_train_batch_size!5.0 prediction_loss_only project@5.0 push_to_hub " +
      "push_to_hub_model_id!5.0 push_to_hub_organization!5.0 push_to_hub_token!5.0 ray_scope!5.0 " +
      "remove_unused_columns report_to restore_callback_states_from_checkpoint@4.46 resume_from_checkpoint run_name " +
      "save_on_each_node save_only_model save_safetensors!5.0 save_steps save_strategy save_total_limit seed " +
      "skip_memory_metrics split_batches!4.53 tf32 torch_compile torch_compile_backend torch_compile_mode " +
      "torch_empty_cache_steps@4.46 torchdynamo!5.0 tpu_metrics_debug!5.0 tpu_num_cores!5.0 trackio_bucket_id@5.17 " +
      "trackio_space_id@5.0 trackio_static_space_id@5.17 train_sampling_strategy@5.17 use_cache@5.0 use_cpu " +
      "use_ipex!5.0 use_legacy_prediction_loop!5.0 use_liger_kernel@4.46 use_mps_device!5.0 warmup_ratio!5.17 " +
      "warmup_steps weight_decay",
  },
  BCOConfig: {
    library: "trl",
    base: "TrainingArguments",
    takes:
      "beta bf16@0.20 dataset_num_proc disable_dropout@0.16 generate_during_eval gradient_checkpointing@1.0 " +
      "is_encoder_decoder label_pad_token_id!0.25 learning_rate@1.0 logging_steps@0.20 lr_scheduler_kwargs@1.0 " +
      "max_completion_length max_density_ratio max_length max_prompt_length!0.25 min_density_ratio " +
      "model_init_kwargs padding_value!0.25 precompute_ref_log_probs prompt_sample_size ref_model_init_kwargs!0.25 " +
      "torch_empty_cache_steps@1.0 truncation_mode!0.25 use_liger_kernel@1.0",
  },
  BCOTrainer: {
    library: "trl",
    takes:
      "args callbacks compute_metrics data_collator embedding_func embedding_tokenizer eval_dataset model " +
      "model_adapter_name model_init optimizers peft_config preprocess_logits_for_metrics processing_class " +
      "ref_adapter_name ref_model train_dataset",
  },
  CPOConfig: {
    library: "trl",
    base: "TrainingArguments",
    takes:
      "alpha@0.25 beta bf16@0.20 cpo_alpha@0.12 dataset_num_proc disable_dropout generate_during_eval " +
      "gradient_checkpointing@0.25 is_encoder_decoder label_pad_token_id!1.0 label_smoothing learning_rate@0.12 " +
      "logging_steps@0.20 loss_type lr_scheduler_kwargs@0.25 max_completion_length max_length max_prompt_length!1.0 " +
      "max_target_length!0.12 model_init_kwargs padding_value!1.0 simpo_gamma@0.12 torch_empty_cache_steps@1.0 " +
      "truncation_mode!1.0 trust_remote_code@1.16 use_liger_kernel@1.0",
  },
  CPOTrainer: {
    library: "trl",
    takes:
      "args callbacks compute_metrics data_collator eval_dataset model model_init optimizers peft_config " +
      "preprocess_logits_for_metrics processing_class@0.12 tokenizer!0.12 train_dataset",
  },
  DPOConfig: {
    library: "trl",
    base: "TrainingArguments",
    takes:
      "activation_offloading@1.0 base_model_attribute_name@0.20!1.0 beta bf16@0.20 dataset_num_proc disable_dropout " +
      "discopop_tau@0.16 f_alpha_divergence_coef f_divergence_type force_use_ref_model!1.0 generate_during_eval!1.0 " +
      "gradient_checkpointing@0.25 is_encoder_decoder!0.16 label_pad_token_id!1.0 label_smoothing ld_alpha@0.20 " +
      "learning_rate logging_steps@0.20 loss_type loss_weights@0.20 lr_scheduler_kwargs@0.25 " +
      "max_completion_length!1.0 max_length max_prompt_length!1.0 max_target_length!0.16 model_adapter_name!1.0 " +
      "model_init_kwargs pad_to_multiple_of@1.0 pad_token@0.25 padding_free@0.16 padding_value!1.0 " +
      "precompute_ref_batch_size@0.16 precompute_ref_log_probs ref_adapter_name!1.0 ref_model_init_kwargs!1.0 " +
      "ref_model_mixup_alpha ref_model_sync_steps reference_free!1.0 router_aux_loss_coef@1.16 rpo_alpha!1.0 " +
      "sync_ref_model tools@0.16!1.0 torch_empty_cache_steps@1.0 truncation_mode trust_remote_code@1.16 " +
      "use_liger_kernel@1.0 use_liger_loss@0.20!1.0 use_logits_to_keep@0.16!1.0 use_num_logits_to_keep@0.16!0.20 " +
      "use_weighting",
  },
  DPOTrainer: {
    library: "trl",
    takes:
      "args beta!0.16 callbacks compute_metrics data_collator dataset_num_proc!0.16 disable_dropout!0.16 " +
      "eval_dataset force_use_ref_model!0.16 generate_during_eval!0.16 is_encoder_decoder!0.16 " +
      "label_pad_token_id!0.16 label_smoothing!0.16 loss_type!0.16 max_length!0.16 max_prompt_length!0.16 " +
      "max_target_length!0.16 model model_adapter_name!0.16 model_init!0.20 model_init_kwargs!0.16 " +
      "optimizer_cls_and_kwargs@0.20!1.0 optimizers padding_value!0.16 peft_config precompute_ref_log_probs!0.16 " +
      "preprocess_logits_for_metrics!1.0 processing_class@0.12 quantization_config@1.16 ref_adapter_name!0.16 " +
      "ref_model ref_model_init_kwargs!0.16 reference_free!0.16 tokenizer!0.12 train_dataset truncation_mode!0.16",
  },
  GKDConfig: {
    library: "trl",
    base: "TrainingArguments",
    takes:
      "activation_offloading@0.20 assistant_only_loss@0.20 average_tokens_across_devices@0.20!0.25 beta bf16@0.20 " +
      "chars_per_token!0.20 chat_template_path@0.20 completion_only_loss@0.20 dataset_batch_size!0.20 " +
      "dataset_kwargs dataset_num_proc dataset_text_field disable_dropout eos_token@0.20 eval_packing " +
      "gradient_checkpointing@0.25 learning_rate lmbda logging_steps@0.20 loss_type@0.25 lr_scheduler_kwargs@0.25 " +
      "max_length@0.16 max_new_tokens max_seq_length!0.20 model_init_kwargs num_of_sequences!0.20 packing " +
      "packing_strategy@0.20 pad_to_multiple_of@0.20 pad_token@0.16 padding_free@0.16 router_aux_loss_coef@1.16 " +
      "seq_kd shuffle_dataset@1.0 teacher_model_init_kwargs teacher_model_name_or_path temperature " +
      "torch_empty_cache_steps@1.0 truncation_mode@1.0 trust_remote_code@1.16 use_liger!0.20 use_liger_kernel@1.0",
  },
  GKDTrainer: {
    library: "trl",
    takes:
      "args callbacks compute_metrics data_collator eval_dataset formatting_func model model_init!0.16 optimizers " +
      "peft_config preprocess_logits_for_metrics processing_class teacher_model train_dataset",
  },
  GRPOConfig: {
    library: "trl",
    base: "TrainingArguments",
    takes:
      "beta bf16@0.20 cache_implementation cast_lm_head_to_fp32@0.25 chat_template_kwargs@0.25 delta@0.20 " +
      "disable_dropout@0.20 ds3_gather_for_generation entropy_coef@1.16 entropy_coef_delta@1.16 " +
      "entropy_coef_max@1.16 entropy_coef_min@1.16 entropy_target@1.16 epsilon epsilon_high " +
      "generation_batch_size@0.20 generation_kwargs@0.20 gradient_checkpointing@0.25 importance_sampling_level@0.20 " +
      "learning_rate log_completions log_completions_hub_repo@1.0 log_multimodal@1.16 log_unique_prompts@1.0 " +
      "logging_steps@0.20 loss_type@0.20 lr_scheduler_kwargs@0.25 mask_truncated_completions@0.20 " +
      "max_completion_length max_prompt_length!1.0 max_tool_calling_iterations@1.0 min_p model_init_kwargs " +
      "multi_objective_aggregation@1.0 num_completions_to_print@0.20 num_generations num_generations_eval@1.0 " +
      "num_iterations off_policy_mask_threshold@1.0 pad_to_multiple_of@1.0 ref_model_mixup_alpha " +
      "ref_model_sync_steps remove_unused_columns repetition_penalty reward_weights router_aux_loss_coef@1.16 " +
      "sapo_temperature_neg@1.0 sapo_temperature_pos@1.0 scale_rewards shuffle_dataset@0.20 " +
      "steps_per_generation@0.20 sync_ref_model temperature top_entropy_quantile@0.20 top_k top_p " +
      "torch_empty_cache_steps@1.0 transformers_continuous_batching_config@1.16 trust_remote_code@1.16 " +
      "use_adaptive_entropy@1.16 use_bias_correction_kl@1.0 use_liger_kernel@1.0 use_liger_loss@0.20!1.0 " +
      "use_transformers_continuous_batching@1.16 use_transformers_paged@0.20 use_vllm vespo_k_neg@1.0 " +
      "vespo_k_pos@1.0 vespo_lambda_neg@1.0 vespo_lambda_pos@1.0 vllm_device!0.20 vllm_dtype!0.20 " +
      "vllm_enable_prefix_caching!0.20 vllm_enable_sleep_mode@0.25 vllm_gpu_memory_utilization vllm_group_port@1.0 " +
      "vllm_guided_decoding_regex!1.0 vllm_importance_sampling_cap@0.25 vllm_importance_sampling_clip_max@1.16 " +
      "vllm_importance_sampling_clip_min@1.16 vllm_importance_sampling_correction@0.25 " +
      "vllm_importance_sampling_mode@1.0 vllm_max_model_len!0.20 vllm_max_model_length@1.0 vllm_mode@0.20 " +
      "vllm_model_impl@0.25 vllm_server_base_url@0.20 vllm_server_host vllm_server_port vllm_server_timeout " +
      "vllm_structured_outputs_regex@1.0 vllm_tensor_parallel_size@0.20 wandb_log_unique_prompts@0.20!1.0",
  },
  GRPOTrainer: {
    library: "trl",
    takes:
      "args callbacks environment_factory@1.0 eval_dataset model optimizers peft_config processing_class " +
      "quantization_config@1.16 reward_funcs reward_processing_classes rollout_func@0.25 tools@1.0 train_dataset",
  },
  KTOConfig: {
    library: "trl",
    base: "TrainingArguments",
    takes:
      "activation_offloading@1.16 base_model_attribute_name@0.20!1.0 beta bf16@0.20 dataset_num_proc " +
      "desirable_weight disable_dropout@0.12 generate_during_eval!1.0 gradient_checkpointing@0.25 " +
      "is_encoder_decoder!1.0 label_pad_token_id!1.0 learning_rate@0.12 logging_steps@0.20 loss_type@0.12 " +
      "lr_scheduler_kwargs@0.25 max_completion_length!1.0 max_length max_prompt_length!1.0 model_init_kwargs " +
      "pad_to_multiple_of@1.16 padding_value!1.0 precompute_ref_batch_size@1.16 precompute_ref_log_probs " +
      "ref_model_init_kwargs!1.0 ref_model_mixup_alpha@1.16 ref_model_sync_steps@1.16 router_aux_loss_coef@1.16 " +
      "sync_ref_model@1.16 torch_empty_cache_steps@1.16 train_sampling_strategy@1.16 truncation_mode!1.0 " +
      "trust_remote_code@1.16 undesirable_weight use_liger_kernel@1.16 use_liger_loss@0.20!1.0",
  },
  KTOTrainer: {
    library: "trl",
    takes:
      "args callbacks compute_metrics data_collator eval_dataset model model_adapter_name!1.0 model_init!1.0 " +
      "optimizers peft_config preprocess_logits_for_metrics!1.0 processing_class@0.12 quantization_config@1.16 " +
      "ref_adapter_name!1.0 ref_model tokenizer!0.12 train_dataset",
  },
  ModelConfig: {
    library: "trl",
    takes:
      "attn_implementation bnb_4bit_quant_storage@1.0 bnb_4bit_quant_type dtype@0.25 load_in_4bit load_in_8bit " +
      "lora_alpha lora_dropout lora_modules_to_save lora_r lora_target_modules lora_target_parameters@0.25 " +
      "lora_task_type model_name_or_path model_revision torch_dtype!1.0 trust_remote_code!1.16 use_bnb_nested_quant " +
      "use_dora@0.16 use_peft use_rslora@0.12",
  },
  NashMDConfig: {
    library: "trl",
    base: "TrainingArguments",
    takes:
      "beta bf16@0.20 cache_implementation@0.25 dataset_num_proc!0.25 disable_dropout " +
      "ds3_gather_for_generation@0.16 generation_kwargs@0.25 gpu_memory_utilization@0.20!0.25 " +
      "gradient_checkpointing@0.25 judge learning_rate logging_steps@0.20 loss_type lr_scheduler_kwargs@0.25 " +
      "max_length@0.16 max_new_tokens min_p@0.25 missing_eos_penalty mixture_coef model_init_kwargs@0.20 " +
      "remove_unused_columns@1.0 repetition_penalty@0.25 reward_model_path reward_weights@0.25 temperature " +
      "top_k@0.25 top_p@0.25 torch_empty_cache_steps@1.0 use_liger_kernel@1.0 use_transformers_paged@0.25 " +
      "use_vllm@0.16 vllm_enable_sleep_mode@1.0 vllm_gpu_memory_utilization@0.25 vllm_group_port@1.0 " +
      "vllm_guided_decoding_regex@0.25!1.0 vllm_mode@0.25 vllm_model_impl@0.25 vllm_server_base_url@0.25 " +
      "vllm_server_host@0.25 vllm_server_port@0.25 vllm_server_timeout@0.25 vllm_structured_outputs_regex@1.0 " +
      "vllm_tensor_parallel_size@0.25",
  },
  NashMDTrainer: {
    library: "trl",
    takes:
      "args callbacks compute_metrics data_collator eval_dataset judge model optimizers peft_config " +
      "preprocess_logits_for_metrics processing_class ref_model reward_funcs@0.25 reward_model!0.25 train_dataset",
  },
  ORPOConfig: {
    library: "trl",
    base: "TrainingArguments",
    takes:
      "beta bf16@0.20 dataset_num_proc disable_dropout generate_during_eval gradient_checkpointing@0.25 " +
      "is_encoder_decoder label_pad_token_id!1.0 learning_rate@0.12 logging_steps@0.20 lr_scheduler_kwargs@0.25 " +
      "max_completion_length max_length max_prompt_length!1.0 model_init_kwargs padding_value " +
      "torch_empty_cache_steps@1.0 truncation_mode!1.0 trust_remote_code@1.16 use_liger_kernel@1.0",
  },
  ORPOTrainer: {
    library: "trl",
    takes:
      "args callbacks compute_metrics data_collator eval_dataset model model_init optimizers peft_config " +
      "preprocess_logits_for_metrics processing_class@0.12 tokenizer!0.12 train_dataset",
  },
  OnlineDPOConfig: {
    library: "trl",
    base: "TrainingArguments",
    takes:
      "beta bf16@0.20 cache_implementation@0.25 dataset_num_proc!0.25 disable_dropout " +
      "ds3_gather_for_generation@0.16 generation_kwargs@0.25 gpu_memory_utilization@0.20!0.25 " +
      "gradient_checkpointing@0.25 judge!1.16 learning_rate logging_steps@0.20 loss_type lr_scheduler_kwargs@0.25 " +
      "max_length@0.16 max_new_tokens min_p@0.25 missing_eos_penalty model_init_kwargs@0.20 " +
      "remove_unused_columns@1.0 repetition_penalty@0.25 reward_model_path reward_weights@0.25 temperature " +
      "top_k@0.25 top_p@0.25 torch_empty_cache_steps@1.0 trust_remote_code@1.16 use_liger_kernel@1.0 " +
      "use_transformers_paged@0.25!1.16 use_vllm@0.16 vllm_enable_sleep_mode@1.0 vllm_gpu_memory_utilization@0.25 " +
      "vllm_group_port@1.0 vllm_guided_decoding_regex@0.25!1.0 vllm_mode@0.25 vllm_model_impl@0.25 " +
      "vllm_server_base_url@0.25 vllm_server_host@0.25 vllm_server_port@0.25 vllm_server_timeout@0.25 " +
      "vllm_structured_outputs_regex@1.0 vllm_tensor_parallel_size@0.25",
  },
  OnlineDPOTrainer: {
    library: "trl",
    takes:
      "args callbacks compute_metrics data_collator eval_dataset judge!1.16 model optimizers peft_config " +
      "preprocess_logits_for_metrics processing_class ref_model reward_funcs@0.25 reward_model!0.25 " +
      "reward_processing_class!0.25 reward_processing_classes@0.25 train_dataset",
  },
  PPOConfig: {
    library: "trl",
    base: "TrainingArguments",
    takes:
      "accelerator_kwargs!0.12 adap_kl_ctrl!0.12 backward_batch_size!0.12 batch_size bf16@0.20 cliprange " +
      "cliprange_value compare_steps!0.12 dataset_num_proc@0.12 ds3_gather_for_generation@0.16 early_stopping!0.12 " +
      "exp_name!1.0 forward_batch_size!0.12 gamma global_backward_batch_size!0.12 global_batch_size!0.12 " +
      "gradient_accumulation_steps!0.12 gradient_checkpointing@0.25 horizon!0.12 init_kl_coef!0.12 " +
      "is_encoder_decoder!0.12 is_peft_model!0.12 kl_coef@0.12 kl_estimator@0.20 kl_penalty!0.12 lam learning_rate " +
      "local_batch_size@0.12 local_mini_batch_size@0.12 local_rollout_forward_batch_size@0.12 log_with!0.12 " +
      "logging_steps@0.20 lr_scheduler_kwargs@0.25 max_grad_norm!0.12 micro_batch_size@0.12 mini_batch_size " +
      "missing_eos_penalty@0.12 model_adapter_name@0.16 model_name!0.12 num_mini_batches@0.12 num_ppo_epochs@0.12 " +
      "num_sample_generations@0.12 num_total_batches@0.12 optimize_cuda_cache!0.12 optimize_device_cache!0.12 " +
      "ppo_epochs!0.12 project_kwargs!0.12 push_to_hub@0.12 push_to_hub_if_best_kwargs!0.12 query_dataset!0.12 " +
      "ratio_threshold!0.12 ref_adapter_name@0.16 remove_unused_columns!0.12 response_length@0.12 reward_model!0.12 " +
      "reward_model_path@0.12 run_name@0.12!1.0 score_clip!0.12 seed!0.12 sft_model_path@0.12 steps!0.12 " +
      "stop_token@0.12 stop_token_id@0.12 target!0.12 target_kl!0.12 task_name!0.12 temperature@0.12 " +
      "torch_empty_cache_steps@1.0 total_episodes@0.12 tracker_kwargs!0.12 tracker_project_name!0.12 " +
      "use_liger_kernel@1.0 use_score_norm!0.12 use_score_scaling!0.12 vf_coef whiten_rewards world_size",
  },
  PPOTrainer: {
    library: "trl",
    takes:
      "args@0.16 callbacks@0.12 config!0.16 data_collator dataset!0.12 eval_dataset@0.12 lr_scheduler!0.12 model " +
      "num_shared_layers!0.12 optimizer!0.12 optimizers@0.12 peft_config@0.16 policy@0.12!0.16 " +
      "processing_class@0.12 ref_model ref_policy@0.12!0.16 reward_model@0.12 tokenizer!0.12 train_dataset@0.12 " +
      "value_model@0.12",
  },
  RLOOConfig: {
    library: "trl",
    base: "TrainingArguments",
    takes:
      "batch_size!0.25 beta@0.25 bf16@0.20 cache_implementation@0.25 chat_template_kwargs@0.25 cliprange!0.25 " +
      "dataset_num_proc!0.25 disable_dropout@0.25 ds3_gather_for_generation@0.16 epsilon@0.25 epsilon_high@0.25 " +
      "exp_name!0.25 generation_batch_size@0.25 generation_kwargs@0.25 gradient_checkpointing@0.25 kl_coef!0.25 " +
      "learning_rate@0.25 local_batch_size!0.25 local_mini_batch_size!0.25 local_rollout_forward_batch_size!0.25 " +
      "log_completions@0.25 log_multimodal@1.16 log_unique_prompts@1.0 logging_steps@0.20 lr_scheduler_kwargs@0.25 " +
      "mask_truncated_completions@0.25 max_completion_length@0.25 max_prompt_length@0.25!1.0 micro_batch_size!0.25 " +
      "min_p@0.25 mini_batch_size!0.25 missing_eos_penalty!0.25 model_init_kwargs@0.25 " +
      "normalize_advantage@0.16!0.25 normalize_advantages@0.25 normalize_reward@0.16!0.25 " +
      "num_completions_to_print@0.25 num_generations@0.25 num_generations_eval@1.0 num_iterations@0.25 " +
      "num_mini_batches!0.25 num_ppo_epochs!0.25 num_sample_generations!0.25 num_total_batches!0.25 " +
      "pad_to_multiple_of@1.0 push_to_hub!0.25 ref_model_mixup_alpha@0.25 ref_model_sync_steps@0.25 " +
      "remove_unused_columns@0.25 repetition_penalty@0.25 response_length!0.25 reward_clip_range@0.16 " +
      "reward_model_path!0.25 reward_weights@0.25 rloo_k!0.25 router_aux_loss_coef@1.16 run_name!0.25 " +
      "sft_model_path!0.25 shuffle_dataset@0.25 steps_per_generation@0.25 stop_token!0.25 stop_token_id!0.25 " +
      "sync_ref_model@0.25 temperature token_level_kl@0.16!0.25 top_k@0.25 top_p@0.25 torch_empty_cache_steps@1.0 " +
      "total_episodes!0.25 transformers_continuous_batching_config@1.16 trust_remote_code@1.16 use_liger_kernel@1.0 " +
      "use_transformers_continuous_batching@1.16 use_transformers_paged@0.25 use_vllm@0.25 " +
      "vllm_enable_sleep_mode@0.25 vllm_gpu_memory_utilization@0.25 vllm_group_port@1.0 " +
      "vllm_guided_decoding_regex@0.25!1.0 vllm_max_model_length@1.0 vllm_mode@0.25 vllm_model_impl@0.25 " +
      "vllm_server_base_url@0.25 vllm_server_host@0.25 vllm_server_port@0.25 vllm_server_timeout@0.25 " +
      "vllm_structured_outputs_regex@1.0 vllm_tensor_parallel_size@0.25 wandb_log_unique_prompts@0.25!1.0 " +
      "whiten_rewards!0.25 world_size!0.25",
  },
  RLOOTrainer: {
    library: "trl",
    takes:
      "args@0.25 callbacks config!0.25 data_collator!0.25 eval_dataset model@0.25 optimizers peft_config@0.25 " +
      "policy!0.25 processing_class quantization_config@1.16 ref_policy!0.25 reward_funcs@0.25 reward_model!0.25 " +
      "reward_processing_classes@0.25 train_dataset",
  },
  RewardConfig: {
    library: "trl",
    base: "TrainingArguments",
    takes:
      "activation_offloading@0.25 average_tokens_across_devices@0.20!0.25 bf16@0.20 center_rewards_coefficient@0.12 " +
      "chat_template_path@0.25 dataset_num_proc@0.12 disable_dropout@0.16 eos_token@0.25 " +
      "gradient_checkpointing@0.25 learning_rate@0.25 logging_steps@0.20 lr_scheduler_kwargs@0.25 max_length " +
      "model_init_kwargs@0.25 pad_to_multiple_of@0.25 pad_token@0.25 remove_unused_columns@0.12!0.25 " +
      "torch_empty_cache_steps@1.0 trust_remote_code@1.16 use_liger_kernel@1.0",
  },
  RewardTrainer: {
    library: "trl",
    takes:
      "args callbacks compute_metrics data_collator eval_dataset max_length!0.16 model model_init!0.25 " +
      "optimizer_cls_and_kwargs@0.25 optimizers peft_config preprocess_logits_for_metrics processing_class@0.12 " +
      "quantization_config@1.16 tokenizer!0.12 train_dataset",
  },
  SFTConfig: {
    library: "trl",
    base: "TrainingArguments",
    takes:
      "activation_offloading@0.20 assistant_only_loss@0.20 average_tokens_across_devices@0.20!0.25 bf16@0.20 " +
      "chars_per_token!0.20 chat_template_path@0.20 completion_only_loss@0.20 dataset_batch_size!0.20 " +
      "dataset_kwargs dataset_num_proc dataset_text_field eos_token@0.20 eval_packing gradient_checkpointing@0.25 " +
      "learning_rate logging_steps@0.20 loss_type@0.25 lr_scheduler_kwargs@0.25 max_length@0.16 max_seq_length!0.20 " +
      "model_init_kwargs num_of_sequences!0.20 packing packing_strategy@0.20 pad_to_multiple_of@0.20 pad_token@0.16 " +
      "padding_free@0.16 router_aux_loss_coef@1.16 shuffle_dataset@1.0 torch_empty_cache_steps@1.0 " +
      "truncation_mode@1.0 trust_remote_code@1.16 use_liger!0.20 use_liger_kernel@1.0",
  },
  SFTTrainer: {
    library: "trl",
    takes:
      "args callbacks chars_per_token!0.16 compute_loss_func@0.16 compute_metrics data_collator " +
      "dataset_batch_size!0.16 dataset_kwargs!0.16 dataset_num_proc!0.16 dataset_text_field!0.16 eval_dataset " +
      "eval_packing!0.16 formatting_func infinite!0.16 max_seq_length!0.16 model model_init!0.16 " +
      "model_init_kwargs!0.16 neftune_noise_alpha!0.16 num_of_sequences!0.16 optimizer_cls_and_kwargs@0.16 " +
      "optimizers packing!0.16 peft_config preprocess_logits_for_metrics processing_class@0.12 " +
      "quantization_config@1.16 tokenizer!0.12 train_dataset",
  },
  XPOConfig: {
    library: "trl",
    base: "TrainingArguments",
    takes:
      "alpha beta bf16@0.20 cache_implementation@0.25 dataset_num_proc!0.25 disable_dropout " +
      "ds3_gather_for_generation@0.16 generation_kwargs@0.25 gpu_memory_utilization@0.20!0.25 " +
      "gradient_checkpointing@0.25 judge learning_rate logging_steps@0.20 loss_type lr_scheduler_kwargs@0.25 " +
      "max_length@0.16 max_new_tokens min_p@0.25 missing_eos_penalty model_init_kwargs@0.20 " +
      "remove_unused_columns@1.0 repetition_penalty@0.25 reward_model_path reward_weights@0.25 temperature " +
      "top_k@0.25 top_p@0.25 torch_empty_cache_steps@1.0 use_liger_kernel@1.0 use_transformers_paged@0.25 " +
      "use_vllm@0.16 vllm_enable_sleep_mode@1.0 vllm_gpu_memory_utilization@0.25 vllm_group_port@1.0 " +
      "vllm_guided_decoding_regex@0.25!1.0 vllm_mode@0.25 vllm_model_impl@0.25 vllm_server_base_url@0.25 " +
      "vllm_server_host@0.25 vllm_server_port@0.25 vllm_server_timeout@0.25 vllm_structured_outputs_regex@1.0 " +
      "vllm_tensor_parallel_size@0.25",
  },
  XPOTrainer: {
    library: "trl",
    takes:
      "args callbacks compute_metrics data_collator eval_dataset judge model optimizers peft_config " +
      "preprocess_logits_for_metrics processing_class ref_model reward_funcs@0.25 reward_model!0.25 " +
      "reward_processing_classes@0.25 train_dataset",
  },
  LoraConfig: {
    library: "peft",
    takes:
      "alora_invocation_tokens@0.21 alpha_pattern arrow_config@0.21 auto_mapping base_model_name_or_path bias " +
      "corda_config@0.17 ensure_weight_tying@0.21 eva_config@0.17 exclude_modules@0.17 fan_in_fan_out " +
      "inference_mode init_lora_weights kasa_config@0.21 layer_replication@0.13 layers_pattern layers_to_transform " +
      "loftq_config lora_alpha lora_bias@0.17 lora_dropout lora_ga_config@0.21 megatron_config megatron_core " +
      "modules_to_save monteclora_config@0.21 peft_type peft_version@0.21 qalora_group_size@0.17 r rank_pattern " +
      "revision runtime_config@0.13 target_modules target_parameters@0.17 task_type trainable_token_indices@0.17 " +
      "use_bdlora@0.21 use_dora@0.13 use_qalora@0.17 use_rslora@0.13 velora_config@0.21",
  },
});
