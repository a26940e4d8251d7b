"""TRL's PPO, which has a training loop of its own (trl/experimental/ppo of 0.29 to 1.11, trl/trainer before; gone since 1.14).

Three parts of the loop are taken from the source of `PPOTrainer.train` and recorded over stand-ins of the models: what scores
a piece of the completions, what makes advantages of the scores, and what a micro-batch runs. The second round of a loop is
recorded, in which the names of the first one are bound anew.
"""

import ast
import contextlib
import gc
import inspect
import random
import textwrap
from types import SimpleNamespace

from ..recording import environment, stand_ins  # noqa: F401  (before transformers)
import torch

stand_ins.install("rich", "rich.console", "rich.table", "pandas", "datasets")

from transformers.modeling_outputs import BaseModelOutput, CausalLMOutput
from trl.experimental.ppo import ppo_trainer as code
from trl.experimental.utils import first_true_indices, get_reward

from vram_lens.tracing.layers import functions
from .losses import POINTS, READS, Whole, _whole_log_probs, fitted, left
from ..recording.record import Event, trace

NAME = "trl-ppo"
TRAIN = ast.parse(textwrap.dedent(inspect.getsource(code.PPOTrainer.train)))


def _loop(variable):
    return next(n for n in ast.walk(TRAIN) if isinstance(n, ast.For) and getattr(n.target, "id", "") == variable)


def _compiled(statements):
    return compile(ast.Module(list(statements), []), "<ppo>", "exec")


def _place(statements, start):
    return next(k for k, statement in enumerate(statements) if ast.unparse(statement).startswith(start))


def round_parts():
    """The statements of a micro-batch before its backward, and those after the optimizer."""
    body = _loop("micro_batch_start").body[0].body
    return _compiled(body[: _place(body, "accelerator.backward")]), _compiled(body[_place(body, "optimizer.zero_grad") + 1 :])


def score_part():
    """The statements that score a piece of the completions."""
    return _compiled(_loop("i").body)


def advantage_part():
    """The statements after that; the recurrence over the tokens as one call."""
    update = _loop("update").body
    body = next(n for n in update if isinstance(n, ast.With)).body
    own = body[next(k for k, n in enumerate(body) if isinstance(n, ast.For)) + 1 :]
    place = next(k for k, n in enumerate(own) if isinstance(n, ast.For))
    whole = ast.parse("advantages_reversed = recurrence(rewards)\nadvantages = torch.empty_like(rewards)").body
    after = own[place + 1 :]
    return _compiled([*own[:place], *whole, *after[_place(after, "advantages = torch.stack") + 1 :]])


class Sink:
    """Statistics that are written into and never read."""

    def __setitem__(self, place, value):
        pass


class Quiet:
    """A recorder that takes no notes."""

    silence = staticmethod(contextlib.nullcontext)

    def fused(self, *_):
        pass


class Policy(torch.nn.Module):
    is_gradient_checkpointing = False

    def __init__(self, vocabulary):
        super().__init__()
        self.base_model = Whole(lambda ids: (*ids.shape, vocabulary))

    def forward(self, input_ids=None, attention_mask=None, position_ids=None, **_):
        return CausalLMOutput(logits=self.base_model(input_ids, attention_mask, 0, position_ids).logits)


class States(torch.nn.Module):
    """Gives the states before the head of a model; one call in the recording."""

    stands_for = "Backbone"

    def forward(self, input_ids=None, attention_mask=None, position_ids=None, **_):
        return BaseModelOutput(last_hidden_state=torch.randn(*input_ids.shape, 8))


