"""Trained weights on their way to vLLM, as TRL's own `sync_weights` hands them over; what loads them on the other side does nothing."""

import types


def over(model, ledger, zero_stage=0, fsdp_version=None):
    """One synchronization, with the engine in the same process (trl/generation/vllm_generation.py)."""
    from trl.distributed import DistributedBackend
    from trl.generation.vllm_generation import VLLMGeneration

    told = object.__new__(DistributedBackend)
    told.zero_stage, told.fsdp_version = zero_stage, fsdp_version
    loader = types.SimpleNamespace(load_weights=lambda _: None)
    runner = types.SimpleNamespace(model=loader)
    executor = types.SimpleNamespace(driver_worker=types.SimpleNamespace(model_runner=runner))
    engine = types.SimpleNamespace(llm_engine=types.SimpleNamespace(model_executor=executor), reset_prefix_cache=lambda: None)
    generation = object.__new__(VLLMGeneration)
    generation.model, generation._dist, generation.llm = model, told, engine
    generation.accelerator = types.SimpleNamespace(device="cuda", is_main_process=True)
    generation.mode, generation.enable_sleep_mode = "colocate", False
    before, ledger.phase = ledger.phase, "handover"
    generation.sync_weights()
    ledger.phase = before
