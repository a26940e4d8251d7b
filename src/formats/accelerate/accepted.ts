/**
 * Every name the library takes at its first level, whether or not it touches memory: what is here is no misspelling.
 * Source: `accelerate/commands/config/config_args.py`; `python -m capture.facts.accepted_keys` writes this file.
 */
export const ACCEPTED: ReadonlySet<string> = new Set(
  (
    "additional_args base_job_name command_file commands compute_environment debug deepspeed_config distributed_type " +
    "downcast_bf16 dynamo_config ec2_instance_type enable_cpu_affinity fp8_config fsdp_config gpu_ids iam_role_name " +
    "image_uri machine_rank main_process_ip main_process_port main_training_function megatron_lm_config " +
    "mixed_precision mpirun_config num_machines num_processes parallelism_config profile py_version pytorch_version " +
    "rdzv_backend region sagemaker_inputs_file sagemaker_metrics_file same_network tpu_env tpu_name tpu_use_cluster " +
    "tpu_use_sudo tpu_vm tpu_zone transformers_version use_cpu"
  ).split(" "),
);
