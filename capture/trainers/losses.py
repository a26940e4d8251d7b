"""Records the losses of trainers over stand-ins of their models: models/trainers/*.json.

A stand-in answers with random hidden states (or logits), so sizes are small, values are real and the rows a mask picks are
there. Everything between the models is the trainer's code, a fused head included. Integers are explained by the sizes:
B samples (pairs for DPO and reward), S tokens, P and T of prompt and completion, C scored tokens of the micro-batch.
"""

import gc
import json
import random
import sys
from types import SimpleNamespace

from ..recording import environment  # noqa: F401  (before transformers)
from .trl_trainers import Accelerator  # (before trl)
import torch
import trl
import trl.trainer.utils as trl_utils
from transformers.modeling_outputs import BaseModelOutput, SequenceClassifierOutput

from vram_lens.tracing.fit import Fitter
from vram_lens.tracing.layers import functions
from ..recording.record import Event, Value, trace
from vram_lens.tracing.merging import merge, skeleton

POINTS = 5


class Backbone(torch.nn.Module):
    """Gives hidden states; one call in the recording."""

    stands_for = "Backbone"

    def __init__(self, width):
        super().__init__()
        self.width = width

    def forward(self, input_ids=None, attention_mask=None, use_cache=None):
        return BaseModelOutput(last_hidden_state=torch.randn(*input_ids.shape, self.width))


class Model(torch.nn.Module):
    """What TRL's head asks of a model."""

    is_gradient_checkpointing = False

    def __init__(self, width):
        super().__init__()
        self.base_model, self.head = Backbone(width), torch.nn.Linear(width, 23)
        self.config = SimpleNamespace(model_type="none")
        self.config.get_text_config = lambda: self.config
        self.requires_grad_(False)

    def get_output_embeddings(self):
        return self.head

    def forward(self, **inputs):
        raise NotImplementedError("the fused head takes this call")


class Whole(torch.nn.Module):
    """Gives logits; one call in the recording. The states between layers, where they are asked for, are one name beside them."""

    stands_for = "Model"

    def __init__(self, shape):
        super().__init__()
        self.shape = shape

    def forward(self, input_ids, attention_mask, kept, labels=None, states=False):
        shape = self.shape(input_ids)
        given = {"hidden_states": (torch.zeros(1),)} if states else {}
        return SequenceClassifierOutput(logits=torch.randn(shape[0], kept or shape[1], *shape[2:]), **given)


class Logits(torch.nn.Module):
    """A model whose logits are asked for: one of a sequence, or as many as the vocabulary has words of each token, of the last `logits_to_keep` tokens (0: of all)."""

    is_gradient_checkpointing = False

    def __init__(self, shape):
        super().__init__()
        self.base_model = Whole(shape)

    def forward(self, input_ids=None, attention_mask=None, use_cache=None, logits_to_keep=0, output_hidden_states=False, **_):
        return self.base_model(input_ids, attention_mask, logits_to_keep, *((None, True) if output_hidden_states else ()))


class Valued(torch.nn.Module):
    """A model with a value head (trl/models/modeling_value_head.py), of which the values of every token are asked for."""

    def __init__(self):
        super().__init__()
        self.base_model = Whole(lambda ids: tuple(ids.shape))

    def forward(self, input_ids=None, attention_mask=None, labels=None, **_):
        return None, None, self.base_model(input_ids, attention_mask, 0, labels).logits


class Both(torch.nn.Module):
    def __init__(self, policy, reference):
        super().__init__()
        self.policy, self.reference = policy, reference


def _chunked(recorder_of):
    """The autograd function of the fused head as one operator."""

    class Apply:
        @staticmethod
        def apply(hidden, weight, bias, targets, temperature, chunk, softcap, scale, outputs):
            recorder = recorder_of()
            with recorder.silence():
                rows = hidden.shape[0]
                per = lambda wanted, dtype=torch.float32: torch.zeros(rows, dtype=dtype) if wanted in outputs else None
                out = (per("log_probs"), per("entropy"), per("log_sum_sq_probs"), per("mean_logits"), per("is_top1", torch.bool))
            recorder.fused("trl_chunked_log_probs", [hidden, weight, bias, targets, chunk, ",".join(outputs)], out)
            return out

    return Apply


