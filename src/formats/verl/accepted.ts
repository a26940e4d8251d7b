/**
 * Every name the library takes in any block, whether or not it touches memory: what is here is no misspelling.
 * Source: `verl/trainer/config`, `verl/workers/config`; `python -m capture.facts.accepted_keys` writes this file.
 */
export const ACCEPTED: ReadonlySet<string> = new Set(
  (
    "MooncakeStore SimpleStorage a2a_experimental action activation_checkpoint activation_checkpointing " +
    "activation_gpu_limit activation_observer activation_offload_host_cache_limit_gb activation_offload_modules " +
    "active actor actor_rollout_ref adapter_path adaptive_switch_threshold adv_estimator agent agent_loop_config_path " +
    "agent_loop_manager_class algorithm all_ranks alpha analysis apply_chat_template_kwargs architectures " +
    "async_rollout async_save attention_backend attn attn_implementation attn_type audio_key auto_init " +
    "auto_select_engine_optim_fn backend backend_config balance_batch balance_dp_token basic_modules batch_size betas " +
    "bootstrap_port bridge bypass_mode calculate_entropy calculate_log_probs calculate_sum_pi_squared " +
    "causal_conv1d_implementation chat_template checkpoint checkpoint_callback_class checkpoint_config " +
    "checkpoint_engine checkpoint_manager_class chunk_gated_delta_rule_implementation chunked_topk_chunk_size " +
    "ckpt_manager class_name class_path clip_cov_lb clip_cov_ratio clip_cov_ub clip_grad clip_ratio clip_ratio_c " +
    "clip_ratio_high clip_ratio_low cliprange_value colocate_async completion_callback config config_path contents " +
    "context context_parallel_size controller_nsight_options cp_size cpu_offload critic critic_warmup " +
    "cross_entropy_loss_implementation cudagraph_capture_sizes custom custom_async_server custom_backend_module " +
    "custom_chat_template custom_cls custom_reward_function custom_sampler data data_loader_seed data_parallel_mode " +
    "data_parallel_replicate_size data_parallel_shard_size data_parallel_size data_source_key datagen " +
    "dataloader_num_workers decay_type decode_replicas decode_tensor_model_parallel_size default default_agent_loop " +
    "default_hdfs_dir default_local_dir defaults defer_fsdp_grad_sync del_local_ckpt_after_load detach_encoder device " +
    "device_name disable_log_stats disable_mm_preprocessor_cache disaggregation discrete dispatcher " +
    "dist_checkpointing_path dist_checkpointing_prefix dist_ckpt_optim_fully_reshardable distillation " +
    "distillation_loss distillation_loss_coef distrib_optim_fully_reshardable_mem_efficient distributed " +
    "distributed_strategy do_sample dp_replicate_size dro_beta dropout dropout_position dsa_attention_implementation " +
    "dsa_indexer_implementation dtype dump_dir dynamic_context_parallel enable enable_activation_offload " +
    "enable_async_activation_offload enable_chunked_prefill enable_compile enable_fp8 enable_fsdp_offload " +
    "enable_fsdp_optimizations enable_full_shard enable_gradient_checkpointing enable_hf_state_dict_adapter " +
    "enable_prefix_caching enable_reentrant enable_resource_pool enable_rollout enable_rollout_routing_replay " +
    "enable_sleep_mode enable_switch enable_thinking_default enable_thinking_key enable_train enabled enforce_eager " +
    "engine engine_config engine_kwargs entropy_checkpointing entropy_coeff entropy_from_logits_chunk_size " +
    "entropy_from_logits_with_chunking ep_size eps esi_redundant_time exclude_modules exp_avg_dtype exp_avg_sq_dtype " +
    "experiment_name expert_fully_shard_parallel_size expert_model_parallel_size expert_parallel_size " +
    "expert_tensor_parallel_size experts external_lib extra extra_context fake_balanced_gate fake_gate_noise file " +
    "filter_groups filter_overlong_prompts filter_overlong_prompts_workers finish_hook_all_ranks finish_hook_cmd " +
    "finish_hook_ranks force_use_huggingface format forward_max_token_len_per_gpu forward_micro_batch_size " +
    "forward_micro_batch_size_per_gpu forward_only forward_prefetch free_cache_engine freeze_language_model " +
    "freeze_moe_router freeze_vision_model freeze_vision_projection freeze_vision_tower fsdp fsdp_config " +
    "fsdp_implementation fsdp_plan fsdp_size full_determinism fully_shard_parallel_size function_tool_path " +
    "fused_kernel_options gamma gate_precision gate_proj_layer_name gdpo_reward_keys gdpo_reward_weights " +
    "gen_batch_size generation_config global_batch_info global_profiler global_segment_size global_tool_config " +
    "gpu_memory_utilization grad_clip grad_offload group_size hf_config hf_config_path horizon hybrid_engine " +
    "hybrid_rollout ib_device ignore_eos ignore_input_ids_mismatch ignore_patterns ignore_router_for_ac image_key " +
    "image_patch_size impl_backend infer_max_token_len_per_gpu infer_micro_batch_size_per_gpu inference init_device " +
    "init_lr_ratio input_tokenizer interaction_config_path is_threshold key kill kl_coef kl_cov_ratio kl_ctrl " +
    "kl_loss_coef kl_loss_type kl_penalty kw_args lam launch_reward_fn_async layer_name_map layered_summon level " +
    "limit_images linear lm_head_precision load_balancing_loss_implementation load_checkpoint_path load_contents " +
    "load_format load_tokenizer load_weight local_buffer_size local_hf_config_path local_hostname local_path " +
    "local_tokenizer_path log_prob_max_token_len_per_gpu log_prob_micro_batch_size log_prob_micro_batch_size_per_gpu " +
    "log_prob_min_clamp log_prob_use_dynamic_bsz log_val_generations logger logprobs_mode lora lora_A_init_method " +
    "lora_B_init_method lora_adapter_path lora_alpha lora_rank loss_agg_mode loss_max_clamp loss_mode " +
    "loss_scale_factor loss_settings loss_type lr lr_decay_ratio lr_decay_steps lr_decay_style lr_min lr_scheduler " +
    "lr_scheduler_type lr_start lr_warmup_init lr_warmup_steps lr_warmup_steps_ratio lr_wsd_decay_steps " +
    "lr_wsd_decay_style main_grads_dtype manual_save master_server_address master_weight_dtype master_weights " +
    "max_actor_ckpt_to_keep max_assistant_turns max_attempts max_ckpt_to_keep max_concurrent max_connections " +
    "max_critic_ckpt_to_keep max_inflight_gen_batches max_length max_model_len max_num_batched_tokens " +
    "max_num_gen_batches max_num_seqs max_off_policy_strategy max_off_policy_threshold max_parallel_calls " +
    "max_prompt_length max_response_length max_samples_per_step_per_worker max_seq_len max_seqlen_per_dp_cp_rank " +
    "max_start_wait_time max_token_len_per_gpu max_tool_response_length max_user_turns mbridge_config mbs_per_gpu " +
    "megatron memory_limit_mb memory_snapshot_num_steps merge messages_key metadata_server method metric metrics " +
    "mhc_implementation micro_batch_size micro_batch_size_per_gpu min_lr min_lr_factor min_lr_ratio min_num_params " +
    "mixed_precision mm_processor_kwargs mode model model_config model_dtype model_engine model_path model_type " +
    "module moe_config moe_implementation moe_load_balance_metrics_interval moe_tensor_parallel_size " +
    "mooncake_protocol mp_output_dtype mp_param_dtype mp_reduce_dtype mtp mtp_loss_scaling_factor multi_stage_wake_up " +
    "multi_turn multiturn muon_coefficient_type muon_extra_scale_factor muon_fp32_matmul_prec " +
    "muon_match_adamw_update_rms muon_momentum muon_nesterov muon_num_ns_steps muon_scalar_optimizer muon_scale_mode " +
    "muon_split_qkv muon_tp_mode n n_gpus n_gpus_per_node n_samples name nccl_timeout nnodes norm_adv_by_std_in_grpo " +
    "npu npu_profile nsys num_cpus num_cycles num_data_storage_units num_repeat_rollouts num_replicas num_shards " +
    "num_speculative_tokens num_to_backward_prefetch num_to_forward_prefetch num_warmup_batches num_workers " +
    "offload_params offload_policy optim optimizer optimizer_config optimizer_impl optimizer_offload options " +
    "output_dtype output_path over_sample_rate override_config override_ddp_config override_mcore_model_config " +
    "override_optimizer_config override_transformer_config pad_bshd_to_minibatch_max pad_mode pad_to_length " +
    "pad_to_length_bucket param_dtype param_offload parameter_sync_step parameters partial_pretrain path pf_ppo " +
    "pipeline_model_parallel_size pipeline_parallel_size policy_loss policy_loss_mode port pp_size ppo_epochs " +
    "ppo_infer_max_token_len_per_gpu ppo_infer_micro_batch_size_per_gpu ppo_kl_coef ppo_max_token_len_per_gpu " +
    "ppo_micro_batch_size ppo_micro_batch_size_per_gpu ppo_mini_batch_size precision_debugger prefill_replicas " +
    "prefill_tp processor profile profile_continuous_steps profile_interval profile_ranks profile_steps " +
    "profile_token_end profile_token_start profiler profiler_config project_name prometheus prompt_dict_keys " +
    "prompt_key prompt_length protocol provider py_executable qat qat_implementation qkv_layer_name quantization " +
    "quantization_config_file quantization_config_path rank ranks ray_init ray_kwargs " +
    "ray_wait_register_center_timeout re recompute_granularity recompute_method recompute_modules " +
    "recompute_num_layers record_file record_shapes reduce_dtype ref relocate_results repeat repetition_penalty " +
    "replay_file reshard_after_forward response_dict_keys response_key response_length resume_from_path resume_mode " +
    "resume_path retry_delay return_full_prompt return_multi_modal_inputs return_raw_chat return_raw_input_ids reward " +
    "reward_fn_key reward_loop_class_name reward_loop_module_path reward_loop_source reward_manager reward_model " +
    "reward_model_key reweight_method rms_norm rms_norm_gated_implementation rms_norm_implementation roles rollout " +
    "rollout_correction rollout_data_dir rollout_is rollout_is_batch_normalize rollout_is_threshold rollout_n " +
    "rollout_rs rollout_rs_threshold rollout_rs_threshold_lower rollout_token_veto_threshold rollout_tq rope_fusion " +
    "rotary_pos_emb_implementation router_config_path router_replay rs_threshold rs_threshold_lower runtime_env " +
    "sampler sampler_kwargs sandbox_fusion save_contents save_freq save_lora_only save_path schedule " +
    "scheduling_policy seed self separate_async sequence_parallel served_model_name server sglang sglang_engine_mode " +
    "shuffle skip skip_dump_dir skip_first skip_rollout skip_tokenizer_init source speculative_algorithm " +
    "speculative_eagle_topk speculative_num_draft_tokens speculative_num_steps spmd_backend stack_depth stacks stages " +
    "standalone_gpu_memory_utilization step_end step_start steps storage_backend store_param_remainders strategy " +
    "strict swap_space swiglu_mlp_implementation switch_cost_window_size switch_threshold_ratio " +
    "switch_threshold_release_steps switch_threshold_step_down switch_threshold_step_up sync " +
    "sync_refill_failed_groups target_kl target_modules target_parameters tau_neg tau_pos teacher_key teacher_model " +
    "teacher_models temperature tensor_model_parallel_size tensor_parallel_size test_freq threshold threshold_lower " +
    "tiled_mlp timeline_json_file timeout token2text tokenization_sanity_check_mode tokenizer tokenizer_path tool " +
    "tool_config tool_config_path tool_response_truncate_side tools_key top_k top_p topk torch torch_memory " +
    "torchtitan total_epochs total_storage_size total_training_steps tp_size trace trace_alloc_max_entries " +
    "train_batch_size train_files train_max_samples trainer trainer_mode transfer_backend transfer_queue trtllm " +
    "truncation trust_remote_code turbo_config type ulysses_parallel_size ulysses_sequence_parallel_size " +
    "update_weights_bucket_megabytes url use_checkpoint_opt_param_scheduler use_chunked_topk use_dist_checkpointing " +
    "use_distributed_optimizer use_dynamic_bsz use_fire_sampling use_fused_kernels use_inference_chat_template " +
    "use_kl_in_reward use_kl_loss use_layer_wise_distributed_optimizer use_layer_wise_param_layout " +
    "use_legacy_worker_impl use_liger use_mbridge use_megatron_fsdp use_no_sync_for_gradient_accumulation " +
    "use_orig_params use_pf_ppo use_policy_gradient use_precision_aware_optimizer use_prefix_grouper use_profile " +
    "use_remove_padding use_reward_loop use_rollout_log_probs use_shm use_task_rewards use_topk use_torch_compile " +
    "use_v1 v1 val_batch_size val_before_train val_files val_generations_to_log_to_wandb val_kwargs val_max_samples " +
    "val_only validation_data_dir validation_shuffle value vanilla_mbridge veomni veto_threshold video_key " +
    "virtual_pipeline_model_parallel_size vllm wait warmup warmup_steps_ratio warmup_style wd_incr_style weight_decay " +
    "weight_decay_incr_style weight_pow with_cpu with_memory with_module with_npu with_stack worker_nsight_options " +
    "wrap_outer_model wrap_policy zero_indexed_step"
  ).split(" "),
);
