"""Makes transformers run on fake CUDA tensors the way it runs on a real device, untraced and without padding."""

import inspect
import os
import textwrap
import warnings

warnings.filterwarnings("ignore")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("PYTORCH_JIT", "0")  # scripted functions as they are written: their compiler asks for a driver
os.environ["TRANSFORMERS_DISABLE_TORCH_CHECK"] = "1"  # counts of tokens are not known

from vram_lens.tracing import answers, of_transformers

from . import pictures, host_reads

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


def _counted(mask):
    """How many places a mask picks: which labels count (DeBERTa's loss), which patches are none of the padding: all of them."""
    count = host_reads.counted(mask)
    return pictures.picked(mask) if count is None else count


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


answers.install(_counted)
host_reads.install()
_patch_rates()
of_transformers.install(pictures.pads)
