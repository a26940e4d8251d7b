"""Makes transformers run on fake CUDA tensors the way it runs on a real device, untraced and without padding."""

import inspect
import itertools
import os
import textwrap
import warnings

warnings.filterwarnings("ignore")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("PYTORCH_JIT", "0")  # scripted functions as they are written: their compiler asks for a driver
os.environ["TRANSFORMERS_DISABLE_TORCH_CHECK"] = "1"  # counts of tokens are not known

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.utils._device import _device_constructors
from torch.utils._python_dispatch import _disable_current_modes

from . import pictures, host_reads, releases

TASKS = {
    "causal-lm": "AutoModelForCausalLM",
    "seq-cls": "AutoModelForSequenceClassification",
    "token-cls": "AutoModelForTokenClassification",
    "qa": "AutoModelForQuestionAnswering",
    "multiple-choice": "AutoModelForMultipleChoice",
    "masked-lm": "AutoModelForMaskedLM",
    "image-cls": "AutoModelForImageClassification",
    "seq2seq-lm": "AutoModelForSeq2SeqLM",
    "speech-seq2seq": "AutoModelForSpeechSeq2Seq",
    "ctc": "AutoModelForCTC",
    "audio-cls": "AutoModelForAudioClassification",
    "image-text-to-text": "AutoModelForImageTextToText",
    "image-segmentation": "AutoModelForSemanticSegmentation",
    "masked-image": "AutoModelForMaskedImageModeling",
    "contrastive": "AutoModel",
}
GENERATIVE = ("causal-lm", "seq2seq-lm", "speech-seq2seq", "image-text-to-text")  # tasks whose models keep a cache unless told


def asked(task):
    """What a task's models are told besides their batch."""
    return {"use_cache": False} if task in GENERATIVE else {"return_loss": True} if task == "contrastive" else {}


def uncached(config):
    """Has a config keep no cache, as the Trainer does (TrainingArguments.use_cache); it tells the whole config only, and parts are told here, too."""
    for part in (config, getattr(config, "text_config", None)):
        if hasattr(part, "use_cache"):
            part.use_cache = False


# Models of two parts, each of which takes the attention that it has: SDPA unless its code knows none.
PAIRS = ("vision-encoder-decoder", "speech-encoder-decoder", "encoder-decoder")


def class_for(task, config):
    """The class that makes a task's models; those that answer in texts of their own have none by the name of speech."""
    import transformers

    named = getattr(transformers, TASKS[task])
    if task != "speech-seq2seq" or type(config) in named._model_mapping:
        return named
    others = (transformers.AutoModelForSeq2SeqLM, transformers.AutoModelForImageTextToText)
    return next((cls for cls in others if type(config) in cls._model_mapping), named)


def implementation(family, attention):
    """How a model's class is told the kind of attention."""
    return {} if attention == "none" or (family in PAIRS and attention == "sdpa") else {"attn_implementation": attention}


class _Number(float):
    """An element of `_Numbers`."""

    def item(self):
        return float(self)


class _Numbers(list):
    """The part of a one-dimensional CPU tensor's interface that models use to read rates as numbers."""

    def tolist(self):
        return [float(x) for x in self]

    def split(self, sizes):
        ends = list(itertools.accumulate(sizes))
        return [_Numbers(self[end - size : end]) for size, end in zip(sizes, ends)]


class _Sized:
    """`torch.FloatTensor(*size)`, which makes its tensor on the host in float32 whatever is asked for; weights of files take its
    place on the device, in the dtype they are loaded in (transformers/modeling_utils.py, `from_pretrained`)."""

    def __new__(cls, *size):
        return torch.empty(*size)


