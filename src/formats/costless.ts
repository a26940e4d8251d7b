/**
 * Names that cost no GPU memory in a training step, whichever library has them: what is logged, where things are kept, how long a run is,
 * how steep its rates are. A format's own rows stand before these; a name that is in neither is said to be read by nobody.
 */

import { OTHER_TRAINING_ARGUMENTS } from "./hf-training-arguments/keys";
import { LAUNCHER_OPTIONS } from "./launchers/options";

/** Blocks of which every key is about something beside the step. */
const BLOCKS: ReadonlySet<string> = new Set(
  words(`
  _comment logging logger loggers metrics metric_logger profiler profiling global_profiler wandb tensorboard comet mlflow swanlab monitor_config
  csv_monitor comms_logger flops_profiler trace prometheus callbacks.speed_monitor lighteval slurm s3_upload otel
  checkpoints checkpointer ref_checkpointer teacher_checkpointer checkpoint hf_checkpoint checkpoint_engine save_contents
  scheduler schedulers lr_scheduler learning_rate_scheduler lr_schedule arg_mappings autotuning
  tokenizer special_tokens tokens_to_add dataset_mixer variables job general env env_vars integrations searchpath defaults
  val_kwargs sampling agent interaction multi_turn sandbox_fusion custom_async_server custom_reward_function nsys npu
  init_method rope_scaling comms_config tpu_env tool_config data_stages doremi policy_loss pf_ppo rollout_correction router_replay transfer_queue
  filter_groups kl_ctrl custom_cls datagen dataset_mixture ray_init
`),
);

