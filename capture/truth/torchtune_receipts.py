"""Makes receipts of torchtune's recipes: YAML configs drawn at random, each with the peak of the recipe's own steps.

usage: LD_PRELOAD=fakecuda.so PYTHONPATH=TORCHAO python -m capture.truth.torchtune_receipts --oracle ORACLE.py [--count 60] [--seed N] [--out FILE]

TORCHAO holds the torchao that torchtune 0.6.1 asks for (0.9). Models, adapters, losses and optimizers are made by the recipes' own
classes; the loop around them is `train` of `recipes/full_finetune_single_device.py` and `lora_finetune_single_device.py`, line by line,
on fake CUDA tensors whose storages the oracle follows.
"""

import gc
import importlib.util
import json
import pathlib

from .receipt_files import add, arguments

FILE = pathlib.Path(__file__).resolve().parent.parent.parent / "test" / "analysis" / "torchtune.jsonl"

MODELS = (
    "llama2.llama2_7b",
    "llama3.llama3_8b",
    "llama3_2.llama3_2_1b",
    "llama3_2.llama3_2_3b",
    "mistral.mistral_7b",
    "gemma.gemma_2b",
    "gemma.gemma_7b",
    "gemma2.gemma2_2b",
    "gemma2.gemma2_9b",
    "phi3.phi3_mini",
    "qwen2.qwen2_0_5b",
    "qwen2.qwen2_1_5b",
    "qwen2.qwen2_7b",
    "qwen2_5.qwen2_5_0_5b",
    "qwen2_5.qwen2_5_3b",
    "qwen2_5.qwen2_5_7b_base",
)
TIED = ("llama3_2", "gemma", "qwen2_0", "qwen2_1", "qwen2_5_0", "qwen2_5_3")

HEAD = """dataset:
  _component_: torchtune.datasets.alpaca_dataset
  packed: False
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  max_seq_len: {seq}
batch_size: {batch}
gradient_accumulation_steps: {accumulation}
clip_grad_norm: {clip}
compile: False
device: cuda
dtype: {dtype}
enable_activation_checkpointing: {checkpointing}
enable_activation_offloading: False
loss:
  _component_: {loss}
optimizer:
  _component_: {optimizer}
  lr: 3e-4
{more}model:
  _component_: torchtune.models.{model}
"""


COMPONENTS = ("llama2", "llama3", "llama3_1", "llama3_2", "mistral", "gemma", "gemma2", "phi3", "qwen2")


def dimensions(r, name):
    """Arguments of a component builder."""
    kv, groups, width = r.choice((1, 2, 4)), r.choice((1, 2, 3, 4)), r.choice((32, 48, 64, 96, 128))
    values = {
        "vocab_size": r.choice((5003, 17000, 32000, 50257, 100000)),
        "num_layers": r.randint(2, 6),
        "num_heads": kv * groups,
        "num_kv_heads": kv,
        "embed_dim": kv * groups * width,
        "max_seq_len": r.choice((2048, 4096, 8192, 32768)),
        "intermediate_dim": r.randint(2, 24) * 32 * r.choice((1, 2, 4)),
    }
    if name.startswith("gemma"):
        values["head_dim"] = r.choice((width, 64, 128))
    if name == "qwen2":
        values["tie_word_embeddings"] = r.choice((True, False))
    return "".join(f"  {k}: {v}\n" for k, v in values.items()), values.get("tie_word_embeddings", name in ("llama3_2", "gemma", "gemma2"))


def draw(r, kinds):
    """A config as text, and the sizes of its batches."""
    kind = r.choice(kinds)
    published = r.random() < 0.15
    module, name = r.choice(MODELS).split(".") if published else [r.choice(COMPONENTS)] * 2
    sizes, tied = ("", name.startswith(TIED) or module == "gemma2") if published else dimensions(r, name)
    lora = kind != "full"
    backward = kind == "full" and r.random() < 0.3
    more = ""
    if kind == "full":
        more = f"optimizer_in_bwd: {backward}\n"
    values = {
        "seq": r.choice((256, 333, 512, 777, 1024, 1536, 2048)),
        "batch": r.choice((1, 1, 2, 2, 3, 4)),
        "accumulation": 1 if backward else r.choice((1, 1, 2, 4)),
        "clip": "null" if backward else r.choice(("null", 1.0)),
        "dtype": r.choice(("bf16", "bf16", "bf16", "fp32")) if kind == "full" else "bf16",
        "checkpointing": r.choice((True, False)),
        "loss": r.choice(("torchtune.modules.loss.CEWithChunkedOutputLoss",) * 3 + ("torch.nn.CrossEntropyLoss",)),
        "optimizer": "torch.optim.AdamW" if lora or r.random() < 0.7 else "torch.optim.SGD",
        "more": more,
        "model": f"{module}.{'' if kind == 'full' else 'lora_' if kind == 'dora' or not published else kind + '_'}{name}",
    }
    text = HEAD.format(**values) + sizes
    if lora:
        modules = r.choice((["q_proj", "v_proj"], ["q_proj", "v_proj", "output_proj"], ["q_proj", "k_proj", "v_proj", "output_proj"]))
        text += f"  lora_attn_modules: {json.dumps(modules)}\n  apply_lora_to_mlp: {r.choice((True, False))}\n"
        if not tied:
            text += f"  apply_lora_to_output: {r.choice((True, False, False))}\n"
        text += f"  lora_rank: {r.choice((8, 16, 64))}\n  lora_alpha: 16\n  lora_dropout: {r.choice((0.0, 0.0, 0.05))}\n"
        if kind == "dora":
            text += "  use_dora: True\n"
        if kind == "qlora" and not published:
            text += "  quantize_base: True\n"
    return text


