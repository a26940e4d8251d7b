/**
 * Every name the library takes in any block, whether or not it touches memory: what is here is no misspelling.
 * Source: `litgpt/args.py`, the parameters of `litgpt/finetune`, `litgpt/pretrain.py` and `litgpt/data`; `python -m capture.facts.accepted_keys` writes this file.
 */
export const ACCEPTED: ReadonlySet<string> = new Set(
  (
    "access_token activation_checkpointing attention_logit_softcapping attention_scores_scalar attn_bias batch_size " +
    "bias block_size checkpoint_dir checkpoint_file checkpoint_name chunk_size config data data_dir data_path dataset " +
    "dataset_partition def_val device_mesh devices download_dir epochs eval evaluate_example fabric fast_dev_run " +
    "file_name file_path file_url filename filepath final_logit_softcapping final_validation first_k_dense_replace " +
    "gelu_approximate global_batch_size group head_size hf_config ignore_index include_multi_turn_conversations " +
    "include_multiturn_conversations index initial_checkpoint_dir initial_validation input_dir intermediate_size " +
    "interval item item_metadata json_path latent_attention learning_rate lm_head_bias log_interval log_model " +
    "logger_name lora_alpha lora_dropout lora_head lora_key lora_mlp lora_projection lora_query lora_r lora_value " +
    "lr_warmup_fraction lr_warmup_steps mask_prompt max_iters max_new_tokens max_norm max_seq_length max_steps " +
    "max_time max_tokens metadata micro_batch_size min_lr mlp_class_name mode model model_config model_name module " +
    "moe_intermediate_size n_embd n_expert n_expert_groups n_expert_per_token n_head n_layer n_query_groups " +
    "n_shared_expert n_topk_groups n_topk_scores_per_group name norm_1 norm_2 norm_class_name norm_eps norm_qk " +
    "norm_qk_type norm_topk_prob num_nodes num_workers optimizer out_dir output_dir pad_id padded_vocab_size " +
    "padding_multiple parallel_residual params path post_attention_norm post_mlp_norm precision project prompt_style " +
    "quantize repo_id required_length resume rope_adjustments rope_base rope_condense_ratio rope_indices " +
    "rope_interleave rope_local_base_freq rotary_percentage routed_scaling_factor samples save_interval save_logs " +
    "scale_embeddings scheduler seed self seq_length shared_attention_norm sliding_window_indices " +
    "sliding_window_layer_placing sliding_window_size split split_name split_names stage state stream subsets " +
    "teamspace test_dataset tie_embeddings tokenizer tokenizer_dir tokenizer_path train train_data_path " +
    "train_dataloader train_dataset transform use_initial_part use_starcoder val_data_path val_dataloader val_dataset " +
    "val_split_fraction verbose vocab_size warmup_iters warmup_steps"
  ).split(" "),
);
