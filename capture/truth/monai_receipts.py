"""Receipts of MONAI's networks and losses: `test/analysis/monai.jsonl`.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.monai_receipts [--network UNet] [--count 12] [--seed N]

Random arguments, the modules that `monai.networks.nets` builds from them and the losses of `monai.losses`, in the loop of MONAI's own
tutorials on fake CUDA tensors whose storages are followed. Each row has the script and the peak of its two steps; those there are kept.
Autocast is to float16: without a driver PyTorch takes bfloat16 convolutions for kernels of its own, which lay gradients out as no card does.
"""

import gc
import pathlib
import random
import types

from ..recording import environment  # noqa: F401  (fake devices answer as real ones)
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from .rows import draw
from .storages import Ledger

FILE = pathlib.Path(__file__).resolve().parent.parent.parent / "test" / "analysis" / "monai.jsonl"

SCRIPT = """import torch
from monai.data import CacheDataset, DataLoader
from monai.losses import {loss}
from monai.networks.nets import {network}
from monai.transforms import Compose, EnsureChannelFirstd, LoadImaged, {crop}

train_transforms = Compose([LoadImaged(keys=["image", "label"]), EnsureChannelFirstd(keys=["image", "label"]), {crop}({cropped})])
train_ds = CacheDataset(data=files, transform=train_transforms)
train_loader = DataLoader(train_ds, batch_size={batch}, shuffle=True)
device = torch.device("cuda:0")
model = {network}({arguments}).to(device)
loss_function = {loss}({lossy})
optimizer = torch.optim.{optimizer}(model.parameters(), 1e-4)
for batch_data in train_loader:
    inputs, labels = batch_data["image"].to(device), batch_data["label"].to(device)
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16, enabled={amp}):
        outputs = model(inputs)
        loss = loss_function(outputs, labels)
    loss.backward()
    optimizer.step()
"""

ACTIVATIONS = (
    "PRELU",
    "RELU",
    ("RELU", {"inplace": True}),
    ("leakyrelu", {"inplace": True, "negative_slope": 0.01}),
    "LEAKYRELU",
    "ELU",
    "GELU",
)


def norm_of(r, group=True):
    norms = ["INSTANCE", ("INSTANCE", {"affine": True}), "BATCH"] + ([("GROUP", {"num_groups": 2})] if group else [])
    return r.choice(norms)


def regularized(r, said, dropout):
    if r.random() < 0.3:
        said["dropout"] = dropout
    if r.random() < 0.2:
        said["bias"] = False


def unet(r, sides):
    levels = r.randint(3, 5)
    channels = [2 * r.randint(2, 4)]
    while len(channels) < levels:
        channels.append(channels[-1] + 2 * r.randint(0, 5))
    strides = [r.choice((1, 2, 2, 2)) for _ in range(levels - 1)]
    said = {"channels": tuple(channels), "strides": tuple(strides)}
    if r.random() < 0.5:
        said["num_res_units"] = r.randint(1, 3)
    if r.random() < 0.3:
        said["kernel_size"] = r.choice((1, 3, 5))
    if r.random() < 0.3:
        said["up_kernel_size"] = r.choice((3, 5))
    if r.random() < 0.5:
        said["norm"] = norm_of(r)
    if r.random() < 0.5:
        said["act"] = r.choice(ACTIVATIONS)
    regularized(r, said, 0.2)
    if r.random() < 0.2:
        said["adn_ordering"] = r.choice(("NDA", "NA", "AND"))
    step = 1
    for stride in strides:
        step *= stride
    return said, step


def basic(r, sides):
    width = 4 * r.randint(1, 3)
    said = {"features": tuple(width + 2 * r.randint(0, 4) for _ in range(6))} if r.random() < 0.8 else {"features": (8, 8, 16, 24, 32, 8)}
    if r.random() < 0.5:
        said["norm"] = r.choice(("batch", "instance", ("group", {"num_groups": 2})))
    if r.random() < 0.4:
        said["act"] = r.choice(ACTIVATIONS)
    regularized(r, said, 0.1)
    return said, 16


def segresnet(r, sides):
    downs = r.choice(((1, 2, 2, 4), (1, 2, 2), (1, 1), (2, 1, 1)))
    said = {"init_filters": 8 * r.randint(1, 2), "blocks_down": downs, "blocks_up": tuple(r.randint(1, 2) for _ in downs[1:])}
    if r.random() < 0.4:
        said["norm"] = r.choice(("BATCH", "INSTANCE", ("GROUP", {"num_groups": 4})))
    if r.random() < 0.3:
        said["act"] = r.choice(("RELU", "GELU", ("RELU", {"inplace": True})))
    if r.random() < 0.3:
        said["upsample_mode"] = "deconv"
    return said, 2 ** (len(downs) - 1)