/** Names by what they are about. */
const NAMES: ReadonlySet<string> = new Set([
  ...OTHER_TRAINING_ARGUMENTS,
  // The launcher's precision is a setting wherever it is read.
  ...[...LAUNCHER_OPTIONS].filter((name) => name !== "mixed_precision"),
  // How long, how often, how fast.
  ...words(`
    lr min_lr max_lr end_lr embedding_lr num_epochs epochs train_epochs total_epochs steps train_steps train_iters train_samples total_steps
    max_train_steps max_epochs max_iters max_duration warmup num_warmup_steps lr_scheduler weight_decay warmup_style warmup_iters num_cycles
    cosine_min_lr_ratio cosine_constant_lr_ratio lr_quadratic_warmup decay_ratio decay_type min_lr_factor t_warmup alpha_f betas beta beta1
    beta2 eps epsilon adam_eps adam_w_mode bias_correction nesterov momentum ns_steps wd rms_norm_eps norm_eps rms_norm_epsilon decoupled_lr
    decoupled_min_lr lr_multipliers loraplus_lr_ratio loraplus_lr_embedding mm_projector_lr init_std max_coeff min_coeff coeff_beta
    factor_max factor_min factor_threshold freeze_step var_freeze_step local_step_scaler min_lr_rate min_lr_ratio num_steps
    total_training_steps exit_duration_in_mins profile_step_start profile_step_end extra_save_iters checkpoint_factor
    keep_last_n_checkpoints save max_tokens clipping_type init_method_std output_layer_init_method adamw_betas initializer_range ppo_epochs
    num_ppo_epochs limit_val_batches limit_test_batches limit_train_batches
  `),
  // What is logged, watched and kept.
  ...words(`
    log_interval wandb_project wandb_entity wandb_name wandb_watch wandb_log_model wandb_run_id wandb_mode use_wandb with_tracking
    tracker_project_name project_name experiment_name plot_loss log_completions num_completions_to_print progress_bar console_log_interval
    log_to_console wall_clock_breakdown steps_per_print dump_state memory_breakdown verbose save_interval save_freq saves_per_epoch
    save_every_n_epochs save_folder save_num_checkpoints_to_keep save_adapter_weights_only metric_for_best_model resume
    resume_from_checkpoint resume_mode auto_resume_from_checkpoints load_weights_only hub_model_revision push_dataset_to_hub eval_strategy
    evaluation_strategy evaluation_steps eval_on_start evals_per_epoch eval_interval eval_iters eval_first eval_subset_num_batches
    val_check_interval val_before_train val_only do_eval do_test test_freq validation_steps early_stopping_patience early_stopping_threshold
    loss_watchdog_patience loss_watchdog_threshold checkpointing_steps load_best_model logger_name badam_verbose profile manual_gc
    ckpt_format dataloader_save export_device export_size export_legacy_format export_hf_on_finish checkpoint_validation_with_forward_pass
    use_otel_metrics use_legacy_worker_impl del_local_ckpt_after_load log_peak_memory_stats log_every_n_steps run_val_every_n_steps
    max_steps_per_epoch
  `),
  // What the samples are and how they are made ready on the host.
  ...words(`
    data dataset datasets dataset_split dataset_splits dataset_dir dataset_path dataset_text_field dataset_num_proc dataset_mixer
    dataset_mixture dataset_prepared_path dataset_train_split dataset_test_split dataset_kwargs dataset_batch_size
    dataset_exact_deduplication test_datasets pretraining_dataset train_dataset eval_dataset val_dataset test_file train_files val_files
    train_path valid_path test_path data_path data_cache_path data_impl split splits val_set_size val_size test_size max_eval_samples
    max_samples num_samples num_proc num_workers dataloader_num_workers num_dataloader_workers persistent_workers pin_memory prefetch_factor
    timeout drop_last shuffle shuffle_seed shuffle_merged_datasets streaming_multipack_buffer_size lazy_preprocess tokenized_path
    train_on_inputs mask_prompt mask_history ignore_index image_folder video_folder image_dir image_column caption_column
    group_by_modality_length min_sample_len filter_overlong_prompts filter_overlong_prompts_workers collate_fn return_raw_chat
    return_multi_modal_inputs return_raw_input_ids hf_dataset_or_datasets check_dataset_strategy split_dataset_ratio train_dataset_sample
    template_type prompt_style no_create_attention_mask_in_dataloader dataloader_type tokenizer_prompt_format image_aspect_ratio task
    partition max_samples_per_step validation_shuffle add_special_token attn_uses_sequence_id prompt_key response_key image_key video_key
    reward_fn_key input_key label_key question_key answer_key truncation truncation_side padding_side chat_template chat_template_format
    chat_template_jinja default_system_prompt template system eot_tokens add_bos_token add_eos_token append_concat_token add_special_tokens
    tokenizer_type tokenizer_legacy tokenizer_use_fast use_fast tokenizer_name tokenizer_name_or_path tokenizer_model tokenizer_path
    tokenizer_revision tokenizer_config tokenizer_save_jinja_files vocab_file merge_file tiktoken_pattern mock_data reset_position_ids
    reset_attention_mask eod_mask_loss language language_abbr allow_pad_trimming decoder_only_format hf_name remote local preprocessing_fn
    consumed_train_samples reward_model_path class_prompt instance_prompt validation_prompt num_class_images num_validation_images
  `),
  // Which weights and code, and who may fetch them.
  ...words(`
    trust_remote_code revision use_auth_token hf_use_auth_token hf_token hf_hub_token model_author pretrained pretrain_mm_mlp_adapter
    model_class tuner_backend infer_backend sample_backend allow_missing_vision_projection_checkpoint
    no_use_tokenizer_model_from_checkpoint_args use_mcore_models load_format config_name input_tokenizer external_lib external_plugins
    use_shm strict use_safetensors variant version name description model_name tokenizer_class processor_class _target_ _component_
    _convert_ class_path import_path custom_chat_template use_checkpoint_args finetune load load_lr_scheduler load_optimizer no_load_optim
    no_load_rng no_save_optim no_save_rng
  `),
  // How processes meet and answer.
  ...words(`
    random_seed deterministic main_process_ip main_process_port main_training_function machine_rank node_rank rdzv_backend rdzv_endpoint
    rdzv_conf rdzv_id same_network enable_cpu_affinity master_addr master_port dist_timeout nccl_timeout deterministic_mode
    enable_resource_pool scheduling_policy skip_tokenizer_init distributed_backend distributed_timeout_minutes hostfile launcher use_ray
    device tpu_name tpu_zone tpu_use_cluster tpu_use_sudo downcast_bf16 commands command command_file comm_backend_name cuda_aware
    communication_data_type seq_parallel_communication_data_type prescale_gradients gradient_predivide_factor
    ray_wait_register_center_timeout disable_log_stats disable_log_requests
  `),
  // How samples are scored and drawn: scalars of a loss, shapes of no tensor.
  ...words(`
    delta_t orth_reg_weight target_r tfinal tinit temperature top_p top_k min_p repetition_penalty do_sample ignore_eos reward_funcs
    reward_weights scale_rewards kl_coef kl_loss_coef kl_coeff kl_loss_type kl_penalty clip_ratio clip_ratio_low clip_ratio_high
    clip_ratio_c cliprange cliprange_value epsilon_high delta gamma lam gae_lambda advantage_estimator adv_estimator
    importance_sampling_level loss_agg_mode advantage_normalization norm_adv_by_std_in_grpo target_kl horizon critic_warmup tau tau_pos
    tau_neg pref_beta pref_ftx simpo_gamma cpo_alpha kto_desirable_weight kto_undesirable_weight orpo_alpha rpo_alpha desirable_weight
    undesirable_weight ld_alpha kd_ratio prior_loss_weight center_rewards_coefficient reward_manager router_aux_loss_coef moe_aux_loss_coeff
    moe_loss_weight loss_mode pref_loss_weight asft_alpha galore_scale apollo_scale pissa_convert num_diffusion_steps noise_schedule
    importance_weighting max_mask_ratio min_mask_ratio generate_samples classifier_free_guidance_prob classifier_free_guidance_scale
    denoising_steps num_generations_eval loss_scale_factor multi_objective_aggregation logprobs_mode task_type template_name conversation_template conv_style tool_format sanity_check use_auth eval_dataset_size do_mmlu_eval mmlu_split mmlu_dataset max_memory_MB orpo_beta opd_lambda opd_beta end_string llm_int8_threshold gamma_beta_ratio seq_kd reference_free lisa_interval_steps lisa_step_interval balance_batch dynamic_sample
    overlong_filter
  `),
]);

