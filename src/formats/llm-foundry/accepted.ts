/**
 * Every name the library takes in any block, whether or not it touches memory: what is here is no misspelling.
 * Source: `llmfoundry/utils/config_utils.py`, the parameters of its models and data; `python -m capture.facts.accepted_keys` writes this file.
 */
export const ACCEPTED: ReadonlySet<string> = new Set(
  (
    "accumulate_train_batch_on_tokens act_ckpt_target act_fn activation_fn add_on additional_eval_metrics " +
    "additional_train_metrics algorithms alibi alibi_bias_max alibi_slopes allow_embedding_resizing " +
    "allow_pad_trimming allow_unsafe_types allowed_block_overrides allowed_dataset_keys allowed_keys alpha_f_cooldown " +
    "alpha_f_decay append_eos_token append_token args args_to_exclude_in_attn_class attention_bias attention_impl " +
    "attention_mask attention_mask_in_length attn_bias attn_config attn_impl attn_implementation attn_kwargs " +
    "attn_logit_softcapping attn_pdrop attn_temperature_tuning attn_uses_sequence_id attr attrs autoresume b_idx " +
    "base_collator base_url batch batch_metadata batch_size batching_method beam_idx beta1 beta2 betas bias " +
    "block_args block_overrides bos_text bos_token_id cache_limit callbacks causal cfg_dict cfg_split clip_qkv " +
    "closure code_paths collator compile_config completion config config_defaults config_overrides " +
    "console_log_interval cont_idxs contrastive_config conversation_through_previous_turn convert cuda_load_lazy " +
    "cutoff d_model data_paths data_replication_degree dataclass_constructor dataclass_fields dataloader_cfg dataset " +
    "dataset_batch_size dataset_cfg dataset_name decoder decoder_only decoder_only_format default_eval_metrics " +
    "default_train_metrics default_value delay_interval device device_batch_size device_eval_batch_size device_mesh " +
    "device_mesh_cfg device_microbatch_size device_train_batch_size device_train_grad_accum " +
    "device_train_microbatch_size dictionary dirpath dist_timeout div_is_residual download_retry download_timeout " +
    "drop_last dropout_p dtype elementwise_affine emb_init_std emb_init_uniform_lim emb_pdrop embedding_fraction " +
    "eos_text eos_token_id epoch_size eval_first eval_gauntlet eval_gauntlet_str eval_interval eval_loader " +
    "eval_loaders eval_subset_num_batches example example_turns examples existing_bins exp_avg expandable_segments " +
    "expansion_ratio expert_idx expert_parallel_group expert_weights fan_mode fc_kwargs fc_type ffn_act_fn ffn_config " +
    "ffn_has_norm ffn_hidden_size ffn_kwargs final_logit_softcapping flash_attn_padding_info flatten_metadata " +
    "from_beginning fsdp_config full func fused_parameters fused_qkv gather_in_batch_negatives get_device_mesh " +
    "get_fsdp_submesh global_batch_size global_train_batch_size grad group head_dim hf_dataset hf_kwargs hf_name " +
    "hf_version hidden hidden_size icl_seq_len icl_subset_num_batches icl_tasks icl_tasks_required icl_tasks_str " +
    "in_features include_buffers infonce_process_group_size init_config init_device init_div_is_residual init_fn " +
    "init_fn_ init_gain init_nonlinearity init_std initial_lr inner_collator input input_ids inputs_embeds is_causal " +
    "is_last_turn is_profiling is_train keep_zip key_padding_mask key_value_states kv_dim kv_n_heads kwargs labels " +
    "last_hidden_state learned_pos_emb load_ignore_keys load_in_8bit load_path load_strict_model_weights " +
    "load_weights_only local local_path log_config log_to_console logger loggers logit_scale loss_fn lr_penalty " +
    "mapping mapping_fn mask max_bin_size max_block_idx max_duration max_hard_negatives max_leftover_bins_to_keep " +
    "max_length max_ratio max_seq_len max_split_size_mb maybe_module mean mesh messages_through_current_turn metadata " +
    "metric min_ratio min_scale mlp_type mod_name model model_cfg model_cls model_modules_order_expanded models " +
    "module moe_jitter_eps moe_normalize_expert_weights moe_num_experts moe_top_k moe_world_size mpt_model must_exist " +
    "n_gpus n_heads n_layers n_rep name name_param needs_weights negative_responses new_embeddings no_bias no_wrap " +
    "nope norm_eps norm_type normalize_output normalized_shape num_bins num_canonical_nodes num_experts " +
    "num_key_tokens num_packing_ratios num_query_tokens num_samples num_times num_tokens num_workers om_model_config " +
    "only_composer_checkpoint only_hf_checkpoint optimizer optimizer_metrics order original_is_causal out_features " +
    "outlier_threshold output_attentions output_hidden_states outputs override_config overrides_definition " +
    "packed_examples packing_collator_cls packing_ratio pad_to_longest pad_token_id pad_value padding_side param " +
    "params parent partition_algo passages past_key_len past_key_value past_key_values path peft_config " +
    "peft_config_dict persistent persistent_workers pin_memory placements pos_id_within_seq pos_step_size " +
    "position_ids positive_response possible_names precision predownload prefetch_factor prepare_for_fsdp " +
    "prepend_passage prepend_query preprocessing_fn preprocessor pretrained pretrained_lora_id_or_path " +
    "pretrained_model_name_or_path prev_layer_key_value profiler progress_bar prompt python_log_level qk_gn qk_ln " +
    "queries query query_text queue ranks raw_batch_size remote remote_path replication resid_pdrop return_1d " +
    "return_dict reuse_kv_layer_idx reuse_kv_x_layer_idx reuse_state_layer_idx_dict reuse_type rope_dail_config " +
    "rope_hf_config rope_impl rope_theta rotary_emb_w_meta_info run_name safe_load sample sampling_granularity " +
    "sampling_method save_filename save_folder save_ignore_keys save_interval save_latest_filename " +
    "save_num_checkpoints_to_keep save_overwrite save_weights_only scheduler scores seed self seq_len sequence " +
    "sequence_id shift_labels should_repeat_kv_for_gqa should_save_peft_only shuffle shuffle_algo shuffle_block_size " +
    "shuffle_hard_negatives shuffle_seed sizes sliding_window_size softmax_scale source_dataset_path spin_dataloaders " +
    "split stack_dim state stream_config stream_name streams subselect_config_attr t_cooldown t_max t_scale t_warmup " +
    "target_batch_size target_blocks target_prompts target_responses temperature tensor text text_sample text_samples " +
    "text_target threshold tie_word_embeddings time timeout token_counting_func token_encoding_type tokenizer tokens " +
    "top_experts top_module tp_config train_loader train_subset_num_batches training transforms trimmed_examples " +
    "true_split trust_remote_code unembed uniform_expert_assignment use_auth_token use_cache use_flash_attention_2 " +
    "use_legacy_gradient_passthrough use_logits use_pad_tok_in_ffn use_sequence_id use_train_metrics v2_version " +
    "valid_dtypes validate validate_hash value variables vector_representation vocab_size weight_decay world_size " +
    "x_prev"
  ).split(" "),
);
