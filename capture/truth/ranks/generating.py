"""
Text generated between steps, as TRL's trainers call `generate` on a sharded model (trl/trainer/grpo_trainer.py), or Seq2SeqTrainer
(transformers/trainer_seq2seq.py, prediction_step).
"""

import contextlib

from .. import phases


def generate(oracle, case, wrapped, ledger):
    """FSDP1's root is whole meanwhile (`summon_full_params` of trl/distributed.py), or everything; the model inside of it is what generates."""
    from torch.distributed.fsdp import FullyShardedDataParallel

    ledger.phase = "generation"
    flat = isinstance(wrapped, FullyShardedDataParallel)
    inner = wrapped.module if flat else wrapped
    if getattr(inner, "is_gradient_checkpointing", False):
        inner.gradient_checkpointing_disable()
    around = (
        FullyShardedDataParallel.summon_full_params(wrapped, recurse=case["generate"].get("summons") == "all")
        if flat
        else contextlib.nullcontext()
    )
    with around:
        phases.generate(oracle, case, inner)
