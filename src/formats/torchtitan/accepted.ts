/**
 * Every name the library takes in any block, whether or not it touches memory: what is here is no misspelling.
 * Source: `torchtitan/config`, `torchtitan/components` of 0.1 to 0.3; `python -m capture.facts.accepted_keys` writes this file.
 */
export const ACCEPTED: ReadonlySet<string> = new Set(
  (
    "accumulated_grad accumulation_steps activation_checkpoint all_params all_timesteps alpha args async_mode attr " +
    "autoencoder_path autop_force_bf16 backend base base_folder base_sharding batch_invariant batch_size beta1 beta2 " +
    "checkpoint checkpoint_config checkpoint_id chunk_grad claims classifer_free_guidance_prob " +
    "classifier_free_guidance_prob classifier_free_guidance_scale clip_encoder collate_fn color comm " +
    "comms_bucket_reorder_strategy compile compile_config components config config_cls config_dict config_file " +
    "config_path config_root context_parallel_degree context_parallel_load_balancer context_parallel_ptrr_mask_key " +
    "context_parallel_rotate_method converters create_seed_checkpoint curr_step current current_step custom " +
    "custom_args_module custom_config_module custom_import data data_loading_times data_parallel_replicate_degree " +
    "data_parallel_shard_degree dataloader dataset dataset_path debug debug_moe_force_load_balance decay_ratio " +
    "decay_steps decay_type denoising_steps description detect_anomaly determinism_check deterministic " +
    "deterministic_warn_only device device_memory_monitor device_type disable_color_printing disable_cuda_graphs " +
    "disable_fake_mode disable_loss_parallel dp_degree dp_rank dp_world_size dtype dump_folder early_step_in_backward " +
    "early_stop emulate enable enable_async_tensor_parallel enable_checkpoint enable_classifer_free_guidance " +
    "enable_classifier_free_guidance enable_compiled_autograd enable_cpu_offload enable_first_step_checkpoint " +
    "enable_fsdp_float8_all_gather enable_fsdp_symm_mem enable_ft_dataloader_checkpoints enable_garbage_collection " +
    "enable_memory_snapshot enable_profiling enable_sequence_parallel enable_structured_logging enable_tensorboard " +
    "enable_wandb enabled encoder ensure_ascii entries eos_id eval eval_freq exact exclude_from_loading " +
    "expected_length experimental expert_parallel_comm_backend expert_parallel_degree expert_tensor_parallel_degree " +
    "export_dtype extra_metrics factory fault_tolerance filter_fqns flavor float8 folder force " +
    "force_recompute_fp8_weight_in_bwd fqns fragment_fn fragment_sync_delay fragment_update_alpha freq from_hf " +
    "from_quantized fsdp_enabled fsdp_reshard_after_forward ft_enable ft_manager ft_replica_id gc_debug gc_freq " +
    "global_avg_loss global_batch_size global_max_loss global_valid_tokens global_vocab_size gpu_peak_flops grad_norm " +
    "grad_output graph_passes group_size grouped_mm has_quantization hf_assets_path hf_transformers hidden_states " +
    "image_token img_size implementation imports indent inference init_timeout_seconds initial_load_in_hf " +
    "initial_load_in_hf_quantized initial_load_model_only initial_load_model_weights_only initial_load_path input " +
    "input_dict interval job_config joint_passes keep_latest_k kwargs labels labels_local last_save_in_hf " +
    "last_save_model_only last_save_model_weights_only last_step linear lm_head load_only load_step local_batch_size " +
    "log_dir log_freq logger logger_instance logits loss loss_fn lr_decay_type lr_lambda lr_min lr_scheduler " +
    "lr_scheduler_config lr_schedulers manager max_images_per_batch max_norm max_patches_per_image " +
    "max_t5_encoding_len maybe_enable_amp memory memory_budget memory_estimation memory_in_bytes mesh mesh_dim_names " +
    "mesh_shape messages metrics metrics_processor min_lr_factor min_replica_size mixed_precision_param " +
    "mixed_precision_reduce mode model model_args model_backend_override model_config model_only model_parts module " +
    "module_fqns_per_model_fragment module_fqns_per_model_part moe_force_load_balance mp_queue_send " +
    "mxfp8_dim1_cast_kernel_choice name ntokens_since_last_log num_chunks num_flops_per_token num_fragments " +
    "num_workers optimizer optimizer_cls optimizer_config optimizer_kwargs optimizers origin_module output " +
    "override_config packing_buffer_size pad_token parallel_dims parallelism param parent parent_cls passes " +
    "patch_size per_op_sac_force_recompute_mm_shapes_by_fqns persistent_workers pin_memory pipeline_parallel_degree " +
    "pipeline_parallel_expert_parallel_overlap pipeline_parallel_first_stage_less_layers " +
    "pipeline_parallel_last_stage_less_layers pipeline_parallel_layers_per_stage pipeline_parallel_microbatch_size " +
    "pipeline_parallel_schedule pipeline_parallel_schedule_csv pipeline_parallel_split_points pp_has_first_stage " +
    "pp_has_last_stage pp_schedule precompute_float8_dynamic_scale_for_fsdp pred pred_local prefetch_factor prefix " +
    "preserve_rng_state print_after_conversion print_args print_config process_group process_group_timeout_ms " +
    "profile_freq profiler_active profiler_warmup profiling prompts_path purge_queue purge_thread quantize rank " +
    "recipe_name recurse recv reduceOp reduction reference registry replica_id resolved return_entropy " +
    "save_config_file save_for_all_ranks save_img_count save_img_folder save_memory_snapshot_folder save_tb_folder " +
    "save_traces_file_prefix save_traces_folder schedulers sd_adapter seed selective_ac_option self semi_sync_method " +
    "send separators seq_dim seq_len should_quantize sort_keys source spatial_merge_size spmd_backend " +
    "spmd_typechecking stable_steps state state_dict states step steps sync_steps t5_encoder target target_cls " +
    "target_modules targets template tensor_parallel_degree test_mode time_last_log to_hf token token_config token_id " +
    "token_str tokenizer tokenizer_path tokens toml_values total_loss total_norm total_steps tp_group trace_buf_size " +
    "train_timeout_seconds training training_steps type_info unwrapped_loss_fn use_for_integration_test " +
    "use_fp8_dim1_cast_triton_kernel use_ft_optimizer validation validation_context validation_dataloader values " +
    "video_token vision_end_token vision_start_token visualize_memory_budget_pareto warmup_steps weight_decay"
  ).split(" "),
);