def _patch_torch():
    """Answers what a CUDA device would answer where torch asks the driver."""
    _device_constructors()  # what `with torch.device(...)` looks for, by the functions as they are now
    torch.cuda.is_available = lambda: False
    torch.cuda.is_bf16_supported = lambda *a, **k: True
    torch.cuda.get_device_capability = lambda *a, **k: (8, 0)
    torch.cuda.synchronize = lambda *a, **k: None
    torch.cuda.amp.common.amp_definitely_not_available = lambda: False
    torch.amp.autocast_mode.amp_definitely_not_available = lambda: False
    rand, linspace, tolist = torch.rand, torch.linspace, torch.Tensor.tolist
    torch.rand = lambda *a, **k: 1.0 if a == ([],) else rand(*a, **k)  # layer drop: never dropped

    def cpu_linspace(*a, **k):  # stochastic-depth rates are read as numbers while the model is built
        with unset_fake_temporarily(), torch.device("cpu"), _disable_current_modes():
            values = linspace(*a, **{**k, "device": "cpu"})
            return _Numbers(map(_Number, values.float().numpy())) if values.ndim == 1 else values

    def real_tolist(t):
        if isinstance(t, FakeTensor):
            return tolist(t)
        with unset_fake_temporarily(), _disable_current_modes():
            return t.numpy().tolist()

    def on_host(method):
        """Numbers of a config that code counts with while it builds the model: tensors on the host that are none of the fake ones."""

        def counted(t, *a, **k):
            if isinstance(t, FakeTensor) or t.device.type != "cpu" or t.requires_grad:
                return method(t, *a, **k)
            with unset_fake_temporarily(), _disable_current_modes():
                return method(t, *a, **k)

        return counted

    def real_tensor(data, *a, **k):
        if k.get("device") == "cpu" and isinstance(data, (list, tuple)) and all(isinstance(x, int) for x in data):
            with unset_fake_temporarily(), _disable_current_modes():
                return tensor(data, *a, **k)
        lifts = torch._C._only_lift_cpu_tensors()
        torch._C._set_only_lift_cpu_tensors(True)  # of a thread: what recomputes in backward's has not heard of fake tensors
        try:
            return tensor(data, *a, **k)
        finally:
            torch._C._set_only_lift_cpu_tensors(lifts)

    def every(t, **k):  # which labels count (DeBERTa's loss), which patches are none of the padding: all of them
        if not isinstance(t, FakeTensor):
            return nonzero(t, **k)
        count = host_reads.counted(t)
        places = torch.zeros(pictures.picked(t) if count is None else count, t.dim(), dtype=torch.long, device=t.device)
        return places.unbind(1) if k.get("as_tuple") else places

    def alike(t, **k):  # how many tokens end each text: as many in all
        return t[:1].clone() if isinstance(t, FakeTensor) else unique(t, **k)

    unique, torch.unique_consecutive = torch.unique_consecutive, alike
    nonzero = torch.Tensor.nonzero
    torch.Tensor.nonzero = every
    tensor, torch.tensor = torch.tensor, real_tensor
    for name in ("cumsum", "split"):
        setattr(torch.Tensor, name, on_host(getattr(torch.Tensor, name)))
    torch.linspace = cpu_linspace
    torch.FloatTensor = _Sized
    torch.Tensor.tolist = real_tolist


def _patch_rates():
    """BiT reads its rates of stochastic depth from an array of the host; `linspace` above gives the same numbers."""
    from transformers.models.bit import modeling_bit as bit

    source = textwrap.dedent(inspect.getsource(bit.BitEncoder.__init__))
    if "np.linspace" not in source:  # before 4.46 the numbers are read from a tensor
        return
    for old, new in (
        ("torch.Tensor(np.linspace(", "torch.linspace("),
        ("sum(config.depths)))", "sum(config.depths))"),
        ("super().__init__()", "nn.Module.__init__(self)"),
    ):
        source = source.replace(old, new)
    space = {}
    exec(compile(source, "<BitEncoder.__init__ with numbers>", "exec"), vars(bit), space)
    bit.BitEncoder.__init__ = space["__init__"]


def _patch_masks():
    """Batches without padding: masks that a real run would find to be all true are skipped as it skips them."""
    if not releases.has("masking_utils"):  # before 4.53 models make their own; what they ask of them is in `host_reads.ANSWERS`
        return
    import transformers.masking_utils as masks

    masks.is_tracing = lambda *a, **k: False
    masks.find_packed_sequence_indices = lambda *a, **k: None
    masks.fast_all = lambda mask: True
    # blocks of a picture's tokens: the same comparisons without torch.func, whose modes admit no others
    masks._vmap_expansion_sdpa = lambda function: lambda *index: function(*masks._non_vmap_expansion_sdpa(*index))
    ignore = masks._ignore_bidirectional_mask_sdpa
    masks._ignore_bidirectional_mask_sdpa = lambda padding_mask, *a, **k: not pictures.pads(padding_mask) and ignore(None, *a, **k)


def _tag_activations():
    """Every activation module remembers the name it was asked for."""
    from transformers import activations
    from transformers.activations import ClassInstantier

    get = ClassInstantier.__getitem__

    def tagged(self, key):
        module = get(self, key)
        module.activation_name = key
        return module

    class Makers(dict):
        """Classes by name: what they make is tagged, too, unless it is made with weights of its own (Apertus' xIELU)."""

        def __getitem__(self, key):
            made = super().__getitem__(key)
            return lambda **given: made(**given) if given else activations.ACT2FN[key]

    ClassInstantier.__getitem__ = tagged
    activations.ACT2CLS = Makers(activations.ACT2CLS)


def _patch_weights():
    """Weights have no values here, so there is nothing to initialise; tied ones are tied all the same."""
    from transformers import PreTrainedModel

    PreTrainedModel.initialize_weights = lambda self: None


_patch_torch()
host_reads.install()
_patch_rates()
_patch_masks()
_patch_weights()
_tag_activations()
