"""Cases of LoRA whose factors are made from the weights (`init_lora_weights`), and what peft holds while it makes them.

The kind `initializations` of `capture.truth.optimizers_and_adapters`: the peak of `get_peft_model` on a model that is on the device is the phase `load`
of the result. LoftQ and OLoRA's packed weights need bitsandbytes, whose classes of parameters cannot wrap fake tensors: a
stand-in does what they do when they are moved. LoftQ asks for scipy to be installed.
"""

import random

from .adapter_cases import run_adapter
from .small_models import GROUPED, gpt2, llama

INITS = (
    "pissa",
    "pissa",
    "pissa_niter_4",
    "pissa_niter_16",
    "olora",
    "olora",
    "mica",
    "mica",
    "loftq",
    "loftq",
    "orthogonal",
    "gaussian",
    "eva",
)
LINEARS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def cases(count):
    for number, init in enumerate(INITS * count):
        r = random.Random(f"initialization-{init}-{number}")
        model = gpt2(r) if number % 7 == 6 else {**llama(r), **GROUPED}
        case = {
            "id": f"{init}-{number}",
            "model": model,
            "batch": r.choice((1, 2)),
            "seq": r.randint(9, 60),
            "attn": "sdpa",
            "optim": r.choice(("adamw_torch", "adamw_torch_fused")),
        }
        case["load_dtype"], case["amp"] = r.choice(
            (("float32", None), ("float32", "bf16"), ("bfloat16", None), ("bfloat16", "bf16"), ("float16", None))
        )
        names = ("c_attn", "c_fc", "c_proj") if model["model_type"] == "gpt2" else LINEARS
        case["peft"] = {
            "type": "lora",
            "r": r.choice((2, 8, 16)),
            "dropout": r.choice((0.0, 0.1)),
            "target_modules": r.choice((list(names), r.sample(names, 2))),
            "init_lora_weights": init,
        }
        if init == "loftq":
            case["peft"]["loftq_config"] = {"loftq_bits": r.choice((4, 8)), "loftq_iter": r.choice((1, 2, 3))}
        if r.random() < 0.3:
            case["peft"]["autocast_adapter_dtype"] = False
        if init == "olora" and number % 2:
            case["quant"] = {"type": r.choice(("nf4", "fp4")), "double": r.random() < 0.5}
            case["load_dtype"] = "bfloat16"
        yield case


def run(oracle, case, **options):
    """The oracle's run, with the peak of putting the adapter on."""
    import peft
    import torch

    follow_data(torch)
    pack_without_wrapping()
    seen, made = {}, oracle.Ledger

    class Ledger(made):
        def __init__(self):
            super().__init__()
            seen["ledger"] = self

    put = getattr(peft, "own_model", peft.get_peft_model)

    def watched(*args, **settings):
        ledger = seen["ledger"]
        ledger.peak = ledger.live
        model = put(*args, **settings)
        seen["peak"] = ledger.peak
        return model

    oracle.Ledger, peft.own_model = Ledger, watched
    result = run_adapter(oracle, case, **options)
    result["phase_peaks"]["load"] = seen["peak"]
    return result


def follow_data(torch):
    """A parameter on the host that is given data on the device is there from then on, as no fake tensor notices."""
    from torch._subclasses.fake_tensor import FakeTensor

    plain = torch.Tensor.data

    def put(tensor, value):
        plain.__set__(tensor, value)
        if isinstance(value, FakeTensor):
            tensor.fake_device = value.fake_device

    FakeTensor.data = property(plain.__get__, put)


def pack_without_wrapping():
    """bitsandbytes' parameters as far as moving them to the device packs them (bitsandbytes/nn/modules.py)."""
    import bitsandbytes as bnb
    import peft.tuners.lora.layer as lora
    import peft.utils.loftq_utils as loftq
    import torch
    from torch._subclasses.fake_tensor import FakeTensor
    from torch.utils._python_dispatch import _disable_current_modes

    loftq.clear_device_cache = lambda *a, **k: None

    class Four:
        def __init__(self, data, requires_grad=False, quant_type="nf4", compress_statistics=True, quant_storage=None, module=None):
            self.given, self.quant_type, self.compress_statistics, self.module = data, quant_type, compress_statistics, module

        def to(self, device):
            whole = self.given.contiguous().to(device)
            self.data, self.quant_state = bnb.functional.quantize_4bit(
                whole, blocksize=64, compress_statistics=self.compress_statistics, quant_type=self.quant_type
            )
            del self.given
            if self.module is None:
                return self
            self.module.quant_state = self.quant_state
            return self.stored()

        def stored(self):
            weight = torch.nn.Parameter(self.data, requires_grad=False)
            weight.quant_state, weight.compress_statistics, weight.quant_type = self.quant_state, self.compress_statistics, self.quant_type
            weight.blocksize, weight.bnb_quantized = 64, True
            return weight

    class Eight:
        def __init__(self, data, requires_grad=False):
            self.given = data

        def to(self, device):
            half = self.given.contiguous().to(device=device, dtype=torch.float16)
            self.data, self.SCB, _ = bnb.functional.int8_vectorwise_quant(half)
            del self.given
            return self

    class Stored(FakeTensor):
        """What the class of a packed weight makes: a weight to be packed when it is moved."""

        def __new__(cls, data, **settings):
            return Four(data, **settings)

    def kind(weight):
        if getattr(weight, "quant_state", None) is None:
            return False
        weight.quant_storage, weight.__class__ = torch.uint8, Stored
        return "4bit"

    def unpacked(layer):
        layer.weight.module = layer
        if "dynamic" not in bnb.functional.name2qmap:  # there since the model was packed: nobody's here
            with _disable_current_modes(), layer.weight.fake_mode:
                bnb.functional.name2qmap["dynamic"] = torch.empty(256, device="cuda")
        return bnb.functional.dequantize_4bit(layer.weight.data, layer.weight.quant_state)

    bnb.nn.Params4bit, bnb.nn.Int8Params = Four, Eight
    lora.get_bnb_param_type = kind
    lora.dequantize_module_weight = unpacked
