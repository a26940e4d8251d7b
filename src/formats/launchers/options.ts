/**
 * Options of torchrun, `deepspeed` and `accelerate launch`, which stand before the script's own.
 * Source: `torch/distributed/run.py`, `deepspeed/launcher/runner.py`, `accelerate/commands/launch.py`.
 */
export const LAUNCHER_OPTIONS: ReadonlySet<string> = new Set(
  (
    "nnodes nproc_per_node node_rank rdzv_backend rdzv_endpoint rdzv_id rdzv_conf standalone max_restarts " +
    "monitor_interval start_method role module no_python run_path log_dir redirects tee local_ranks_filter node_rank " +
    "master_addr master_port local_addr logs_specs hostfile include exclude num_nodes min_elastic_nodes " +
    "max_elastic_nodes num_gpus no_ssh no_local_rank launcher launcher_args force_multi autotuning elastic_training " +
    "bind_cores_to_rank bind_core_list ssh_port config_file quiet cpu multi_gpu tpu ipex mixed_precision dynamo_backend " +
    "num_processes num_machines num_cpu_threads_per_process enable_cpu_affinity use_deepspeed use_fsdp use_megatron_lm " +
    "gpu_ids same_network machine_rank main_process_ip main_process_port debug"
  ).split(" "),
);