/** Endings of names that say where something lies, when it happens, or how it is weighed. */
const ENDINGS =
  /(?:_dir|_folder|_file|_files|_paths?|_url|_uri|_seed|_freq|_interval|_lr|_coef|_coeff|_eps|_epsilon|_port|_timeout|_patience|_prompt|_column|_field|_num_proc|_project|_entity|_run_name|_logdir|_token_id|_workers)$/;

const BEGINNINGS =
  /^(?:wandb|trackio|otel|swanlab|mlflow|comet|log|logging|tensorboard|hub|tpu|ray_|slurm|lr|adam|save|val|logits_to_)_/;

function words(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

/** A name as all libraries would write it: `--lr-decay-iters` and `LR_DECAY_ITERS` are `lr_decay_iters`. */
function plain(name: string): string {
  return name
    .replace(/^-{1,2}/, "")
    .replaceAll("-", "_")
    .toLowerCase();
}

/** Whether a key costs no GPU memory by its name alone; switches of one letter are a launcher's. */
export function costsNothing(path: string): boolean {
  const parts = path.split(".").map(plain);
  const name = parts.at(-1) ?? "";
  return (
    name.length === 1 ||
    NAMES.has(name) ||
    parts.some((part) => BLOCKS.has(part)) ||
    ENDINGS.test(name) ||
    BEGINNINGS.test(name)
  );
}