def dynunet(r, sides):
    levels = r.randint(3, 5)
    strides = [1] + [r.choice((1, 2, 2, 2)) for _ in range(levels - 1)]
    said = {
        "kernel_size": [r.choice((1, 3, 3)) for _ in range(levels)],
        "strides": strides,
        "upsample_kernel_size": strides[1:],
        "filters": [8 * r.randint(1, 3) for _ in range(levels)],
    }
    # A kernel is at least as large as its stride less one.
    said["kernel_size"] = [max(k, 3 if s > 1 else 1) for k, s in zip(said["kernel_size"], strides)]
    if r.random() < 0.4:
        said["res_block"] = True
    if r.random() < 0.3:
        said["norm_name"] = r.choice(("batch", "instance", ("group", {"num_groups": 4})))
    if r.random() < 0.3:
        said["act_name"] = r.choice(("relu", "gelu", ("relu", {"inplace": True})))
    if r.random() < 0.3:
        said["trans_bias"] = True
    step = 1
    for stride in strides:
        step *= stride
    return said, step


NETWORKS = {"UNet": unet, "BasicUNet": basic, "SegResNet": segresnet, "DynUNet": dynunet}


def losses(r, classes):
    """A loss, what it is told, and the channels of its labels."""
    if classes == 1:
        return "DiceLoss", {"sigmoid": True, **({"squared_pred": True} if r.random() < 0.5 else {})}, 1
    name = r.choice(("DiceLoss", "DiceLoss", "DiceCELoss", "DiceCELoss", "DiceFocalLoss"))
    several = name != "DiceCELoss" and r.random() < 0.3
    said = {"sigmoid": True} if several else {"to_onehot_y": True, "softmax": True}
    for option, chance in (("include_background", 0.3), ("squared_pred", 0.3), ("batch", 0.3), ("jaccard", 0.2)):
        if r.random() < chance:
            said[option] = option != "include_background"
    return name, said, classes if several else 1


def case_of(network, number, seed):
    r = random.Random(f"{seed} {network} {number}")
    sides = r.choice((2, 3, 3))
    said, step = NETWORKS[network](r, sides)
    classes = r.randint(1, 5)
    loss, told, labels = losses(r, classes)
    patch = [step * r.randint(2, max(2, 32 // step)) for _ in range(sides)]
    if r.random() < 0.4:
        patch = [patch[0]] * sides
    return {
        "network": network,
        "arguments": {"spatial_dims": sides, "in_channels": r.randint(1, 4), "out_channels": classes, **said},
        "loss": loss,
        "told": told,
        "labels": labels,
        "patch": tuple(patch),
        "samples": r.choice((None, 1, 2, 4)),
        "batch": r.randint(1, 3),
        "amp": r.random() < 0.5,
        "optimizer": r.choice(("Adam", "AdamW", "SGD")),
    }


def written(said):
    return ", ".join(f"{key}={value!r}" for key, value in said.items())


def script_of(case):
    keys = 'keys=["image", "label"]'
    if case["samples"] is None:
        crop, cropped = "RandSpatialCropd", f"{keys}, roi_size={list(case['patch'])}, random_size=False"
    else:
        crop = "RandCropByPosNegLabeld"
        cropped = f'{keys}, label_key="label", spatial_size={case["patch"]}, pos=1, neg=1, num_samples={case["samples"]}'
    return SCRIPT.format(**{**case, "arguments": written(case["arguments"]), "lossy": written(case["told"])}, crop=crop, cropped=cropped)


class HostNumbers:
    """`torch` for a module that counts axes on the host with it, where no tensor has values."""

    def __getattr__(self, name):
        return getattr(torch, name)

    @staticmethod
    def arange(*limits):
        return types.SimpleNamespace(tolist=lambda: list(range(*limits)))


def peak(case):
    """Most bytes allocated in two steps of the script's loop."""
    import monai.losses
    import monai.networks.nets

    monai.losses.dice.torch = HostNumbers()

    ledger, truth = Ledger(), torch.Tensor.__bool__
    rows = case["batch"] * (case["samples"] or 1)
    try:
        with FakeTensorMode(allow_non_fake_inputs=True), ledger:
            with torch.device("cuda"):
                model = getattr(monai.networks.nets, case["network"])(**case["arguments"])
            model.train()
            model.heads = None  # DynUNet's numbers that stand for none, which are the host's in a script
            criterion = getattr(monai.losses, case["loss"])(**case["told"])
            optimizer = getattr(torch.optim, case["optimizer"])(model.parameters(), 1e-4, foreach=True)
            gc.collect()
            ledger.start()
            inputs = labels = None
            for _ in range(2):
                inputs = labels = None  # the loader's next batch takes their names
                inputs = torch.zeros(rows, case["arguments"]["in_channels"], *case["patch"], device="cuda")
                labels = torch.zeros(rows, case["labels"], *case["patch"], device="cuda")
                optimizer.zero_grad()
                with torch.autocast("cuda", dtype=torch.float16, enabled=case["amp"]):
                    outputs = model(inputs)
                    loss = criterion(outputs, labels)
                loss.backward()
                optimizer.step()
            return ledger.peak
    finally:
        torch.Tensor.__bool__ = truth
        gc.collect()


def row_of(network, number, seed):
    case = case_of(network, number, seed)
    return {"script": script_of(case), "allocated": peak(case)}  # ValueError: groups that do not divide the channels


if __name__ == "__main__":
    draw(FILE, "network", NETWORKS, 12, row_of)
