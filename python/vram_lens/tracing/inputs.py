"""Example inputs of a model: how they are written, how they are guessed, and the tensors that they are at one size.

`idx=int64[B,S] images=float[B,3,I,I] t=int64[B] return_loss=True`: a name, a dtype and sides, which are numbers or the sizes of a run
(`B` samples, `S` tokens, `T` target tokens, `I` side of a picture, `A` samples of sound), `2*S` and `I//8` among them. `float` is the
dtype of the weights, float32 under autocast. `S=191` beside them is one size that a graph is made for. Anything else is a value of
Python's, handed on as it is.
"""

import ast
import inspect
import random
import re
from dataclasses import dataclass

import torch

from ..sentences import say

LETTERS = {"B": "samples", "S": "tokens", "T": "target tokens", "I": "side of a picture", "A": "samples of sound"}
_TENSOR = re.compile(r"(\w+)\[([^\]]*)\]$")
_SIDE = re.compile(r"[BSTIA\d+*/() -]+$")
DTYPES = ("float", "float32", "float16", "bfloat16", "int64", "int32", "bool", "uint8", "complex64")


class Unreadable(Exception):
    """What was written is no description of inputs; the sentence is for a person."""


@dataclass(frozen=True)
class Tensor:
    name: str
    dtype: str
    sides: tuple

    def __str__(self):
        return f"{self.name}={self.dtype}[{','.join(self.sides)}]"

    def at(self, sizes, follows):
        """The tensor at some sizes; `follows` is the dtype that `float` stands for."""
        shape = [eval(side, {"__builtins__": {}}, dict(sizes)) for side in self.sides]
        dtype = follows if self.dtype == "float" else getattr(torch, self.dtype)
        return torch.zeros(shape, dtype=dtype, device="cuda")


@dataclass(frozen=True)
class Plain:
    name: str
    text: str

    def __str__(self):
        return f"{self.name}={self.text}"

    def at(self, sizes, follows):
        return ast.literal_eval(self.text)


def read(text):
    """Inputs as they are written."""
    result = []
    for word in _words(text):
        name, equals, said = word.partition("=")
        if not equals or not name.isidentifier():
            raise Unreadable(say("input-form", word=word))
        found = _TENSOR.match(said)
        if found and found[1] in DTYPES:
            sides = tuple(side.strip() for side in found[2].split(",") if side.strip())
            if not all(_SIDE.match(side) for side in sides):
                raise Unreadable(say("input-sides", word=word, letters=", ".join(LETTERS)))
            result.append(Tensor(name, found[1], sides))
            continue
        try:
            ast.literal_eval(said)
        except (ValueError, SyntaxError):
            raise Unreadable(say("input-value", word=word, dtypes=", ".join(DTYPES))) from None
        result.append(Plain(name, said))
    return result


def _words(text):
    """Words of a line; blanks inside brackets and quotes belong to theirs."""
    words, depth, quote, word = [], 0, "", ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "[({":
            depth += 1
        elif sign in "])}":
            depth -= 1
        elif sign.isspace() and depth == 0:
            words.append(word)
            word = ""
            continue
        word += sign
    return [w for w in [*words, word] if w]


def pinned(inputs):
    """Inputs without the sizes that they say, and these: `S=191` is one where a tensor has `S` for a side."""
    named = letters(inputs)
    size = lambda one: isinstance(one, Plain) and one.name in named and one.text.isdigit() and int(one.text) > 0
    return [one for one in inputs if not size(one)], {one.name: int(one.text) for one in inputs if size(one)}


def letters(inputs):
    """Sizes that inputs name."""
    return [x for x in LETTERS if any(isinstance(i, Tensor) and re.search(rf"\b{x}\b", ",".join(i.sides)) for i in inputs)]


# Names of arguments by what they hold; the first that matches.
TOKENS = re.compile(r"idx|ids?$|tokens?$|input_ids|text|seq$|src$|prompt")
ANSWERS = re.compile(r"targets?$|labels?$|^tgt$")
STEPS = re.compile(r"^(t|times?|timesteps?|sigma|noise_labels|step)$")
CLASSES = re.compile(r"^(y|class_labels|classes|labels?)$")