def recipes():
    """The classes of both recipes, with what reads the device or a checkpoint answered."""
    import torch
    import torchtune
    from torchtune import training
    from torchtune.models.llama3_1._position_embeddings import Llama3ScaledRoPE

    torch.cuda.get_device_name = lambda *_, **__: "NVIDIA H100"
    training.log_memory_stats, training.get_memory_stats = lambda *_, **__: None, lambda *_, **__: {}
    training.validate_expected_param_dtype = lambda *_, **__: None
    torch.nn.Module.load_state_dict = lambda *_, **__: ([], [])
    Llama3ScaledRoPE.apply_scaling = lambda self, freqs, *_, **__: freqs
    folder = pathlib.Path(torchtune.__file__).parent.parent / "recipes"

    def recipe(name):  # the folder is no package that can be imported
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}_finetune_single_device.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    full, lora = recipe("full"), recipe("lora")
    lora.validate_missing_and_unexpected_for_lora = lambda **_: None
    return full.FullFinetuneRecipeSingleDevice, lora.LoRAFinetuneRecipeSingleDevice


def followed(oracle):
    """The oracle's ledger without the storages that wrapper subclasses seem to have: NF4's weights are their parts."""
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass

    class Followed(oracle.Ledger):
        def see(self, tensor, operator):
            if not is_traceable_wrapper_subclass(tensor):
                super().see(tensor, operator)

    return Followed


def peak(oracle, text, classes):
    """Most bytes allocated in two steps of the recipe's loop, loading left out as the config's weights come from the host."""
    from omegaconf import OmegaConf
    from torchtune import config

    torch = oracle.torch
    cfg = OmegaConf.create(text)
    lora = "lora_attn_modules" in cfg.model
    recipe = classes[lora].__new__(classes[lora])
    recipe._device, recipe._dtype = torch.device("cuda"), {"bf16": torch.bfloat16, "fp32": torch.float32}[cfg.dtype]
    mode, ledger = oracle.FakeTensorMode(allow_non_fake_inputs=True), followed(oracle)()
    with mode, ledger:
        recipe._model = recipe._setup_model(
            cfg_model=cfg.model,
            enable_activation_checkpointing=cfg.enable_activation_checkpointing,
            enable_activation_offloading=False,
            compile_model=False,
            **({"base_model_state_dict": {}} if lora else {"model_state_dict": {}}),
        )
        recipe._model.train()
        gc.collect()
        ledger.phase = "optimizer-init"
        backward = cfg.get("optimizer_in_bwd", False)
        recipe._optimizer = recipe._setup_optimizer(cfg.optimizer, **({} if lora else {"optimizer_in_bwd": backward}))
        for optimizer in recipe._optim_ckpt_wrapper.optim_map.values() if backward else [recipe._optimizer]:
            for group in optimizer.param_groups:  # as on a card; fake tensors are not of the types that it looks for
                group["foreach"] = True
        recipe._loss_fn = config.instantiate(cfg.loss)
        if type(recipe._loss_fn).__name__ == "CEWithChunkedOutputLoss":
            recipe._model.set_num_output_chunks(recipe._loss_fn.num_output_chunks)
        size, length = cfg.batch_size, cfg.tokenizer.max_seq_len
        recipe.ignore_labels_cache = torch.full((size, 1), recipe._loss_fn.ignore_index, device="cuda")
        running_loss = num_tokens = 0
        for step in (1, 2):
            for _ in range(cfg.gradient_accumulation_steps):
                ledger.phase = f"forward{step}"
                batch = {name: torch.zeros(size, length, dtype=torch.long, device="cuda") for name in ("tokens", "labels")}
                current_num_tokens = (batch["labels"] != recipe._loss_fn.ignore_index).sum()
                num_tokens = num_tokens + current_num_tokens
                current_loss = recipe._loss_step(batch) * current_num_tokens
                running_loss = running_loss + current_loss
                ledger.phase = f"backward{step}"
                current_loss.backward()
            ledger.phase = f"step{step}"
            if not backward:
                scaler = 1 / num_tokens
                for p in recipe._model.parameters():  # training.scale_grads
                    if p.grad is not None:
                        p.grad *= scaler
                if cfg.clip_grad_norm is not None:
                    oracle.clip([p for p in recipe._model.parameters() if p.requires_grad], 1.0)
                recipe._optimizer.step()
                recipe._optimizer.zero_grad(set_to_none=True)
            running_loss = num_tokens = 0
    found = oracle.summarize(list(ledger.events), ledger.size, {})
    return found


def main():
    options = arguments(FILE)
    options.add_argument("--kinds", nargs="+", default=["full", "full", "lora", "lora", "dora", "qlora"])
    args, classes = options.parse_args(), recipes()
    add(args, lambda r: [draw(r, args.kinds)] * 2, lambda oracle, text: peak(oracle, text, classes))


if __name__ == "__main__":
    main()
