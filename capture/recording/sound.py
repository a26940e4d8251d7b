"""Models that hear read lengths and labels off the device for their loss. Here every recording and label is whole.

`labels.masked_select(labels >= 0)` is every label, and `ctc_loss` is one operator (capture) or does what the native CUDA
kernel allocates (truth), since the fake device cannot read lengths.
"""

import torch
from torch._subclasses.fake_tensor import FakeTensor


_item = FakeTensor.item


class CtcLoss(torch.autograd.Function):
    """aten/src/ATen/native/cuda/LossCTC.cu: `log_alpha` and later `log_beta` of two states a label and frame."""

    @staticmethod
    def forward(ctx, log_probs, targets, batch):
        states = 2 * (targets.numel() // batch) + 1
        log_alpha = log_probs.new_empty(batch, log_probs.shape[0], states)
        loss = log_probs.new_empty(batch)
        ctx.save_for_backward(log_probs, targets, loss, log_alpha)
        return loss

    @staticmethod
    def backward(ctx, gradient):
        log_probs, _, _, log_alpha = ctx.saved_tensors
        log_beta = torch.empty_like(log_alpha)
        result = torch.empty_like(log_probs)
        del log_beta
        return result, None, None


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """The loss of whole recordings, reduced as `at::native::ctc_loss` reduces it."""
    losses = CtcLoss.apply(log_probs, targets, log_probs.shape[1])
    if reduction == "sum":
        return losses.sum()
    return (losses / target_lengths.clamp_min(1)).mean()


def install():
    """Answers what is read off the device: all labels count, and none is out of range."""
    select = torch.Tensor.masked_select
    torch.Tensor.masked_select = lambda t, mask: t.flatten().clone() if isinstance(t, FakeTensor) else select(t, mask)
    FakeTensor.__bool__ = lambda t: False
    torch.nn.functional.ctc_loss = ctc_loss


COUNTS = ("qwen2_audio",)
"""Families whose code compares the tokens of recordings in texts with what the encoder gives, as numbers: here they are as many."""

FREEZES = ("speech-encoder-decoder", "speecht5")
"""Families that write down what they hear whose convolutions the library's example leaves untrained (run_speech_recognition_seq2seq.py)."""


def settle(model, task):
    """Answers what a model of sound reads off the device, and leaves its first layers as they are."""
    if task in ("ctc", "audio-cls"):
        install()
        prepare(model)
    elif model.config.model_type in FREEZES:
        prepare(model)
    elif model.config.model_type in COUNTS:
        FakeTensor.__bool__ = lambda t: False
        FakeTensor.item = lambda t: 0 if t.device.type == "cuda" else _item(t)


def prepare(model):
    """The feature encoder stays as it is, as the library's own examples train such models."""
    if hasattr(model, "freeze_feature_encoder"):
        model.freeze_feature_encoder()
