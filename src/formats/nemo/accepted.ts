/**
 * Every name the library takes in any block, whether or not it touches memory: what is here is no misspelling.
 * Source: the `conf` folders of `examples/nlp` and `examples/tts`, and `nemo/core/config` of NeMo, the configs of megatron-core and Megatron-Bridge; `python -m capture.facts.accepted_keys` writes this file.
 */
export const ACCEPTED: ReadonlySet<string> = new Set(
  (
    "QED_cls a2a_experimental accelerator account_for_embedding_in_pipeline_split account_for_loss_in_pipeline_split " +
    "accumulate_grad_batches accumulate_into_main_grad activation activation_func activation_func_clamp_value " +
    "activation_func_fp8_input_store activations_checkpoint_granularity activations_checkpoint_layers_per_pipeline " +
    "activations_checkpoint_method activations_checkpoint_num_layers activations_checkpoint_recurrent " +
    "active_world_size adam_beta1 adam_beta2 adam_eps adapter adapter_dim adapter_dropout adapter_module_name " +
    "adapter_name adapter_state_dict_name adapter_strategy adapter_tuning add_BOS add_bias_linear add_blank_at " +
    "add_bos add_bos_to_input add_eos add_eos_to_input add_fim add_lm_head add_pooler add_position_embedding " +
    "add_qkv_bias add_sep additional_ft_launcher_args affine_model aggregate algorithm align_grad_reduce " +
    "align_param_gather align_query_enc_type alignment_encoder alignment_module all_probs alpha always_save_nemo " +
    "amsgrad answer_only_loss ap_pred_log_f0 ap_use_unvoiced_bias ap_use_voiced_embeddings apex_transformer_log_level " +
    "apostrophe apply_embedding_scaling apply_query_key_layer_scaling apply_residual_connection_post_layernorm " +
    "apply_rope_fusion apply_wd_to_qk_layernorm arch arch_hparams args assistant async_save " +
    "async_tensor_model_parallel_allreduce att_context_size attention_backend attention_dim attention_dropout " +
    "attention_location_kernel_size attention_location_n_filters attention_output_gate attention_probs_dropout_prob " +
    "attention_rnn_dim attention_softmax_in_fp32 attention_type attn_layer_dropout attn_logit_softcapping " +
    "attn_score_dropout attr attr_name attributes aug_loss_type augment_ctc augment_sim_alpha auto_insert_metric_name " +
    "autocast_dtype average average_in_collective awq_block_size barebones barrier barrier_timeout " +
    "barrier_with_L1_time base_linear_is_parallel base_linear_name base_lr base_model base_momentum base_weight batch " +
    "batch_idx batch_invariant_mode batch_p2p_comm batch_p2p_sync batch_sampler batch_size batch_size_content " +
    "batch_size_sv benchmark bert_binary_head beta1 beta_fast beta_slow betas bf16 bias bias_activation_fusion " +
    "bias_dropout_add_fusion bias_dropout_fusion bin_loss_start_ratio bin_loss_warmup_epochs binarization_start_iter " +
    "bos_token bottleneck_dim bottleneck_hparams boundaries bucket_cap_mb bucket_size buffer_size c_kl c_mel " +
    "cache_mla_latents cache_pitch_augment cache_support calc_ft_timeouts calc_individual_gpu_perf " +
    "calc_relative_gpu_perf calculate_per_token_loss calculate_timeouts calib_dataset callbacks canonical_mapping " +
    "ceil_to_power_2 centered cfg_passthrough cga_size chars chat chat_prompt_tokens chatbot_config " +
    "check_aligner_adapter check_decoder_adapter check_duration_predictor_adapter check_encoder_adapter check_finite " +
    "check_for_large_grads check_for_nan_in_grad check_for_nan_in_loss check_for_spiky_loss check_on_train_epoch_end " +
    "check_pitch_predictor_adapter check_tolerance check_val_every_n_epoch " +
    "check_weight_hash_across_dp_replicas_interval checkpoint checkpoint_callback_params checkpoint_dir " +
    "checkpoint_name checkpoint_path checkpoint_paths choices chunk_size chunk_size_MB ckpt_assume_constant_structure " +
    "ckpt_convert_format ckpt_convert_save ckpt_format ckpt_path ckpt_step class_labels clean clearml_kwargs " +
    "clearml_logger_kwargs clip_grad clip_threshold clone_scatter_output_in_embedding cls_name cls_token cnn_filters " +
    "collate_fn column_init_method combined_loss combo_service comm_overlap common_inference_params " +
    "completion_timeout compress compute_attention_mask compute_logprob concat_sampling_probabilities " +
    "concat_sampling_technique concat_sampling_temperature cond_on_lm_embeddings condition_types config config_file " +
    "config_logger_dir config_name config_obj config_path consistency_loss_weight constant_ratio constant_steps " +
    "content_emb_indim content_emb_outdim content_embed_size context context_key context_lstm_norm " +
    "context_lstm_w_f0_and_energy context_parallel_size contiguous_grad_buffer conv_kernel_size conv_norm_type " +
    "cooldown cp_comm_type cpu_offload cpu_offloading cpu_offloading_activations cpu_offloading_double_buffering " +
    "cpu_offloading_num_layers cpu_offloading_weights create_checkpoint_callback create_clearml_logger " +
    "create_dllogger_logger create_early_stopping_callback create_fault_tolerance_callback " +
    "create_ipl_epoch_stopper_callback create_mlflow_logger create_neptune_logger create_preemption_callback " +
    "create_straggler_detection_callback create_tensorboard_logger create_wandb_logger cross_entropy_fusion_impl " +
    "cross_entropy_loss_fusion ctc_loss_weight cuda_graph_impl cuda_graph_retain_backward_graph cuda_graph_scope " +
    "cuda_graph_use_single_mempool cuda_graph_warmup_steps cycle cycle_momentum d_embed d_head d_inner d_model " +
    "dampening data data_cache_generation_only data_fetcher data_file data_impl data_parallel_random_init " +
    "data_parallel_sharding_strategy data_prefix data_sharding dataloader_idx dataloader_params dataloader_type " +
    "dataset dataset_kwargs dataset_root dataset_type deallocate_pipeline_outputs dec_cross_attention dec_num_layers " +
    "decay decay_rate decoder decoder_out decoder_rnn_dim decoder_type decoder_use_partial_padding " +
    "decoder_use_unvoiced_bias decoupled_lr decoupled_min_lr decoupled_weight_decay decrease_batch_size_if_needed " +
    "default default_root_dir defaults defer_embedding_wgrad_compute delay_wgrad_compute delete_mask_prob delimiter " +
    "delta_model description destination detect_anomaly deterministic deterministic_mode device devices dim dir " +
    "dirpath disable_bf16_reduced_precision_matmul disable_jit_fuser disable_parameter_transpose_cache " +
    "disable_sequence_parallel_comm disable_straggler_on_startup disable_symmetric_registration " +
    "disable_tensor_parallel_comm disable_validation_on_resume discriminator discriminator_opt dist " +
    "dist_ckpt_assume_constant_structure dist_ckpt_format dist_ckpt_load_on_device dist_ckpt_load_strictness " +
    "dist_ckpt_optim_fully_reshardable dist_ckpt_parallel_dist_opt dist_ckpt_parallel_load dist_ckpt_parallel_save " +
    "dist_ckpt_parallel_save_within_dp dist_ckpt_strictness dist_ckpt_torch_dist_multiproc " +
    "distrib_optim_fully_reshardable_mem_efficient distribute_saved_activations distributed_backend " +
    "distributed_timeout_minutes distributed_timeout_seconds_after_init dither divergence_threshold dllogger_kwargs " +
    "dllogger_logger_kwargs do_constant_folding do_layer_norm_weight_decay do_test do_training do_validation " +
    "downstream_heads drop_last drop_layers dropatt dropemb dropout dropout_att dropout_emb dropout_position " +
    "dsa_indexer_head_dim dsa_indexer_loss_coeff dsa_indexer_n_heads dsa_indexer_topk dsa_indexer_use_sparse_loss " +
    "dtype dummy_speaker_embedding dump_debug_info dump_debug_info_to_file dur_loss_weight dur_model_config duration " +
    "duration_predictor durs_loss_scale early_stopping early_stopping_callback_params emb_dim embedding_dim " +
    "embedding_dropout embedding_init_method embedding_init_method_std empty_cuda_cache empty_unused_memory_level " +
    "enable enable_async_checkpointing enable_autocast enable_checkpointing enable_cuda_graph enable_ft_package " +
    "enable_kv_cache enable_logging enable_megatron_core_experimental enable_megatron_timers enable_model_summary " +
    "enable_progress_bar enable_stop enable_straggler_on_startup enabled enc_cross_attention enc_num_layers " +
    "enc_output_name encoder encoder_embedding_dim encoder_kernel_size encoder_n_convolutions encoder_seq_length " +
    "end_of_name end_of_turn end_step end_strings end_weight_decay energy_embedding_kernel_size energy_loss_weight " +
    "energy_model_config energy_predictor entity eod eod_mask_loss eos_token ep_overlap_early_attn_memory_release eps " +
    "error_injection_rate error_injection_type etas eval_interval eval_iters eval_languages every_n_epochs " +
    "every_n_steps every_n_train_steps exact_pad exchange_indices_distributed exclude_modules exit_duration_in_mins " +
    "exit_interval exit_on_missing_checkpoint exit_signal exit_signal_handler exit_signal_handler_for_dataloader " +
    "exp_avg_dtype exp_avg_sq_dtype exp_dir exp_log_dir exp_manager expansion_factor experimental_attention_variant " +
    "expert_model_parallel_size expert_tensor_parallel_size explicit_log_dir export export_dir export_options " +
    "external_cuda_graph external_gpu_device_mapping extra_tokens extreme_masked_lm_prob extreme_max_ngram_size " +
    "extreme_mean_ngram_size extreme_min_ngram_size extreme_ngram_span_length_distribution f0_loss_weight " +
    "f0_model_config factor fast_decay_pct fast_dev_run fault_tolerance favor_longer_ngrams fc1_dgrad fc1_fprop " +
    "fc1_wgrad fc2_dgrad fc2_fprop feat_in feat_out feature_dim feature_dirs features ff_expansion_factor ffn_dropout " +
    "ffn_hidden_size file_name file_names file_path filename filepath files_to_copy filter_channels filter_size " +
    "filter_warnings fim fim_extra_tokens fim_fragment_rate fim_no_prefix fim_rate fim_split_sample fim_spm_rate " +
    "final_logit_softcapping finalize_model_grads_func fine_grained_activation_offloading finetune finetune_layers " +
    "first_last_layers_bf16 fixed_gaussian flash_decode flush_logs_every_n_steps fmap_max fmax fp16 " +
    "fp16_lm_cross_entropy fp32_residual_connection fp4_param fp4_quantizer_factory fp4_recipe fp8 " +
    "fp8_amax_compute_algo fp8_amax_history_len fp8_dot_product_attention fp8_e4m3 fp8_hybrid fp8_interval fp8_margin " +
    "fp8_multi_head_attention fp8_param fp8_param_gather fp8_quantizer_factory fp8_recipe fp8_wgrad fragment_rate " +
    "frame_splicing freeze_language_model freeze_vision_model freeze_vision_projection freq_masks freq_width " +
    "frequent_query fsdp fsdp_double_buffer fsdp_grad_reduce_dtype fsdp_manual_registration fsdp_sharded_checkpoint " +
    "fsdp_sharding_strategy fsdp_use_orig_params ft_neighbours fully_parallel_load fully_parallel_save func " +
    "fused_single_qkv_rope g2p gamma gate_threshold gated_linear_unit gc_interval gen_shape generator generator_opt " +
    "geometric_dist get_attention_mask_from_fusion gin_channels global_batch_size global_cfg global_sample_mapping " +
    "glu_linear_offset gpt_model_file gpu_individual_perf_threshold gpu_relative_perf_threshold " +
    "grad_allreduce_chunk_size_mb grad_averaging grad_div_ar_fusion grad_output grad_reduce_in_fp32 grad_scale_func " +
    "grad_sync_dtype grad_sync_func gradient_accumulation_fusion gradient_as_bucket_view gradient_clip_algorithm " +
    "gradient_clip_val gradient_penalty_loss_every_n_steps gradient_penalty_loss_weight gradient_reduce_div_fusion " +
    "granularity greedy gru_hidden gst_module gst_size handlers hard_timeout head headscale heartbeat_interval " +
    "heartbeat_timeout hetereogenous_dist_checkpoint heterogeneous_block_specs heteronyms heteronyms_path hidden_act " +
    "hidden_channels hidden_dropout hidden_dropout_prob hidden_size hidden_states hidden_steps " +
    "hierarchical_context_parallel_sizes hifi_ckpt_path high_priority_stream_groups highfreq hold_ratio hold_steps " +
    "hop_length hparams hparams_file hybrid_context_parallel hybrid_override_pattern hydra hyena hysteresis " +
    "ia3_tuning ignore_ambiguous_words ignore_file ignore_layers in_channels in_dim in_features include_layers " +
    "include_modules index_mapping_dir inference inference_batch_size inference_batch_times_seq_len_threshold " +
    "inference_fuse_tp_communication inference_mode inference_pipeline_parallel inference_rng_tracker " +
    "inference_sampling_seed inference_tensor_parallel init_from_pretrained_model init_from_ptl_ckpt init_method " +
    "init_method_std init_model_with_meta_device init_std init_training_step initial_accumulator_value " +
    "initial_loss_scale initial_rank_heartbeat_timeout initializer_range inner_size inprocess_restart input_ " +
    "input_case input_fft input_is_parallel input_name input_size int_values inter_channels intermediate_size " +
    "interval ipl_epoch_stopper_callback_params is_expert is_hybrid_model iterations_to_skip iters_per_checkpoint " +
    "job_logging kd_teacher_restore_from_path keep_fp8_transpose_cache keep_vars kernel_size kernel_sizes key " +
    "kitchen_attention_backend kl_loss_start_iter knn_index kv_channels kv_lora_rank l2_lambda label_key " +
    "label_smoothing label_start labels labels_are_strings lang language_model last_call_wait last_epoch latent_dim " +
    "layer_selection layernorm_epsilon layernorm_zero_centered_gamma lazy_init leaf_only learn_alignment " +
    "learn_alignments learn_modulation learn_pos_emb_z learn_positional_encodings library limit_predict_batches " +
    "limit_test_batches limit_train_batches limit_val_batches linear_attention_freq linear_conv_kernel_dim linear_in " +
    "linear_key_head_dim linear_num_key_heads linear_num_value_heads linear_out linear_value_head_dim lm_checkpoint " +
    "lm_model load load_from_checkpoint load_main_params_from_ckpt load_optim load_rng local_rank log logP_cls " +
    "log_delta_step_timing log_dir log_energy log_every_n_steps log_interval log_l2_norm_grad_to_tensorboard " +
    "log_level log_loss_scale_to_tensorboard log_max_attention_logit log_memory_to_tensorboard log_mode " +
    "log_model_checkpoints log_num_zeros_in_grad log_params_norm log_progress log_rank_zero_only " +
    "log_runtime_to_tensorboard log_softmax log_step log_step_timing log_straggler log_tflops_per_sec_per_gpu " +
    "log_throughput log_throughput_to_tensorboard log_timers_to_tensorboard log_tokens_per_sec " +
    "log_validation_ppl_to_tensorboard log_world_size_to_tensorboard log_zero_guard_type log_zero_guard_value logger " +
    "logger_name logging_level logits_soft_cap lookup_module lora_A_init_method lora_B_init_method lora_dtype " +
    "lora_tuning loss loss_scale loss_scale_window loss_weight loss_weights lowfreq lr lr_decay lr_decay_iters " +
    "lr_decay_samples lr_decay_steps lr_decay_style lr_warmup_fraction lr_warmup_init lr_warmup_iters " +
    "lr_warmup_samples lr_warmup_steps lr_wsd_decay_iters lr_wsd_decay_samples lr_wsd_decay_style " +
    "lstm_applicable_steps luc_eps luc_trust mag_power main_grads_dtype main_params_dtype " +
    "make_vocab_size_divisible_by mamba_dim_info mamba_head_dim mamba_model_file mamba_num_groups mamba_num_heads " +
    "mamba_ssm_ngroups mamba_state_dim manifest_content_fp manifest_filepath manifest_speaker_verification_fp " +
    "manual_gc manual_gc_eval manual_gc_interval mapping_file mapping_file_path mask_future mask_patches mask_prob " +
    "mask_token mask_unvoiced_f0 masked_lm_prob masked_softmax_fusion matrix_decomposition max max_batch_size " +
    "max_context_length max_decoder_steps max_duration max_duration_content max_epochs max_iterations max_lr " +
    "max_momentum max_ngram_size max_position_embeddings max_predictions_per_seq max_rank_faults max_rank_restarts " +
    "max_read_concurrency max_seq_length max_seqlen_per_dp_cp_rank max_sequence_length max_src_seq_length max_steps " +
    "max_subsequent_job_failures max_tgt_seq_length max_time max_time_per_run max_token_duration max_train_samples " +
    "max_write_concurrency mcore_bert mcore_class mcore_customization_config mcore_gpt mcore_t5 mean_ngram_size " +
    "mean_scale megatron_amp_O2 megatron_legacy megatron_lm_compatible megatron_timer_kwargs mel_encoder_n_hidden " +
    "mel_fmax mel_fmin mel_loss_scale memmap_workers memory_efficient_layer_norm memory_keys memory_snapshot_path " +
    "merge_file message metadata method metric micro_batch_size microbatch_group_size_per_vp_stage middle mim min " +
    "min_delta min_duration min_duration_content min_epochs min_kl_value min_logvar min_loss_scale min_lr " +
    "min_offloaded_tensor_size min_seq_length min_steps min_tokens_to_generate mixed_precision mixed_prob " +
    "mlflow_experiment mlflow_kwargs mlflow_logger_kwargs mlflow_run_name mlflow_tags mlflow_tracking_uri " +
    "mlp_chunks_for_prefill mlp_width mmap_bin_files mode model modelConfig model_cfg model_config model_name " +
    "model_parallel_config model_parallel_size model_type modulate module module_dict module_list modules_to_filter " +
    "moe_apply_probs_on_input moe_aux_loss_coeff moe_deepep_num_sms moe_dropout moe_enable_deepep " +
    "moe_enable_routing_replay moe_expert_capacity_factor moe_extended_tp moe_ffn_hidden_size " +
    "moe_flex_dispatcher_backend moe_frequency moe_grouped_gemm moe_hybridep_num_sms moe_input_jitter_eps " +
    "moe_latent_size moe_layer_freq moe_layer_recompute moe_pad_expert_input_to_capacity moe_per_layer_logging " +
    "moe_permute_fusion moe_router_bias_update_rate moe_router_dtype moe_router_enable_expert_bias " +
    "moe_router_force_load_balancing moe_router_fusion moe_router_group_topk moe_router_load_balancing_type " +
    "moe_router_num_groups moe_router_padding_for_fp8 moe_router_padding_for_quantization moe_router_pre_softmax " +
    "moe_router_score_function moe_router_topk moe_router_topk_limited_devices moe_router_topk_scaling_factor " +
    "moe_shared_expert_gate moe_shared_expert_intermediate_size moe_shared_expert_overlap moe_token_dispatcher_type " +
    "moe_token_drop_policy moe_token_dropping moe_use_legacy_grouped_gemm moe_z_loss_coeff momentum monitor " +
    "monitor_process_interval monitor_process_logdir monitor_thread_interval most_recent_k mrope_section mscale " +
    "mscale_all_dim mtp_loss_scaling_factor mtp_num_layers mtp_standalone mult multi_latent_attention " +
    "multiprocessing_context muon_extra_scale_factor muon_fp32_matmul_prec muon_momentum muon_num_ns_steps " +
    "muon_scale_mode muon_split_qkv muon_tp_mode muon_use_nesterov n_att_channels n_aug_dims n_bands n_channels " +
    "n_components n_conv_layers_per_step n_datasets n_early_every n_early_size n_energy_avg_dims n_f0_dims n_fft " +
    "n_flows n_frames_per_step n_group n_group_size n_head n_heads n_hidden n_layer n_layers n_lm_tokens_channels " +
    "n_mel_channels n_mels n_segments n_speaker_dim n_speakers n_stride n_style_attn_head n_style_token n_text " +
    "n_text_channels n_text_dim n_window_size n_window_stride n_wn_channels n_wn_layers name names namespace " +
    "native_amp_growth_interval native_amp_init_scale nccl_communicator_config_path nccl_ub neighbors nemo_path " +
    "neptune_kwargs neptune_logger_kwargs nesterov network_capacity new_decoder_architecture nfilt " +
    "ngram_span_length_distribution no_prefix no_rope_freq no_seqlen_plus_one_input_tokens no_sync_func " +
    "no_weight_decay_cond_type noise_to_pvoiced noise_to_unvoiced_in_f0 non_linearity non_persistent_ckpt_type " +
    "non_persistent_global_ckpt_dir non_persistent_local_ckpt_algo non_persistent_local_ckpt_dir " +
    "non_persistent_save_interval norm norm_position norm_type normalization normalize normalize_attention_scores " +
    "normalized nsys_profile num_attention_heads num_calib_size num_classes num_dataset_builder_threads " +
    "num_distributed_optimizer_instances num_gpu_perf_scores_to_log num_gpu_perf_scores_to_print num_heads " +
    "num_hidden_layers num_inner_mlps num_layers num_layers_at_end_in_bf16 num_layers_at_start_in_bf16 " +
    "num_layers_in_first_pipeline_stage num_layers_in_last_pipeline_stage " +
    "num_micro_batches_with_partial_activation_checkpoints num_microbatches_with_partial_activation_checkpoints " +
    "num_moe_experts num_nodes num_query_groups num_replicas num_samples num_sanity_val_steps " +
    "num_self_attention_per_cross_attention num_sentinel_tokens num_seq_classification_layers num_sm num_speakers " +
    "num_splits num_tok_classification_layers num_token_types num_tokens num_workers num_workers_content " +
    "num_workers_sv nvrx_straggler nvtx_ranges offload_modules only_mlm_loss onnx_model_file onnx_opset onnx_safe " +
    "openai_gelu optim optim_backbone optim_downstream optimizer optimizer_config optimizer_config_override_provider " +
    "optimizer_cpu_offload optimizer_offload_fraction optimizer_params order orig_linear " +
    "original_max_position_embeddings out_channels out_dim out_features outer_dp_sharding_strategy outfile_path " +
    "output_fft output_file_path_prefix output_layer_init_method outputs overfit_batches " +
    "overlap_cpu_optimizer_d2h_h2d overlap_grad_reduce overlap_grad_sync overlap_moe_expert_parallel_comm " +
    "overlap_p2p_comm overlap_p2p_comm_warmup_flush overlap_param_gather overlap_param_gather_with_optimizer_step " +
    "overlap_param_sync override_opt_param_scheduler override_vocab_size p_attention_dropout p_decoder_dropout " +
    "p_dropout p_tuning packed_sequence_specs pad pad_buckets_for_high_nccl_busbw pad_len pad_multiple " +
    "pad_samples_to_global_batch_size pad_to pad_to_max_length pad_token pad_tokens pad_value pad_with_space padding " +
    "padding_idx parallel_attention param param_name param_sync_func params params_dtype params_to_save password " +
    "patch_size patience pattern peft peft_recompute_patched peft_scheme perform_initialization permutation " +
    "persist_layer_norm persistent_workers phoneme_dict phoneme_dict_path phoneme_probability pin_cpu_grads " +
    "pin_cpu_params pin_memory pipeline_dtype pipeline_model_parallel_comm_backend pipeline_model_parallel_layout " +
    "pipeline_model_parallel_size pipeline_model_parallel_split_rank pitch_augment pitch_conditioning pitch_emb " +
    "pitch_embedding_kernel_size pitch_fmax pitch_fmin pitch_loss_scale pitch_mean pitch_norm pitch_normalization " +
    "pitch_predictor pitch_std pl_module plugins port pos_emb_max_len position_embedding_strategy " +
    "position_embedding_type post_process postfix postnet postnet_embedding_dim postnet_kernel_size " +
    "postnet_n_convolutions power pre_ln pre_process precision precomputed_embedding_dim pred_file_path predicate " +
    "prediction_file_path_prefix preemph prefix prefix_lm_pivot_mean prenet_dim prenet_p_dropout preproc_out_dir " +
    "preprocessor preserve_fp32_weights pretrained pretrained_checkpoint pretrained_model_name pretrained_model_path " +
    "profile_ranks profile_step_end profile_step_start profiler profiling profiling_interval " +
    "progress_watchdog_interval proj_dgrad proj_fprop project prompt prompt_template prompts prompts_jsonl prune " +
    "punct punct_post_process punct_pre_process q_lora_rank q_z_given_x qa_file_path qk_clip qk_clip_alpha " +
    "qk_clip_threshold qk_head_dim qk_l2_norm qk_layernorm qk_pos_emb_head_dim qkv_bias qkv_dgrad qkv_fprop qkv_wgrad " +
    "quant_recipe quantization query query_pre_attn_scalar rampup_batch_size rank_heartbeat_timeout " +
    "rank_termination_signal ranks rate recompute_granularity recompute_method recompute_modules recompute_num_layers " +
    "record_memory_history record_shapes recurse reduce_amax reduce_on_plateau reduce_scatter_with_fp32_accumulation " +
    "reduction reduction_factor reduction_norm reference_audio_type reference_encoder relative_attention_max_distance " +
    "relative_attention_num_buckets relative_position_bias_self_attention_only relative_step " +
    "reload_dataloaders_every_n_epochs remove_ckpt remove_nemo repetition_penalty replace_bos_with_pad " +
    "replace_sampler_ddp replication replication_factor replication_jump report_time_interval rerun_mode " +
    "rerun_state_machine resblock resblock_dilation_sizes resblock_kernel_sizes reset_attention_mask reset_lr " +
    "reset_lr_steps reset_position_ids respect_document_boundaries restore_from_ckpt restore_from_ckpt_name " +
    "restore_from_hparams_path restore_from_path restore_path resume resume_from_checkpoint resume_if_exists " +
    "resume_ignore_no_checkpoint resume_past_end retrieval_prefix retrieval_service retro retro_block_size " +
    "retro_chunk_length retro_data retro_encoder_attention_dropout retro_encoder_hidden_dropout " +
    "retro_encoder_num_layers retro_gpt_retrieved_length retro_inference retro_model_file retro_neighbor_dirs " +
    "retro_num_neighbors retro_num_retrieved_chunks retro_project_dir retro_split_preprocessing " +
    "retro_verify_neighbor_count return_log_probs reuse_grad_buf_for_mxfp8_param_ag reuse_top root rope_type " +
    "rotary_base rotary_interleaved rotary_percent rotary_percentage rotary_scaling_factor row_init_method run " +
    "runtime_check runtime_time_unit s3_checkpointing safety_factor sample_output sample_rate sampler save " +
    "save_best_model save_config_filepath save_interval save_last save_last_n_optim_states save_nemo_on_train_end " +
    "save_nemo_on_validation_end save_on_train_epoch_end save_optim save_path save_rng save_tokenizer_assets " +
    "save_top_k save_weights_only scale_mode scale_parameter scale_positional_embedding scaling_fn sched sched_cfg " +
    "scheduler scheduler_config scheduler_params schema seconds_to_sleep seed segment_max_duration segment_size " +
    "segment_speaker_embedding selective_tuning self self_attention_model self_attention_module sentencepiece_legacy " +
    "sep sep_token separate_prompt_and_response_with_newline seq_len_interpolation_factor seq_length seq_length_dec " +
    "sequence_parallel server service_ip service_port set_level_for_all_loggers set_sm_margin sgd_momentum shape_file " +
    "sharded_offsets share share_decoder_tokens_head_embeddings share_embeddings_and_output_weights " +
    "share_token_embeddings sharp sharp_enabled_group shift short_filter_order short_seq_prob shuffle " +
    "shuffle_documents sigma silence simulate_fault simulated_fault simulated_fault_base_delay simulated_fault_rank " +
    "simulated_fault_type sine_freq skip_getting_attention_mask_from_dataset skip_train skip_warmup slow_decay_pct " +
    "soft_timeout softmax_scale softmax_type space speaker_conditioning_type speaker_emb_indim speaker_emb_outdim " +
    "speaker_embed_size speaker_encoder speaker_stats_pitch_fp spec_augment special_tokens spectrogram_max_value " +
    "spectrogram_min_value spiky_loss_factor split_sample splits_string spm_rate sq_alpha src_file_name " +
    "ssl_content_emb_type ssl_downsampling_factor ssl_model_ckpt_path start_from_zero start_step start_weight_decay " +
    "state_dict step_size step_size_down step_size_up step_sizes step_timing_kwargs stft_conv stochastic_depth " +
    "stop_every_n_epochs stop_gradient stop_if_detected stopping_threshold store_param_remainders store_retrieved " +
    "straggler straggler_ctrlr_port straggler_detection_params straggler_minmax_count strategy stresses strict " +
    "strict_fsdp_dtensor_load stride style_depth subsampling subsampling_conv_channels subsampling_factor suffix " +
    "suggested_communication_unit_size summary_writer_kwargs sup_data_dir sup_data_path sup_data_types " +
    "symbols_embedding_dim symmetric_ar_type sync_batch_comm sync_batchnorm sync_cuda synthesizer system " +
    "system_turn_start tags take_log_of_input target target_modules task_function task_name task_names te_rng_tracker " +
    "temperature tensor tensor_inspect tensor_model_parallel_size tensor_parallel_group tensor_parallel_mode " +
    "tensorboard_dir tensorboard_log_interval tensorboard_queue_size termination_grace_time test_ds test_mode " +
    "test_samples text_encoder_lstm_norm text_normalizer text_normalizer_call_kwargs text_tokenizer tgt_file_name " +
    "threshold threshold_mode throughput_window_size timeout timer_kwargs timers timing_log_level timing_log_option " +
    "to_add to_wrap tokenizer tokenizer_model tokenizer_name tokens_head_bias tokens_in_batch tokens_loss_weight " +
    "tokens_to_generate top_k top_p tp_comm_atomic_ag tp_comm_atomic_rs tp_comm_bootstrap_backend tp_comm_bulk_dgrad " +
    "tp_comm_bulk_wgrad tp_comm_overlap tp_comm_overlap_ag tp_comm_overlap_disable_fc1 tp_comm_overlap_disable_qkv " +
    "tp_comm_overlap_rs tp_comm_overlap_rs_dgrad tp_comm_split_ag tp_comm_split_rs tp_only_amax_red train " +
    "train_dataset train_ds train_iters train_samples train_sync_interval train_time_interval trainer trainerConfig " +
    "training training_sample_size transform transformed_modules transformer_block_type transformer_engine " +
    "transformer_impl trim truncation_field truncation_method trust_remote_code tunable_base_param_names turn_start " +
    "type type_vocab_size ub_tp_comm_overlap ub_tp_comm_overlap_cfg unfreeze_aligner unfreeze_duration_predictor " +
    "unfreeze_energy_predictor unfreeze_modules unfreeze_pitch_predictor unk_token untie_biases " +
    "unvoiced_bias_activation upsample_initial_channel upsample_kernel_sizes upsample_rates " +
    "use_beta_binomial_interpolator use_chars use_checkpoint_args use_checkpoint_opt_param_scheduler use_context_lstm " +
    "use_cpu_initialization use_custom_fsdp use_datetime_version use_decentralized_pg use_distributed_optimizer " +
    "use_distributed_sampler use_duration_predictor use_emha use_encoder use_fast use_feature_gating " +
    "use_first_order_features use_flash_attention use_fused_weighted_squared_relu use_gloo_process_groups use_grads " +
    "use_inference_optimized_layers use_kitchen use_kitchen_attention use_mamba_mem_eff_path use_megatron_fsdp " +
    "use_nsys_profiler use_persistent_ckpt_worker use_positional_embedding use_precision_aware_optimizer " +
    "use_predict_method use_pytorch_profiler use_query_proj use_ring_exchange_p2p use_scaled_init_method use_sharp " +
    "use_spectral_norm use_start_end_token use_stresses use_te_activation_func use_te_rng_tracker " +
    "use_text_conditional_priors use_torch_fsdp2 use_torch_optimizer_for_cpu_offload use_tp_pp_dp_mapping " +
    "use_transformer use_unique_tokens user username v_head_dim vae val_check_interval val_ds valid_samples " +
    "validate_original_weights validation_datasets validation_drop_last validation_ds validation_param_sync_overlap " +
    "value variable_seq_lengths variant verbose version virtual_pipeline_model_parallel_size virtual_tokens " +
    "vocab_file vocab_size vpred_loss_weight wandb_entity wandb_exp_name wandb_kwargs wandb_logger_kwargs " +
    "wandb_project wandb_save_dir warmup_init warmup_ratio warmup_steps waveglow wd_incr_steps web_port web_server " +
    "weight_decay weight_decay_incr_style weight_tying wgrad_deferral_limit what_to_train whole_word_masking " +
    "win_length window window_attn_skip_freq window_size window_stride with_name_predicate with_tensorboard " +
    "wn_kernel_size worker_init_fn workload_check_interval world_size wrapped_module write_predictions_to_file " +
    "wsd_decay_steps xscaling zero_out_context"
  ).split(" "),
);
