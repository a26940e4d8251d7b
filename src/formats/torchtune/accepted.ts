/**
 * Every name the library takes in any block, whether or not it touches memory: what is here is no misspelling.
 * Source: `recipes/configs`, and the parameters of torchtune's components; `python -m capture.facts.accepted_keys` writes this file.
 */
export const ACCEPTED: ReadonlySet<string> = new Set(
  (
    "CLIP_TEXT GEMMA GEMMA2 LLAMA2 LLAMA3 LLAMA3_2 LLAMA3_VISION MISTRAL PHI3_MINI PHI4 QWEN2 REWARD T5_ENCODER " +
    "ac_mode ac_option activation activation_qat_config active_steps adapter_checkpoint adapter_only adapter_params " +
    "add_eos advantages alpha api_key append_cls_token apply_lora_to_mlp apply_lora_to_output attn_bias attn_dropout " +
    "attn_weights base_missing base_model_state_dict_keys base_unexpected batch_size beta capping_value ch_base ch_in " +
    "ch_mults ch_out ch_z checkpoint_dir checkpoint_files checkpoint_path checkpointer ckpt_dir clip_embed_dim " +
    "clip_grad_norm clip_hidden_states clip_num_layers cls_output_dim collate_fn column column_map compile config " +
    "conversation_column conversation_style cpu cpu_offload cuda current_pack custom_sharded_layers data data_files " +
    "dataloader dataloader_state_dict dataset datasets decoder_embed_dim decoder_lora decoder_trainable device " +
    "dropout dtype embed_dim enable_activation_checkpointing enable_activation_offloading enable_kv_cache enabled " +
    "encoder_lora encoder_max_seq_len encoder_trainable entity epoch epochs epochs_run epsilon experiment_key " +
    "experiment_name filename filename_format filter_fn final_capping_value force_override forward_batch_size fsdp " +
    "fsdp_cpu_offload full_model_state_dict_keys fused fusion_interval fusion_lora fusion_trainable gamma " +
    "gradient_accumulation_steps group groupsize has_adapter_checkpoint head_dim hidden_capping_value hidden_dim " +
    "ignore_index ignore_suffixes image image_dir image_size image_tag images_col in_channels in_dim index input_dir " +
    "intermediate_act intermediate_checkpoint intermediate_dim is_causal k_norm kd_loss kd_ratio kl_coeff " +
    "label_smoothing labels limit lmbda log_code log_dir log_every_n_steps log_level log_peak_memory_stats logits " +
    "lora_alpha lora_attn_modules lora_dropout lora_linear lora_missing lora_modules lora_rank lora_state_dict_keys " +
    "lora_unexpected lora_weight loss low_cpu_ram lr lr_scheduler max_file_size_mb max_filename max_generated_tokens " +
    "max_new_tokens max_num_tiles max_packs max_seq_len max_seq_length max_steps_per_epoch memory_efficient_fsdp_wrap " +
    "merges_file merges_path message_transform metric metric_logger min_response_length missing_ok mlp_dim mmap mode " +
    "model model_named_parameters model_transform model_type n_layers_per_resample_block name new_system_prompt " +
    "norm_embeddings norm_eps normalize num_classes num_cycles num_heads num_hidden_inputs num_kv_heads num_layers " +
    "num_layers_projection num_output_chunks num_special_tokens num_steps num_warmup_steps num_workers online " +
    "optimizer optimizer_in_bwd organize_logs out_dim out_dir out_indices output_cls_projection output_dir pack " +
    "packed padding_idx padding_masks parallel_method parent_key patch_size path pattern payload penalise_no_eos " +
    "phi_old_values phi_values pi_logprobs pi_old_logprobs pin_memory policy_chosen_logps policy_model " +
    "policy_rejected_logps pos_embeddings ppo_batch_size ppo_epochs prefetch_factor process_group prof profile_memory " +
    "profiler project prompt prompt_template q_norm quantize_base quantizer query_pre_attn_scalar rank " +
    "recipe_checkpoint record_shapes recurse ref_checkpointer ref_policy_checkpointer reference_chosen_logps " +
    "reference_rejected_logps rel_pos_max_dist rel_pos_num_buckets resolution resume_from_checkpoint returns " +
    "reward_and_value_model reward_checkpointer reward_penalty rope_base row_limit run_id run_name safe_serialization " +
    "sample save_adapter_weights_only save_async scale_factor seed self shift_factor should_load_recipe_state shuffle " +
    "sliding_window_size softcapping source special_tokens_path split split_across_pack state_dict step " +
    "stop_token_ids student_logits subset sym_kd_ratio system tags tasks teacher_checkpointer teacher_logits " +
    "teacher_model temperature tensor_parallel_dim tensor_parallel_plan text texts_col tie_word_embeddings tile_size " +
    "tokenizer top_k total_epochs tracking_uri train_on_input training_progress transform truncate use_bias use_dora " +
    "use_rope use_tile_pos_embed user value_checkpointer value_clip_range value_coeff value_padding_masks vocab_path " +
    "vocab_size wait_steps warmup_steps weight weight_decay weight_qat_config weights_only whiten_rewards with_flops " +
    "with_stack workspace"
  ).split(" "),
);