def guesses(model):
    """Lists of inputs that a model may take, the likeliest first, by the names of its arguments and its first weights."""
    parameters = [p for p in inspect.signature(model.forward).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    needed = [p for p in parameters if p.default is p.empty]
    optional = [p for p in parameters if p.default is not p.empty and ANSWERS.search(p.name)]
    if not needed and any(p.kind is p.VAR_POSITIONAL for p in inspect.signature(model.forward).parameters.values()):
        needed = [inspect.Parameter("x", inspect.Parameter.POSITIONAL_ONLY)]
    if not needed:
        needed = parameters[:1]
    for first in _firsts(model, needed[0].name if needed else "x"):
        rest = [_beside(p.name, first, model) for p in needed[1:]]
        begin = [_named(needed[0].name, first), *rest] if needed else []
        for extra in [optional[:1], []] if optional else [[]]:
            yield begin + [_beside(p.name, first, model) for p in extra]


def _named(name, first):
    return Tensor(name, *first)


def _firsts(model, name):
    """Dtype and sides of the first input: by the first module that has weights, then what models mostly take."""
    seen = []
    for module in model.modules():
        kind, width = type(module).__name__, None
        if isinstance(module, torch.nn.Embedding):
            seen.append(("int64", ("B", "S")))
        elif isinstance(module, torch.nn.Conv2d):
            seen.append(("float", ("B", str(module.in_channels), "I", "I")))
        elif isinstance(module, torch.nn.Conv1d):
            seen.append(("float", ("B", str(module.in_channels), "S")))
        elif isinstance(module, torch.nn.Conv3d):
            seen.append(("float", ("B", str(module.in_channels), "I", "I", "I")))
        elif isinstance(module, torch.nn.Linear):
            width = module.in_features
        elif "Norm" in kind and module._parameters.get("weight") is not None and module.weight.ndim == 1:
            width = module.weight.shape[0]
        if width is not None:
            seen += [("float", ("B", "S", str(width))), ("float", ("B", str(width)))]
        if len(seen) > 8:
            break
    usual = [("int64", ("B", "S")), ("float", ("B", "3", "I", "I")), ("float", ("B", "1", "I", "I"))]
    ordered = list(dict.fromkeys([*seen, *usual]))
    if TOKENS.search(name):
        ordered.sort(key=lambda one: one[0] != "int64")
    elif re.search(r"im(g|age)|pixel|pict", name):
        ordered.sort(key=lambda one: len(one[1]) != 4)
    return ordered


def _beside(name, first, model):
    """What an argument beside the first one may be."""
    if STEPS.match(name):
        return Tensor(name, "float" if name == "sigma" else "int64", ("B",))
    if ANSWERS.search(name) or CLASSES.match(name):
        return Tensor(name, "int64", first[1] if first[0] == "int64" else ("B",))
    if "mask" in name:
        return Tensor(name, "bool", first[1][:2])
    return _named(name, first)


LADDERS = {
    "B": (1,),
    "S": (1, 8, 16, 32, 64, 128, 256),
    "T": (1, 8, 16, 32, 64),
    "I": (1, 8, 16, 32, 64),
    "A": (1, 16, 160, 320, 1024),
}
"""What a size may have to be a multiple of."""
RANGES = {"B": (2, 40), "S": (11, 64), "T": (11, 64), "I": (65, 260), "A": (4000, 20000)}
USUAL = {"B": (2, 1), "S": (128, 256, 512, 1024, 64, 32, 16), "T": (128, 64), "I": (224, 256, 32, 28, 64, 128, 384, 512), "A": (16000,)}

FAR = {"S": 777, "T": 777}
"""How much longer than those a length is that is tried once: windows of attention are 64 to 512 long."""


def drawn(letter, step, count, seed):
    """So many different values of a size, all multiples of a step, in no proportion to each other."""
    low, high = RANGES[letter]
    values = [v for v in range(low, max(high, low + step * 3 * count)) if v % step == 0]
    r = random.Random(f"{seed} {letter} {step}")
    return r.sample(values, count)