class Backbone(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.states = States()

    def forward(self, input_ids=None, attention_mask=None, position_ids=None, **_):
        return BaseModelOutput(hidden_states=(self.states(input_ids, attention_mask, position_ids).last_hidden_state,))


class Scorer(torch.nn.Module):
    """A sequence classifier with one label."""

    base_model_prefix = "model"

    def __init__(self):
        super().__init__()
        self.model, self.score = Backbone(), torch.nn.Linear(8, 1, bias=False)
        self.requires_grad_(False)


class Outputs(torch.nn.Module):
    """What accelerate makes of the policy's outputs: float32, states and all; one call in the recording."""

    stands_for = "Outputs"

    def forward(self, logits):
        return logits.clone()


class Models(torch.nn.Module):
    """The models of a run. The trained ones are prepared by accelerate as one: autocast around their forward, outputs in float32."""

    def __init__(self, vocabulary):
        super().__init__()
        self.wrapper, self.outputs = code.PolicyAndValueWrapper(Policy(vocabulary), Scorer()), Outputs()
        self.reference, self.reward = Policy(vocabulary), Scorer()
        self.policy, self.value_model = self.wrapper.policy, self.wrapper.value_model

    def forward(self, **inputs):
        output, values = self.wrapper(**inputs)
        output.logits = self.outputs(output.logits)
        return output, values.float()


class Round:
    """One part of the loop at one point: its names, what it is given, and what it leaves."""

    def __init__(self, seed, given):
        r = random.Random(f"ppo {seed}")
        self.sizes = {"B": 2 * r.randint(2, 9), "P": r.randint(11, 30), "T": r.randint(31, 60), "V": r.randint(70, 99)}
        torch.manual_seed(seed)
        self.model, self.recorder = Models(self.sizes["V"]), Quiet()
        self.given = given(self.sizes)
        names = (
            "approxkl_stats",
            "pg_clipfrac_stats",
            "pg_loss_stats",
            "vf_loss_stats",
            "vf_clipfrac_stats",
            "entropy_stats",
            "ratio_stats",
        )
        args = SimpleNamespace(
            per_device_train_batch_size=self.sizes["B"],
            local_rollout_forward_batch_size=self.sizes["B"],
            temperature=0.7,
            cliprange_value=0.2,
            cliprange=0.2,
            vf_coef=0.1,
            missing_eos_penalty=None,
            kl_estimator="k1",
            kl_coef=0.05,
            whiten_rewards=False,
            gamma=1.0,
            lam=0.95,
        )
        tokens = SimpleNamespace(pad_token_id=0, eos_token_id=1)
        self.space = {
            **vars(code),
            **{name: Sink() for name in names},
            "args": args,
            "model": self.model,
            "ref_policy": self.model.reference,
            "reward_model": self.model.reward,
            "accelerator": SimpleNamespace(unwrap_model=lambda model: model.wrapper),
            "processing_class": tokens,
            "context_length": self.sizes["P"],
            "i": 0,
            "empty_cache": lambda: None,
            "gc": SimpleNamespace(collect=lambda: None),
            "self": SimpleNamespace(stop_token_id=None, args=args, processing_class=tokens),
            "micro_batch_start": 0,
            "ppo_epoch_idx": 0,
            "minibatch_idx": 0,
            "gradient_accumulation_idx": 0,
            "selective_log_softmax": _whole_log_probs(lambda: self.recorder),
            "recurrence": self.recurrence,
            "get_reward": get_reward,
            "first_true_indices": first_true_indices,
            **self.given,
        }
        self.known = set(self.space)

    def recurrence(self, rewards):
        with self.recorder.silence():
            out = torch.zeros(rewards.shape[1], rewards.shape[0])
        self.recorder.fused("trl_advantages", [rewards], out)
        return [out]

    def tensors(self):
        """What the names of the loop hold, a block before the views of it."""
        names = [name for name in self.space if name not in self.known and name not in ("__builtins__", "micro_batch_inds")]
        names.sort(key=lambda name: (name != "output", name))
        for name in names:
            value = self.space[name]
            for t in (
                [value]
                if isinstance(value, torch.Tensor)
                else value.values()
                if isinstance(value, dict)
                else value
                if isinstance(value, list)
                else ()
            ):
                if isinstance(t, torch.Tensor):
                    yield t

    def see(self):
        """Tells the recorder of what the round before left: one block each, views of a block after it."""
        bases = {}
        for t in self.tensors():
            base = bases.setdefault(t.untyped_storage()._cdata, t)
            if base is t:
                self.recorder.operand(t)
            else:
                self.recorder.emit(Event("op", "alias", "loss", [self.recorder.operand(base)]), t)

    def record(self, run):
        holder = {}

        def whole():
            self.recorder = holder["recorder"]
            run()
            return {}

        t = trace(self.model, self.given, whole, holder)
        for meta in t.values:
            meta.cpu = False
        t.events = [marked(e) for e in t.events if e.name not in READS]
        return SimpleNamespace(function=functions(t), sizes=self.sizes, batch={n: t.values[v.id] for n, v in t.batch.items()})

    def mark(self, name, *values):
        self.recorder.emit(Event("op", name, "loss", [self.recorder.operand(v) for v in values]), None)


def marked(event):
    """The prepared models enter and leave autocast; the rest of their scopes is the loss's."""
    if event.kind in ("enter", "exit") and event.path == "wrapper":
        return Event("op", f"autocast_{event.kind}", "lm_head")
    if event.kind == "call":
        event.path = event.path.removeprefix("wrapper.")
    elif not event.name.startswith("autocast"):
        event.path = "loss"
    return event


def completions(sizes, rows):
    b, p, t = rows, sizes["P"], sizes["T"]
    numbers = lambda: torch.randn(b, t)
    return {
        "advantages": numbers(),
        "responses": torch.zeros(b, t, dtype=torch.long),
        "query_responses": torch.ones(b, p + t, dtype=torch.long),
        "logprobs": numbers(),
        "returns": numbers(),
        "values": numbers(),
        "padding_mask": torch.zeros(b, t, dtype=torch.bool),
        "padding_mask_p1": torch.zeros(b, t, dtype=torch.bool),
    }


def micro_batch(seed):
    """The second micro-batch of several, with what the first one left."""
    before, after = round_parts()
    part = Round(seed, lambda sizes: {**completions(sizes, 3 * sizes["B"]), "mini_batch_inds": torch.arange(3 * sizes["B"])})
    exec(before, part.space)
    exec(after, part.space)

    def run():
        part.see()
        part.mark("begin")
        exec(before, part.space)
        scaled = part.space["loss"] / 1
        part.mark("backward", scaled)
        del scaled
        exec(after, part.space)

    return part.record(run)


# Names that go once the pieces are put together.
DELETED = ("logprob", "ref_logprob", "full_value", "value", "score")
LISTS = ("responses", "postprocessed_responses", "logprobs", "ref_logprobs", "sequence_lengths", "scores", "values")


def score(seed):
    """A piece of the completions, scored by all models."""
    piece = lambda sizes: {
        "queries": torch.ones(sizes["B"], sizes["P"], dtype=torch.long),
        "query_responses": torch.ones(sizes["B"], sizes["P"] + sizes["T"], dtype=torch.long),
        "logitss": torch.randn(sizes["B"], sizes["T"], sizes["V"]),
    }
    part = Round(seed, piece)
    part.space.update({name: [] for name in LISTS})
    statements = score_part()

    def run():
        exec(statements, part.space)
        part.mark("scored")
        for name in (*LISTS, *DELETED):
            part.space.pop(name, None)

    with torch.no_grad():
        return part.record(run)


def advantages(seed):
    """What is made of the scores of all pieces (of one, which are put together all the same)."""

    def pieces(sizes):
        b, t = sizes["B"], sizes["T"]
        found = {name: torch.zeros(b, t) for name in ("logprobs", "ref_logprobs", "values")}
        return {
            **found,
            "responses": torch.zeros(b, t, dtype=torch.long),
            "postprocessed_responses": torch.zeros(b, t, dtype=torch.long),
            "sequence_lengths": torch.full((b,), t - 2),
            "scores": torch.zeros(b),
        }

    part = Round(seed, pieces)
    part.space.update({name: [part.space[name]] for name in LISTS})
    part.space.update({name: None for name in ("logprob", "ref_logprob", "full_value", "value", "score", "unwrapped_model")})
    statements = advantage_part()
    with torch.no_grad():
        return part.record(lambda: exec(statements, part.space))


PARTS = {"ppo": micro_batch, "ppo-score": score, "ppo-advantages": advantages}


def divided(graph):
    """A micro-batch as what makes the names of the one before, what runs up to the backward, and what runs after it."""
    body = graph["main"]["body"]
    begin, backward = (next(k for k, item in enumerate(body) if item.get("op") == name) for name in ("begin", "backward"))
    carried = [item for item in body[:begin] if "op" in item]
    (scaled,) = (name.removeprefix("%") for name in body[backward]["in"])
    before = [item for item in body[begin + 1 : backward]]
    held = [name for name in left(before, left(carried)) if name != scaled]
    after = [item for item in body[backward + 1 :] if item.get("drop") != [scaled]]
    inputs = graph["main"]["inputs"]
    return {
        **graph,
        "carried": carried,
        "main": {"inputs": inputs, "outputs": [scaled, *held], "body": [{"scope": "loss"}, *before]},
        "after": {"inputs": [*inputs, *held], "outputs": [], "body": [{"scope": "loss"}, *after]},
    }


def whole(graph):
    """A part with everything it leaves."""
    return {**graph, "main": {**graph["main"], "outputs": left(graph["main"]["body"])}}


def scored(graph):
    """A piece's scoring, with the names that live on until the next piece's are bound."""
    body = graph["main"]["body"]
    end = next(k for k, item in enumerate(body) if item.get("op") == "scored")
    return {**graph, "main": {**graph["main"], "outputs": left(body[:end]), "body": body[:end]}, "outlives": left(body)}


def graphs(log=print):
    """The content of the file."""
    import trl

    gc.disable()
    found = []
    for kind in PARTS:
        main, batch = graph_of(kind)
        graph = {"trainer": kind, "when": [{}], "batch": batch, "main": main}
        found.append({"ppo": divided, "ppo-score": scored}.get(kind, whole)(graph))
        log(f"{kind}: {len(main['body'])} instructions")
    return {"captured": {"trl": trl.__version__, "torch": torch.__version__.split("+")[0], "license": "Apache-2.0"}, "graphs": found}


def graph_of(kind):
    """A part's instructions, and the tensors it is given."""
    return fitted([PARTS[kind](seed) for seed in range(POINTS)], kind)
