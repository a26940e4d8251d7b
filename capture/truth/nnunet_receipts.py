"""Receipts of nnU-Net's networks: `test/core/nnunet.jsonl`.

Random plans, the networks that `dynamic_network_architectures` builds from them and the losses of `nnunetv2`, in the
training step of its trainer (`nnUNetTrainer.train_step`), whose local variables live until it returns. Both packages are
found on `PYTHONPATH`; their other dependencies are not needed. Nothing is compiled (`nnUNet_compile=f`).
"""

import gc
import json
import pathlib
import random

from ..recording import environment  # noqa: F401  (fake devices answer as real ones)
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from .storages import Ledger, clip

FILE = pathlib.Path(__file__).resolve().parent.parent.parent / "test" / "core" / "nnunet.jsonl"


def draw(number):
    """A random plan: few channels, but every way in which a network can differ."""
    r = random.Random(f"nnunet{number}")
    sides, residual, stages = r.choice((2, 3, 3)), r.random() < 0.5, r.randint(3, 5)
    strides = [[1] * sides] + [[r.choice((1, 2, 2, 2)) for _ in range(sides)] for _ in range(stages - 1)]
    patch = [r.randint(2, 3) for _ in range(sides)]
    for stride in strides:
        patch = [p * s for p, s in zip(patch, stride)]
    features = [r.randint(5, 9)]
    while len(features) < stages:
        features.append(features[-1] if r.random() < 0.2 else features[-1] + r.randint(3, 14))
    blocks = "n_blocks_per_stage" if residual else "n_conv_per_stage"
    return {
        "id": f"nnunet-{number}",
        "network": "ResidualEncoderUNet" if residual else "PlainConvUNet",
        "arch_kwargs": {
            "n_stages": stages,
            "features_per_stage": features,
            "conv_op": f"torch.nn.modules.conv.Conv{sides}d",
            "kernel_sizes": [[r.choice((1, 3, 3)) for _ in range(sides)] for _ in range(stages)],
            "strides": strides,
            blocks: [r.randint(1, 3) for _ in range(stages)],
            "n_conv_per_stage_decoder": [r.randint(1, 2) for _ in range(stages - 1)],
            "conv_bias": r.random() < 0.7,
        },
        "patch_size": patch,
        "batch_size": r.randint(2, 5),
        "channels": r.randint(1, 4),
        "classes": r.randint(2, 7),
        "batch_dice": r.random() < 0.5,
        "regions": r.random() < 0.25,
        "ignore": r.random() < 0.25,
    }


def loss_of(case, heads):
    """`nnUNetTrainer._build_loss`."""
    from nnunetv2.training.loss.compound_losses import DC_and_BCE_loss, DC_and_CE_loss
    from nnunetv2.training.loss.deep_supervision import DeepSupervisionWrapper
    from nnunetv2.training.loss.dice import MemoryEfficientSoftDiceLoss

    dice = {"batch_dice": case["batch_dice"], "smooth": 1e-5, "ddp": False}
    if case["regions"]:
        loss = DC_and_BCE_loss({}, {**dice, "do_bg": True}, use_ignore_label=case["ignore"], dice_class=MemoryEfficientSoftDiceLoss)
    else:
        loss = DC_and_CE_loss(
            {**dice, "do_bg": False},
            {},
            weight_ce=1,
            weight_dice=1,
            ignore_label=case["classes"] if case["ignore"] else None,
            dice_class=MemoryEfficientSoftDiceLoss,
        )
    weights = [1 / 2**i for i in range(heads)]
    weights[-1] = 0
    return DeepSupervisionWrapper(loss, [w / sum(weights) for w in weights])


def network_of(case):
    from dynamic_network_architectures.architectures import unet

    kwargs = dict(case["arch_kwargs"])
    sides = kwargs["conv_op"][-2]
    kwargs["conv_op"] = getattr(torch.nn, f"Conv{sides}d")
    norm = getattr(torch.nn, f"InstanceNorm{sides}d")
    return getattr(unet, case["network"])(
        case["channels"],
        num_classes=case["classes"],
        deep_supervision=True,
        **kwargs,
        norm_op=norm,
        norm_op_kwargs={"eps": 1e-5, "affine": True},
        nonlin=torch.nn.LeakyReLU,
        nonlin_kwargs={"inplace": True},
    )


def batch_of(case):
    """What the data loader hands over: float32 data, int16 labels at the resolution of every head."""
    strides, sizes = case["arch_kwargs"]["strides"], list(case["patch_size"])
    data = torch.zeros(case["batch_size"], case["channels"], *sizes, device="cuda")
    channels = case["classes"] + case["ignore"] if case["regions"] else 1
    target = []
    for stride in strides[:-1]:
        sizes = [n // s for n, s in zip(sizes, stride)]
        target.append(
            torch.zeros(case["batch_size"], channels, *sizes, device="cuda", dtype=torch.bool if case["regions"] else torch.int16)
        )
    return data, target


def train_step(case, network, loss, optimizer):
    """`nnUNetTrainer.train_step` but for the scaler's few numbers."""
    data, target = batch_of(case)
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda"):
        output = network(data)
        value = loss(output, target)
    value.backward()
    clip(list(network.parameters()), 12)
    optimizer.step()


def peak(case):
    """Peak bytes of two steps."""
    ledger, truth = Ledger(), torch.Tensor.__bool__
    torch.Tensor.__bool__ = lambda self: True  # some label counts (`num_fg > 0`)
    try:
        with FakeTensorMode(allow_non_fake_inputs=True), ledger:
            with torch.device("cuda"):
                network = network_of(case)
            loss = loss_of(case, case["arch_kwargs"]["n_stages"] - 1)
            optimizer = torch.optim.SGD(network.parameters(), 0.01, weight_decay=3e-5, momentum=0.99, nesterov=True, foreach=True)
            gc.collect()
            ledger.start()
            for _ in range(2):
                train_step(case, network, loss, optimizer)
            return ledger.peak
    finally:
        torch.Tensor.__bool__ = truth
        gc.collect()


def write(count):
    lines = []
    for number in range(count):
        case = draw(number)
        lines.append(json.dumps({"case": case, "truth": peak(case)}, separators=(",", ":")))
    FILE.write_text("\n".join(lines) + "\n")