def _selective(recorder_of):
    """The kernel that takes log-probabilities (and entropy) from logits as one operator."""

    def kernel(logits, index, temperature=1.0, row_mask=None):
        recorder = recorder_of()
        with recorder.silence():
            out = (torch.zeros(logits.shape[:-1]), torch.zeros(logits.shape[:-1]))
        recorder.fused("trl_logprob_entropy", [logits, index], out)
        return out

    return kernel


def _whole_log_probs(recorder_of):
    """Log-probabilities from whole logits, sequence by sequence, as one operator (trl/trainer/utils.py)."""

    def selective_log_softmax(logits, index):
        recorder = recorder_of()
        with recorder.silence():
            out = torch.zeros(logits.shape[:-1])
        recorder.fused("trl_selective_log_softmax", [logits, index], out)
        return out

    return selective_log_softmax


def _whole_entropy(recorder_of):
    """Entropy of whole logits, 128 tokens at a time, as one operator (trl/trainer/utils.py)."""

    def entropy_from_logits(logits, chunk_size=128):
        recorder = recorder_of()
        with recorder.silence():
            out = torch.zeros(logits.shape[:-1])
        recorder.fused("trl_entropy_from_logits", [logits], out)
        return out

    return entropy_from_logits


def kernels_of(code, recorder_of, trainer):
    """What the recorder takes whole, and the module whose name it goes by."""
    if code.FUSED:
        return vars(trl_utils), {
            "_ChunkedLogProbFunction": _chunked(recorder_of),
            "_fused_logprob_entropy": _selective(recorder_of),
            "_supports_trl_loss_kernel": lambda *a: True,
            "is_triton_available": lambda: True,
        }
    module = vars(sys.modules[type(trainer).__module__])
    whole = {"selective_log_softmax": _whole_log_probs(recorder_of), "entropy_from_logits": _whole_entropy(recorder_of)}
    return module, {name: function for name, function in whole.items() if name in module}


# The call of `accelerator.backward` in a trainer's own step.
BACKWARD = "backward"
# Numbers that go to the host.
READS = ("item", "is_nonzero", "_local_scalar_dense")
# Operators whose result is as long as the data says: the length is written beside them.
COUNTED = ("index.Tensor", "nonzero", "masked_select")


def run_of(code, kind, settings, trainer, inputs, sizes):
    if kind == "score":
        return code.scores_of(trainer, trainer.model if settings["model"] == "policy" else trainer.ref_model, inputs, sizes["T"])
    return code.loss_of(trainer, inputs)


def mark(event):
    """Accelerate wraps a model's forward in autocast: where that begins and ends is part of the loss."""
    if event.kind in ("enter", "exit") and event.path in ("policy", "reference", "reward"):
        return Event("op", f"autocast_{event.kind}", event.path)
    return event


def capture(code, kind, settings, seed):
    """The loss at one point, as a function whose numbers are numbers."""
    r = random.Random(f"{kind} {seed}")
    sizes = code.symbols(kind, r)
    torch.manual_seed(seed)
    if hasattr(code, "models"):
        policy, reference = code.models(Backbone, settings, sizes)
    elif kind == "rm":
        policy, reference = Valued(), Valued()
    elif kind in code.WHOLE:
        sizes["V"] = r.randint(70, 99)
        policy, reference = (Logits(lambda ids: (ids.shape[0], 1) if kind == "reward" else (*ids.shape, sizes["V"])) for _ in range(2))
    else:
        policy, reference = Model(8), Model(8)
    for model in (policy, reference):
        code.fuse_head(kind, model, settings, model is reference)
    holder = {}
    accelerator = Accelerator("cpu")

    def backward(loss, **_):
        """Where a trainer's own step goes back from: the names it has then live on through that."""
        scaled = loss / 1
        holder["recorder"].emit(Event("op", BACKWARD, "loss", [holder["recorder"].operand(scaled)]), None)

    accelerator.backward = backward
    trainer = code.TRAINERS[kind](policy, reference, accelerator, settings)
    models = Both(policy, reference)
    trainer.others = code.others(kind, settings) if hasattr(code, "others") else {}
    for name, model in trainer.others.items():
        models.add_module(name, model)
    inputs = code.batch_of(kind, settings, sizes, "cpu")
    module, kernels = kernels_of(code, lambda: holder["recorder"], trainer)
    before = {name: module.get(name) for name in kernels}
    module.update(kernels)
    try:
        t = trace(models, inputs, lambda: {"loss": run_of(code, kind, settings, trainer, dict(inputs), sizes)}, holder)
    finally:
        module.update(before)
    for meta in t.values:
        meta.cpu = False
    t.events = [mark(e) for e in t.events if e.name not in READS]
    for e in t.events:
        if e.name in COUNTED and (
            e.name != "index.Tensor" or any(isinstance(i, Value) and t.values[i.id].dtype == torch.bool for i in e.ins[1])
        ):
            e.kw["rows"] = t.values[e.outs[0].id].shape[0]
        e.path = "loss" if e.path == "" else "lm_head" if e.kind == "op" else e.path
    return SimpleNamespace(function=functions(t), sizes=sizes, batch={n: t.values[v.id] for n, v in t.batch.items()})


