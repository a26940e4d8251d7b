/**
 * Every name the library takes in any block, whether or not it touches memory: what is here is no misspelling.
 * Source: `nanotron/config`; `python -m capture.facts.accepted_keys` writes this file.
 */
export const ACCEPTED: ReadonlySet<string> = new Set(
  (
    "accumulate_grad_in_fp32 activation_function adam_beta1 adam_beta2 adam_eps attention_softmax_in_fp32 attn_pdrop " +
    "batch_accumulation_per_replica batch_size benchmark_csv_path bos_token_id checkpoint_interval checkpoints " +
    "checkpoints_path checkpoints_path_is_shared_file_system clip_grad config_class config_dict config_path " +
    "consumed_train_samples custom_tasks data dataset dataset_loading_processes dataset_overwrite_cache " +
    "dataset_processing_num_proc_per_process ddp_bucket_cap_mb dtype embd_pdrop eos_token_id expert_parallel_size " +
    "file_path general generation global_attn_layers grouped_query hf_dataset_config_name hf_dataset_or_datasets " +
    "hf_dataset_splits hidden_act hidden_size hub_repo_details hub_repo_results hub_repo_tensorboard " +
    "ignore_sanity_checks init_method initializer_range intermediate_size is_llama_config is_starcoder2_config " +
    "iteration_step_info_interval layer_norm_epsilon learning_rate learning_rate_scheduler lighteval " +
    "limit_test_batches limit_val_batches local_output_path log_level log_level_replica logging " +
    "lr_decay_starting_step lr_decay_steps lr_decay_style lr_warmup_steps lr_warmup_style " +
    "make_vocab_size_divisible_by max_position_embeddings max_samples micro_batch_size min_decay_lr model " +
    "model_config model_config_class model_name multi_query multichoice_continuations_start_space n_samples " +
    "no_multichoice_continuations_start_space num_attention_heads num_fewshot_seeds num_hidden_layers " +
    "num_key_value_heads num_kv_heads num_loading_workers optimizer pad_token_id parallelism path pp_engine " +
    "pretraining_tp profiler profiler_export_path project push_details_to_hub push_results_to_hub " +
    "push_results_to_tensorboard resid_pdrop resume_checkpoint_path rms_norm_eps rope_scaling rope_theta sampler " +
    "save_initial_state scale_attention_softmax_in_fp32 scale_attn_weights seed self sequence_length skip_null_keys " +
    "skip_unused_config_keys sliding_window_size slurm_script_dir slurm_template step str_dtype str_pp_engine tasks " +
    "temperature tensorboard_metric_prefix text_column_name tie_word_embeddings tokenizer tokenizer_max_length " +
    "tokenizer_name_or_path tokenizer_revision tokens top_k top_p torch_adam_is_fused tp_linear_async_communication " +
    "tp_mode train_steps use_cache use_position_embeddings use_rotary_embeddings val_check_interval vocab_size wandb " +
    "wandb_entity wandb_project wandb_run_name weight_decay zero_stage"
  ).split(" "),
);
