/**
 * Every name the library takes at its first level, whether or not it touches memory: what is here is no misspelling.
 * Source: `swift/arguments`, `swift/rlhf_trainers`, `swift/megatron/arguments` and TrainingArguments; `python -m capture.facts.accepted_keys` writes this file.
 */
export const ACCEPTED: ReadonlySet<string> = new Set(
  (
    "acc_strategy accelerator_config account_for_embedding_in_pipeline_split account_for_loss_in_pipeline_split " +
    "accumulate_allreduce_grads_in_fp32 adalora_beta1 adalora_beta2 adalora_deltaT adalora_init_r " +
    "adalora_orth_reg_weight adalora_target_r adalora_tfinal adalora_tinit adam_beta1 adam_beta2 adam_eps " +
    "adam_epsilon adapter_act adapter_length adapters add_non_thinking_prefix add_version advantage_estimator " +
    "advantage_reweight agent_template align_grad_reduce align_param_gather aligner_lr api_key " +
    "apply_dsa_kernel_fusion apply_query_key_layer_scaling apply_rope_fusion apply_wd_to_qk_layernorm async_generate " +
    "async_save attention_backend attention_softmax_in_fp32 attn_impl auto_find_batch_size " +
    "average_tokens_across_devices base_url batch_eval_metrics batch_p2p_comm beta bf16 bf16_full_eval " +
    "bias_activation_fusion bias_dropout_fusion bnb_4bit_compute_dtype bnb_4bit_quant_storage bnb_4bit_quant_type " +
    "bnb_4bit_use_double_quant boft_block_num boft_block_size boft_dropout boft_n_butterfly_factor bridge_backend " +
    "cache_files cached_dataset cached_val_dataset calculate_KL calculate_per_token_loss callbacks " +
    "center_rewards_coefficient check_model chord_enable_phi_function chord_mu_decay_steps chord_mu_peak " +
    "chord_mu_valley chord_mu_warmup_steps chord_sft_dataset chord_sft_per_device_train_batch_size clip_grad " +
    "cliprange cliprange_value columns commit_message completion_length_limit_scope context_manager " +
    "context_parallel_size cosine_max_len cosine_max_len_value_correct cosine_max_len_value_wrong " +
    "cosine_min_len_value_correct cosine_min_len_value_wrong cp_comm_type cp_partition_mode cpo_alpha " +
    "create_checkpoint_symlink cross_entropy_fusion_impl cross_entropy_loss_fusion csa_dense_mode custom_dataset_info " +
    "custom_register_path data_parallel_random_init data_parallel_sharding_strategy data_range data_seed " +
    "data_sharding dataloader_drop_last dataloader_in_order dataloader_multiprocessing_context dataloader_num_workers " +
    "dataloader_persistent_workers dataloader_pin_memory dataloader_prefetch_factor dataset dataset_num_proc " +
    "dataset_shuffle ddp_backend ddp_broadcast_buffers ddp_bucket_cap_mb ddp_find_unused_parameters ddp_static_graph " +
    "ddp_timeout debug decision_drop_instructions decision_shuffle_fields decision_state_as_text " +
    "decision_subsample_options decoder_first_pipeline_num_layers decoder_last_pipeline_num_layers deepspeed " +
    "deepspeed_autotp_size delta desirable_weight device_map disable_auto_column_mapping disable_ignore_empty_think " +
    "disable_tqdm discopop_tau dist_ckpt_optim_fully_reshardable dist_ckpt_save_pre_mcore_014 " +
    "distrib_optim_fully_reshardable_mem_efficient do_eval do_predict do_train download_mode " +
    "ds3_gather_for_generation dsa_indexer_loss_coeff dsa_indexer_use_sparse_loss dynamic_sample early_stop_interval " +
    "easy_query_threshold enable_channel_loss enable_dft_loss enable_flattened_weight_sync enable_jit_checkpoint " +
    "enable_npu_model_patch enable_thinking end_weight_decay engine_kwargs engram_tokenizer_map epsilon epsilon_high " +
    "eval_accumulation_steps eval_backend eval_dataset eval_dataset_args eval_delay eval_do_concat_batches " +
    "eval_generation_config eval_iters eval_limit eval_metric eval_num_proc eval_on_start eval_output_dir eval_steps " +
    "eval_strategy eval_url eval_use_evalscope eval_use_gather_object exist_ok exp_avg_dtype exp_avg_sq_dtype " +
    "expert_model_parallel_size expert_tensor_parallel_size experts_impl external_plugins extra_eval_args " +
    "f_divergence_type finetune fipo_clip_high_only fipo_clip_range fipo_decay_rate fipo_safety_threshold " +
    "fourier_n_frequency fourier_scaling fp16 fp16_full_eval fp4_format fp4_param_gather fp4_recipe " +
    "fp8_amax_compute_algo fp8_amax_history_len fp8_format fp8_param_gather fp8_recipe freeze_aligner freeze_llm " +
    "freeze_parameters freeze_parameters_ratio freeze_parameters_regex freeze_vit fsdp fsdp_config full_determinism " +
    "galore_cos_threshold galore_gamma_proj galore_optim_per_parameter galore_proj_bits galore_proj_group_size " +
    "galore_proj_quant galore_proj_type galore_quantization galore_queue_size galore_rank galore_scale " +
    "galore_target_modules galore_update_proj_gap galore_with_embedding gamma generation_batch_size generation_config " +
    "generation_max_length generation_num_beams gkd_logits_topk global_batch_size gradient_accumulation_fusion " +
    "gradient_accumulation_steps gradient_checkpointing gradient_checkpointing_kwargs greater_is_better " +
    "group_by_length group_size gym_env host hqq_axis hub_always_push hub_model_id hub_private_repo hub_revision " +
    "hub_strategy hub_token ignore_args_error ignore_data_skip importance_sampling_level include_for_metrics " +
    "include_num_input_tokens_seen infer_backend init_strategy init_weights interleave_prob is_binary_loss_scale " +
    "is_multimodal kl_coef kl_in_reward label_names label_smoothing label_smoothing_factor lam lang " +
    "language_model_only lazy_tokenize ld_alpha learning_rate length_column_name liger_kernel_config " +
    "linear_decoupled_in_proj lisa_activated_layers lisa_step_interval llamapro_num_groups llamapro_num_new_blocks " +
    "lmbda lmdeploy_cache_max_entry_count lmdeploy_quant_policy lmdeploy_session_len lmdeploy_tp " +
    "lmdeploy_vision_batch_size load_args load_best_model_at_end load_data_args load_from_cache_file local_dataset " +
    "local_rank local_repo_path local_rollout_forward_batch_size log_completions log_entropy log_interval log_level " +
    "log_level_replica log_on_each_node log_rollout_offpolicy_metrics logging_dir logging_first_step " +
    "logging_nan_inf_filter logging_steps logging_strategy logprobs lora_alpha lora_bias lora_dropout lora_dtype " +
    "lora_ga_batch_size lora_ga_direction lora_ga_iters lora_ga_max_length lora_ga_scale lora_ga_stable_gamma " +
    "lora_rank lorap_lr_ratio loss_scale loss_type loss_weights lr lr_decay_iters lr_decay_style lr_scheduler_kwargs " +
    "lr_scheduler_type lr_warmup_fraction lr_warmup_init lr_warmup_iters lr_wsd_decay_iters lr_wsd_decay_style " +
    "main_grads_dtype main_params_dtype manual_gc manual_gc_eval manual_gc_steps masked_softmax_fusion max_batch_size " +
    "max_completion_length max_epochs max_grad_norm max_length max_logprobs max_memory max_model_len max_new_tokens " +
    "max_pixels max_resample_times max_shard_size max_steps max_turns mcore_adapter mcore_model mcore_ref_adapter " +
    "mcore_ref_model megatron_extra_kwargs merge_lora metric metric_for_best_model mhc_recompute_layer_num " +
    "micro_batch_size microbatch_group_size_per_vp_stage min_lr min_p missing_eos_penalty mlp_padding_free model " +
    "model_author model_kwargs model_name model_revision model_type modules_to_save moe_aux_loss_coeff " +
    "moe_enable_deepep moe_expert_capacity_factor moe_grouped_gemm moe_layer_recompute " +
    "moe_pad_expert_input_to_capacity moe_permute_fusion moe_router_dtype moe_router_load_balancing_type " +
    "moe_shared_expert_overlap moe_token_dispatcher_type moe_token_drop_policy moe_z_loss_coeff move_model_batches " +
    "mrl_dims mtp_decoder_input_detach mtp_loss_scaling_factor mtp_num_layers mtp_shared_weights multi_turn_scheduler " +
    "muon_coefficient_type muon_extra_scale_factor muon_fp32_matmul_prec muon_lr muon_min_lr muon_momentum " +
    "muon_num_ns_steps muon_scalar_optimizer muon_scale_mode muon_split_qkv muon_tp_mode muon_use_nesterov " +
    "n_best_to_keep nccl_comm_warmup neftune_noise_alpha new_special_tokens no_load_optim no_load_rng no_save_optim " +
    "no_save_rng norm_bbox num_beams num_generations num_generations_eval num_iterations num_labels num_mini_batches " +
    "num_ppo_epochs num_return_sequences num_sample_generations num_sampling_batch_size num_sampling_batches " +
    "num_train_epochs off_policy_sequence_mask_delta offload_bridge offload_model offload_optimizer " +
    "offload_teacher_model optim optim_args optim_target_modules optimizer optimizer_cpu_offload optimizer_cuda_graph " +
    "optimizer_offload_fraction orm_model output_dir output_file overlap_grad_reduce overlap_p2p_comm " +
    "overlap_param_gather overlap_param_gather_with_optimizer_step overlong_filter override_exist_file owned_by " +
    "packing packing_length packing_num_proc packing_strategy padding_free padding_side parallelism_config " +
    "per_device_eval_batch_size per_device_train_batch_size perform_initialization pipeline_model_parallel_layout " +
    "pipeline_model_parallel_size port predict_with_generate prediction_loss_only preserve_thinking prm_model " +
    "prm_threshold problem_type project push_to_hub quant_batch_size quant_bits quant_method quant_n_samples real_tau " +
    "recompute_granularity recompute_method recompute_modules recompute_num_layers ref_adapter_name ref_adapters " +
    "ref_model ref_model_mixup_alpha ref_model_revision ref_model_sync_steps ref_model_type reference_free reft_args " +
    "reft_intervention_type reft_layer_key reft_layers reft_rank remove_unused_columns repetition_max_penalty " +
    "repetition_n_grams repetition_penalty report_to reranker_use_activation response_length response_prefix " +
    "restore_callback_states_from_checkpoint result_path resume resume_from_checkpoint resume_only_model " +
    "reward_adapters reward_funcs reward_model reward_model_plugin reward_model_revision reward_model_type " +
    "reward_template reward_weights rlhf_type rlsd_lambda rlsd_lambda_decay_steps rlsd_lambda_warmup_steps " +
    "rlsd_negative_only rlsd_reweight_clip_range rollout_importance_sampling_mode " +
    "rollout_importance_sampling_threshold rope_scaling router_aux_loss_coef router_replay_mode rpo_alpha run_name " +
    "safe_serialization sampler_engine sampler_type save_missing_weights save_on_each_node save_only_model " +
    "save_safetensors save_steps save_strategy save_total_limit scale_rewards sdar_gate_beta sdar_loss_coef seed " +
    "seq_kd sequence_packing_scheduler sequence_parallel sequence_parallel_size served_model_name server_name " +
    "server_port sft_alpha sgd_momentum sglang_context_length sglang_disable_cuda_graph " +
    "sglang_disable_custom_all_reduce sglang_dp_size sglang_enable_dp_attention sglang_enable_ep_moe sglang_ep_size " +
    "sglang_kv_cache_dtype sglang_mem_fraction_static sglang_pp_size sglang_quantization sglang_speculative_algorithm " +
    "sglang_speculative_eagle_topk sglang_speculative_num_draft_tokens sglang_speculative_num_steps sglang_tp_size " +
    "share shuffle_buffer_size simpo_gamma skip_megatron_init skip_memory_metrics sleep_level soft_cache_length " +
    "soft_max_length sortish_sampler split_dataset_ratio ssl_certfile ssl_keyfile start_weight_decay " +
    "steps_per_generation stop_words stopping_strategy stream streaming strict strict_fsdp_dtensor_load " +
    "structured_outputs_regex studio_title swanlab_email_language swanlab_exp_name swanlab_mode " +
    "swanlab_notification_method swanlab_project swanlab_receiver_email swanlab_secret swanlab_sender_email " +
    "swanlab_smtp_port swanlab_smtp_server swanlab_token swanlab_webhook_url swanlab_workspace sync_ref_model system " +
    "target_modules target_parameters target_regex task_type tau_neg tau_pos te_rng_tracker teacher_adapters " +
    "teacher_deepspeed teacher_kl_coef teacher_model teacher_model_revision teacher_model_server teacher_model_type " +
    "teacher_tag_key temperature template template_backend template_mode tensor_model_parallel_size tensorboard_dir " +
    "tensorboard_queue_size test_convert_dtype test_convert_precision tf32 thread_count to_cached_dataset to_hf " +
    "to_mcore to_ollama to_peft_format top_entropy_quantile top_k top_logprobs top_p torch_compile " +
    "torch_compile_backend torch_compile_mode torch_dtype torch_empty_cache_steps tp_comm_overlap trackio_bucket_id " +
    "trackio_space_id trackio_static_space_id train_dataloader_shuffle train_iters train_sampling_strategy " +
    "trainable_parameters trainable_parameters_regex truncation_strategy tuner_backend tuner_type undesirable_weight " +
    "use_cache use_chat_template use_cpu use_cpu_initialization use_distributed_optimizer use_dora use_flash_ckpt " +
    "use_fused_mhc use_galore use_gym_env use_hf use_liger_kernel use_logits_to_keep use_megatron_fsdp " +
    "use_persistent_ckpt_worker use_precision_aware_optimizer use_ray use_rslora use_swift_lora use_vllm val_dataset " +
    "val_dataset_sample val_dataset_shuffle vera_d_initial vera_dropout vera_projection_prng_key vera_rank verbose " +
    "vf_coef virtual_pipeline_model_parallel_size vit_attn_impl vit_gradient_checkpointing " +
    "vit_gradient_checkpointing_kwargs vit_lr vllm_data_parallel_size vllm_disable_cascade_attn " +
    "vllm_disable_custom_all_reduce vllm_enable_expert_parallel vllm_enable_lora vllm_enable_prefix_caching " +
    "vllm_enforce_eager vllm_engine_kwargs vllm_gpu_memory_utilization vllm_limit_mm_per_prompt vllm_max_lora_rank " +
    "vllm_max_model_len vllm_max_num_seqs vllm_mm_processor_cache_gb vllm_mode vllm_pipeline_parallel_size " +
    "vllm_quantization vllm_reasoning_parser vllm_server_base_url vllm_server_group_port vllm_server_host " +
    "vllm_server_pass_dataset vllm_server_port vllm_server_timeout vllm_speculative_config vllm_tensor_parallel_size " +
    "vllm_use_async_engine wandb_exp_name wandb_log_unique_prompts wandb_project warmup_ratio warmup_steps " +
    "weight_decay weight_decay_incr_style whiten_rewards write_batch_size zero_hpz_partition_size"
  ).split(" "),
);