def fitted(captures, name):
    """The instructions that captures at several points have in common, and the tensors they are given."""
    forms = [skeleton(c.function) for c in captures]
    if len({f for f, _ in forms}) > 1:
        raise ValueError(f"{name}: the captures differ")
    fitter = Fitter([c.sizes for c in captures], list(captures[0].sizes))
    main = merge([(c.function, leaves) for c, (_, leaves) in zip(captures, forms)], fitter, [torch.float64] * len(captures))
    plain = lambda x: x[1:] if isinstance(x, str) else str(x)
    batch = [
        {
            "name": n,
            "shape": [plain(fitter.integer([c.batch[n].shape[d] for c in captures])) for d in range(len(m.shape))],
            "dtype": f"${str(m.dtype).removeprefix('torch.')}",
        }
        for n, m in captures[0].batch.items()
    ]
    return main, batch


def loss_graph(code, kind, settings):
    """One loss with its numbers explained."""
    main, batch = fitted([capture(code, kind, settings, seed) for seed in range(POINTS)], f"{kind} {settings}")
    return {"batch": batch, "main": without_join(main) if kind == "score" else until_backward(main)}


def until_backward(main):
    """A step of the trainer's own as far as its backward, with the names that live through that."""
    at = next((k for k, item in enumerate(main["body"]) if item.get("op") == BACKWARD), None)
    if at is None:
        return main
    (loss,) = (name.removeprefix("%") for name in main["body"][at]["in"])
    held = [name for name in left(main["body"][:at]) if name != loss and name not in main["inputs"]]
    return {**main, "outputs": [loss, *held], "body": main["body"][:at]}


def left(body, known=()):
    """Names that are alive when the instructions have run."""
    alive = list(known)
    for item in body:
        alive = [name for name in alive if name not in item.get("drop", ())]
        alive += [name for name in item.get("out", ()) if name not in alive]
    return alive


def without_join(main):
    """The pass over one micro-batch of several: they are joined when all are there."""
    join = next(i for i in reversed(main["body"]) if i.get("op") == "cat")
    (part,) = (name.removeprefix("%") for name in join["in"][0])
    kept = [{**i, "drop": [name for name in i["drop"] if name != part]} if "drop" in i else i for i in main["body"] if i is not join]
    return {**main, "body": [i for i in kept if i.get("drop") != []], "outputs": [part]}


def trainer_graphs(code, kinds=None, log=print):
    """The content of a file; variants with one loss share it. `code` is the module of the trainers (`trainers.py`, `llama_factory.py`)."""
    gc.disable()
    found = {}
    for kind, settings in code.variants():
        if kinds and kind not in kinds:
            continue
        graph = loss_graph(code, kind, settings)
        gc.collect()
        key = json.dumps(graph, sort_keys=True)
        found.setdefault((kind, key), (graph, []))[1].append(settings)
        log(f"{kind} {settings}: {len(graph['main']['body'])} instructions")
    graphs = [{"trainer": kind, "when": when, **graph} for (kind, _), (graph, when) in found.items()]
    library, version = getattr(code, "LIBRARY", ("trl", trl.__version__))
    return {"captured": {library: version, "torch": torch.__version__.split("+")[0], "license": "Apache-2.0"}, "graphs": graphs}
