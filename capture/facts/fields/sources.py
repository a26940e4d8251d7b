"""Where libraries state the fields of each format."""

import re

#: Of each format: its library with the package in it, its files, and the classes whose fields stand in one config, by the name of
#: the trainer that they are of; what a field is, the first class that has it says. `block.=Class`: the class of a block's keys.
SOURCES = {
    "hf-training-arguments": (
        ("transformers", "transformers"),
        ["training_args.py", "training_args_seq2seq.py"],
        {"": "TrainingArguments", "seq2seq": "Seq2SeqTrainingArguments"},
    ),
    "trl": (
        ("trl", "trl"),
        ["trainer/**/*_config.py", "experimental/**/*_config.py"],
        {
            "": "ModelConfig",
            "sft": "SFTConfig",
            "dpo": "DPOConfig",
            "grpo": "GRPOConfig",
            "kto": "KTOConfig",
            "orpo": "ORPOConfig",
            "cpo": "CPOConfig",
            "reward": "RewardConfig",
            "rloo": "RLOOConfig",
            "gkd": "GKDConfig",
            "ppo": "PPOConfig",
            "online-dpo": "OnlineDPOConfig",
            "xpo": "XPOConfig",
            "nash-md": "NashMDConfig",
        },
    ),
    "llama-factory": (
        ("llamafactory", "llamafactory"),
        ["hparams/*.py"],
        {"": "ModelArguments DataArguments FinetuningArguments TrainingArguments GeneratingArguments"},
    ),
    "ms-swift": (
        ("ms_swift", "swift"),
        ["arguments/**/*.py", "rlhf_trainers/args_mixin.py", "trainers/arguments.py"],
        {"": "SftArguments RLHFArguments TrainArgumentsMixin"},
    ),
    "deepspeed": (
        ("deepspeed", "deepspeed"),
        ["runtime/zero/config.py", "runtime/zero/offload_config.py", "runtime/precision_config.py"],
        {
            "": "zero_optimization.=DeepSpeedZeroConfig zero_optimization.offload_param.=DeepSpeedZeroOffloadParamConfig "
            "zero_optimization.offload_optimizer.=DeepSpeedZeroOffloadOptimizerConfig fp16.=DeepSpeedFP16Config bf16.=DeepSpeedBF16Config",
        },
    ),
    "torchtitan": (
        ("torchtitan", "torchtitan"),
        ["config/job_config.py", "config_manager.py"],
        {
            "": "model.=Model training.=Training parallelism.=Parallelism "
            "activation_checkpoint.=ActivationCheckpoint optimizer.=Optimizer compile.=Compile "
            "quantize.linear.float8.=Float8Linear"
        },
    ),
    "axolotl": (
        ("axolotl", "axolotl"),
        ["utils/schemas/*.py"],
        {"": "AxolotlInputConfig"},
    ),
    "accelerate": (
        ("accelerate", "accelerate"),
        ["commands/config/config_args.py"],
        {
            "": "ClusterConfig deepspeed_config.=commands/launch.py::deepspeed_args fsdp_config.=commands/launch.py::fsdp_args "
            "megatron_lm_config.=commands/launch.py::megatron_lm_args parallelism_config.=commands/launch.py::parallelism_config_args",
        },
    ),
    "verl": (
        ("verl", "verl"),
        ["workers/config/*.py", "trainer/config/*.py", "base_config.py"],
        {
            "": "trainer/config/_generated_ppo_trainer.yaml trainer/config/ppo_trainer.yaml trainer/config/_generated_ppo_megatron_trainer.yaml "
            "trainer/config/ppo_megatron_trainer.yaml",
            "sft": "trainer/config/sft_trainer.yaml",
        },
    ),
    "lightning": (
        ("litgpt", "litgpt"),
        ["args.py"],
        {
            "lora": "finetune/lora.py::setup",
            "full": "finetune/full.py::setup",
            "adapter": "finetune/adapter.py::setup",
            "pretrain": "pretrain.py::setup",
        },
    ),
    "megatron": (
        ("megatron_core", "megatron"),
        [
            "training/config/*.py",
            "core/transformer/transformer_config.py",
            "core/model_parallel_config.py",
            "core/optimizer/optimizer_config.py",
            "core/distributed/distributed_data_parallel_config.py",
        ],
        {
            "": " ".join(
                f"training/arguments.py::_add_{group}_args"
                for group in (
                    "network_size regularization training checkpointing mixed_precision distributed transformer_engine validation data vision moe mla "
                    "initialization experimental logging"
                ).split()
            )
            + " TrainingConfig ValidationConfig TransformerConfig ModelParallelConfig TokenizerConfig DistributedInitConfig CheckpointConfig "
            "RNGConfig SchedulerConfig LoggerConfig",
        },
    ),
    "nemo": (
        ("nemo_toolkit", "examples/nlp/language_modeling"),
        [],
        {"": "conf/megatron_gpt_config.yaml tuning/conf/megatron_gpt_finetuning_config.yaml"},
    ),
    "peft": (
        ("peft", "peft"),
        ["config.py", "tuners/*/config.py", "tuners/lycoris_utils.py", "tuners/prompt_tuning/config.py"],
        {
            "": " ".join(
                f"{adapter}.={name}Config"
                for adapter, name in {
                    "lora": "Lora",
                    "ia3": "IA3",
                    "vera": "Vera",
                    "adalora": "AdaLora",
                    "loha": "LoHa",
                    "lokr": "LoKr",
                    "oft": "OFT",
                    "boft": "BOFT",
                    "hra": "HRA",
                    "miss": "Miss",
                    "road": "Road",
                    "fourierft": "FourierFT",
                    "randlora": "RandLora",
                    "prompt-tuning": "PromptTuning",
                    "p-tuning": "PromptEncoder",
                    "prefix-tuning": "PrefixTuning",
                    "trainable-tokens": "TrainableTokens",
                    "ln-tuning": "LNTuning",
                }.items()
            )
        },
    ),
}

#: Releases before which a trainer's class was another one altogether.
ANOTHER = {"GRPOConfig": (0, 18), "RLOOConfig": (0, 22), "OnlineDPOConfig": (0, 23)}

#: Libraries whose newest options are made of classes, some by names of their own: that a name is not found there does not say that it went.
RENAMED = {"megatron_core"}

#: Libraries whose documents people copy whole: what a copy lacks has not the value of the published one.
COPIED = {"nemo_toolkit"}

#: Blocks of nested configs in which no key changes memory.
UNUSED = re.compile(
    r"(^|\.)(profiler|global_profiler|checkpoint|qat|policy_loss|agent|multi_turn|prometheus|trace|engine_kwargs|val_kwargs|turbo_config|router_replay|"
    r"transfer_queue|custom|exp_manager|tokenizer|nsys_profile|reward_kwargs|image_key|sandbox_fusion|skip|server|ray_kwargs|ray_init|"
    r"custom_reward_function|reward_manager|curriculum|datagen|checkpoint_engine|optim\.sched|actor\.clip|inference)(\.|$)"
)
