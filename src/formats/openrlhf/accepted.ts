/**
 * Every name the library takes in any block, whether or not it touches memory: what is here is no misspelling.
 * Source: the options of `openrlhf/cli`; `python -m capture.facts.accepted_keys` writes this file.
 */
export const ACCEPTED: ReadonlySet<string> = new Set(
  (
    "actor actor_init_on_gpu actor_learning_rate actor_num_gpus_per_node actor_num_nodes adam adam_betas adam_offload " +
    "advantage advantage_estimator agent_func_path algo alpha apply_chat_template args async_enable async_queue_size " +
    "async_train attn_implementation aux_loss_coef batch_size best_metric_key best_of_n beta betas bf16 chosen_key " +
    "ckpt ckpt_path clip_range colocate_actor_ref colocate_all colocate_all_models colocate_critic_reward " +
    "compute_fp32_loss compute_fp32_loss_enable critic critic_learning_rate critic_num_gpus_per_node critic_num_nodes " +
    "critic_pretrain csft_prompt data dataloader_num_workers dataset dataset_probs dataset_split deepcompile " +
    "deepspeed_enable_sleep desirable_loss_weight device disable_ds disable_ds_ckpt disable_fast_tokenizer dropout " +
    "ds_tensor_parallel_size dual_clip dynamic_batch_enable dynamic_filtering dynamic_filtering_enable " +
    "dynamic_filtering_range dynamic_filtering_reward_range ema_beta enable_csft enable_ema enable_prefix_caching " +
    "enable_sleep enforce_eager entropy_coef entropy_loss_coef eos_token eps_clip eps_clip_low_high estimator eval " +
    "eval_dataset eval_n_samples_per_prompt eval_split eval_steps eval_task eval_temperature experts_implementation " +
    "flash_attn freeze_visual_encoder freezing_actor_steps freezing_steps full_determinism full_determinism_enable " +
    "gamma generate_max_len gpu_memory_utilization grad_accum_dtype gradient_checkpointing " +
    "gradient_checkpointing_enable gradient_checkpointing_reentrant gradient_checkpointing_use_reentrant " +
    "greedy_sampling group horizon host image_key init_coef init_kl_coef input_key input_template ipo_enable " +
    "is_correction_gating is_correction_level is_correction_mode is_correction_threshold is_rm iter kd_coef " +
    "kl_estimator kl_horizon kl_target label_key label_smoothing lambd learning_rate load_checkpoint load_enable " +
    "load_in_4bit local_rank logger logging_steps lora lora_alpha lora_dropout lora_path lora_rank loss loss_agg_mode " +
    "loss_type lr_scheduler lr_warmup_ratio margin_loss margin_loss_enable max_ckpt_mem max_ckpt_num max_epochs " +
    "max_images_per_prompt max_len max_mem max_new_tokens max_norm max_num max_num_seqs max_samples " +
    "max_tokens_per_gpu micro_batch_size micro_rollout_batch_size micro_train_batch_size min_lr_ratio model " +
    "model_name_or_path model_path momentum multiturn muon n_samples_per_prompt nesterov nll_loss_coef " +
    "no_advantage_std_norm no_nesterov no_std_norm normalize_enable normalize_reward ns_steps num_engines " +
    "num_episodes num_gpus_per_node num_nodes offload optim output_dir output_key output_path overlap_comm " +
    "overlong_buffer_len overlong_penalty_factor packing_samples pad_token param_dtype partial_rollout_enable path " +
    "perf placeholder_token policy_loss_type port post_processor pretrain pretrain_data pretrain_data_probs " +
    "pretrain_mode pretrain_mode_enable pretrain_split project prompt_data prompt_data_probs prompt_dataset " +
    "prompt_key prompt_max_len prompt_probs prompt_split prompts ptx_coef queries rank ref_num_gpus_per_node " +
    "ref_num_nodes ref_offload ref_pretrain ref_reward_offload rejected_key remote_rm_url remote_url " +
    "repetition_penalty request reward reward_clip_range reward_num_gpus_per_node reward_num_nodes reward_pretrain " +
    "reward_template reward_tokens rewards ring_attn_head_stride ring_attn_size ring_head_stride rollout " +
    "rollout_batch_size run_name save_hf save_hf_ckpt save_path save_steps save_value_network seed self split steps " +
    "stop_properly_penalty_coef sync_backend sync_with_ray ta_prompt target target_modules teacher_model " +
    "teacher_offload temperature tensor_parallel_size tensorboard_dir text texts tokenizer_chat_template top_p " +
    "tp_size train train_batch_size train_split unbiased_gradient undesirable_loss_weight use_ds_universal_ckpt " +
    "use_kl_estimator_k3 use_kl_loss use_liger_kernel use_loss use_ms use_tensorboard use_universal_ckpt use_wandb " +
    "value_clip value_head_prefix vllm vllm_enable_sleep vllm_generate_batch_size vllm_gpu_memory_utilization " +
    "vllm_num_engines vllm_sync_backend vllm_sync_with_ray vllm_tensor_parallel_size wandb wandb_group wandb_org " +
    "wandb_project wandb_run_name weight_decay zero_stage"
  ).split(" "),
);
