"""Rows that stand in for a data set which is not on this machine: the columns that the script reads, each as long as anything asks."""

import ast
import functools
import io
import re

from ..sentences import say

FORMS = (
    (r"\b(DPO|CPO|ORPO|XPO|NashMD)Trainer\b", ("prompt", "chosen", "rejected")),
    (r"\bRewardTrainer\b", ("chosen", "rejected")),
    (r"\bKTOTrainer\b", ("prompt", "completion", "label")),
    (r"\b(GRPO|RLOO|OnlineDPO)Trainer\b", ("prompt",)),
    (r"\bcompletion_only_loss\b", ("prompt", "completion")),
    (r"\bassistant_only_loss\b", ("messages",)),
    (r"ForSequenceClassification\b|ForImageClassification\b|ForAudioClassification\b", ("label",)),
)
"""Columns that a trainer reads though the script does not say it, by what a script has of it (trl/docs: dataset formats; collators
hand `label` on to the model)."""

PROMPT = 64
"""Words of a prompt that has an answer."""

MADE_BY_SCRIPT = {
    "input_ids",
    "attention_mask",
    "token_type_ids",
    "labels",
    "pixel_values",
    "input_features",
    "input_values",
    "special_tokens_mask",
}
SPLITS = {"train", "validation", "test", "eval", "valid", "dev"}

KINDS = (
    (r"messages|conversations?$", lambda words: _turns(words)),
    (r"^(images?|img|picture)$", lambda words: _picture()),
    (r"^audio$", lambda words: {"array": [0.0] * 16_000 * 30, "sampling_rate": 16_000, "path": None}),
    (r"^(tokens|words)$", lambda words: ["a"] * words),
    (r"_tags$", lambda words: [0] * words),
    (r"[lL]abel|^target$|^class$|^score$|_id$|^id$|^idx$", lambda words: 0),
)
"""What a column holds by its name; a text where none of these says it."""


def _turns(words):
    half = " ".join(["a"] * (words // 2))
    return [{"role": "user", "content": half}, {"role": "assistant", "content": half}]


@functools.cache
def _picture():
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (640, 480)).save(file, "PNG")
    return {"bytes": file.getvalue(), "path": None}


def columns(source):
    """The columns that a script reads, in its order; those of its trainer where it names none. `source`: its bytes, as Python reads them."""
    text = source.decode("utf-8", "replace")
    found = dict.fromkeys(name for pattern, names in FORMS if re.search(pattern, text) for name in names)
    nodes = [*ast.walk(ast.parse(source))]
    settings, named = _settings(nodes), _named(nodes)
    for node in nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            if getattr(node.value, "id", getattr(node.value, "attr", None)) not in settings:
                _add(found, node.slice, named)
        elif isinstance(node, ast.keyword) and node.arg and re.search(r"text_field|column", node.arg):
            _add(found, node.value, named)
    for name in _written(nodes):
        found.pop(name, None)
    return tuple(found) or ("text",)


def _settings(nodes):
    """Names of dictionaries that the script writes down itself, and of the environment: their keys are no columns."""
    found = {"environ"}
    for node in nodes:
        if isinstance(node, ast.Assign) and (isinstance(node.value, ast.Dict) or _calls(node.value, "dict", "vars")):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def _calls(node, *names):
    return isinstance(node, ast.Call) and getattr(node.func, "id", None) in names


def _named(nodes):
    """Texts by the name that they are given in an assignment: `text_column = "Tweet text"`."""
    return {
        node.targets[0].id: node.value.value
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and re.search(r"column|field", node.targets[0].id)
        and isinstance(getattr(node.value, "value", None), str)
    }


def _written(nodes):
    """Columns that a function which `map` is given returns, written down, without reading them: they are the script's own."""
    return {
        key.value
        for node in nodes
        if isinstance(node, ast.Call) and getattr(node.func, "attr", None) == "map"
        for given in node.args
        if isinstance(given, ast.Lambda) and isinstance(given.body, ast.Dict)
        for key in given.body.keys
        if isinstance(key, ast.Constant)
        and not any(getattr(getattr(one, "slice", None), "value", None) == key.value for one in ast.walk(given.body))
    }


def _add(found, node, named):
    for one in node.elts if isinstance(node, (ast.List, ast.Tuple)) else (node,):
        name = named.get(one.id) if isinstance(one, ast.Name) else getattr(one, "value", None)
        of_script = isinstance(one, ast.Name)  # a column that is named so is one, however it is written
        if isinstance(name, str) and (name.isidentifier() or of_script) and name not in MADE_BY_SCRIPT | SPLITS:
            found[name] = None


def table(datasets, names, rows, words):
    """A data set of so many equal rows, each text with so many words."""
    answered = {"completion", "chosen"} & {*names}  # a prompt that fills the length would leave nothing to learn
    values = {name: _value(name, PROMPT if name == "prompt" and answered else words) for name in names}
    made = datasets.Dataset.from_dict({name: [value] * rows for name, value in values.items()})
    for name in names:
        if isinstance(values[name], dict) and "bytes" in values[name]:
            made = made.cast_column(name, datasets.Image())
        elif re.fullmatch("labels?|target|class", name, re.IGNORECASE) and values[name] == 0:
            made = made.cast_column(name, datasets.ClassLabel(names=["a", "b"]))  # scripts ask for the classes' names
    return made


def _value(name, words):
    kind = next((make for pattern, make in KINDS if re.search(pattern, name)), None)
    return kind(words) if kind is not None else " ".join(["a"] * words)


def install(datasets, source, rows, words, notes):
    """`load_dataset` gives the rows where it finds nothing on this machine."""
    loaded, names = datasets.load_dataset, columns(source)

    @functools.wraps(loaded)
    def load_dataset(path, *args, split=None, streaming=False, **given):
        try:
            return loaded(path, *args, split=split, streaming=streaming, **given)
        except (OSError, ValueError, ImportError):
            notes.add(say("rows", name=path, rows=rows, words=words, columns=", ".join(names)))
            made = table(datasets, names, rows, words)
            made = made.to_iterable_dataset() if streaming else made
            if split is not None:
                return made
            kinds = datasets.IterableDatasetDict if streaming else datasets.DatasetDict
            return kinds(dict.fromkeys(("train", "validation", "test"), made))

    datasets.load_dataset = load_dataset
    _shorter_where_dropped(datasets)


def _shorter_where_dropped(datasets):
    """Equal rows that a script drops for their length (TRL's reward trainer) are as long as it keeps."""
    kept = datasets.Dataset.filter

    @functools.wraps(kept)
    def filtered(self, function=None, *given, **more):
        found = kept(self, function, *given, **more)
        if len(found) or not len(self) or function is None or {"batched", "with_indices", "input_columns"} & more.keys():
            return found
        row = self[0]
        if row != self[len(self) - 1]:
            return found
        low, high = 0, max((len(v) for v in row.values() if isinstance(v, list)), default=0)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if function(_cut(row, middle)) else (low, middle)
        return self.map(lambda one: _cut(one, low)) if low else found

    datasets.Dataset.filter = filtered


def _cut(row, length):
    return {name: value[:length] if isinstance(value, list) else value for name, value in row.items()}
