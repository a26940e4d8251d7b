"""Writes test/terms/python-patterns.json: what Python's `re` says of patterns and texts, written and drawn at random.

usage: python capture/facts/python_patterns.py
"""

import json
import random
import re
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

WRITTEN = [
    r"^(?!.*visual).*(q_proj|k_proj)$",
    r"^(language_model|model)(?=\.)(?!.*(lm_head|emb)).*\.(q|v)_proj$",
    r".*layers\.[0-9]+\.mlp\..*",
    r"(?i)MODEL\..*",
    r"(?P<a>m)odel",
    r"(?<a>m)",
    r"(m)\1",
    r"m{1,3}o",
    r"m{,2}o",
    r"m{,}",
    r"m{2,1}",
    r"{",
    r"}",
    r"]",
    r"[]a]",
    r"[^]a]",
    r"[a-",
    r"[z-a]",
    r"[\d-x]",
    r"[a\-z]+",
    r"\Z",
    r"model\Z",
    r"\A",
    r"\z",
    r"\pL",
    r"\Q",
    r"\_",
    r"\-",
    r"a**",
    r"a*?",
    r"a*+",
    r"*",
    r"^*",
    r"(^)*",
    r"(?=m)*model",
    r"(?#c)model",
    r"(?#c",
    r"(?x) a",
    r"(?s:.)",
    r"(?-i:a)",
    r"a(?i)b",
    r"(?L)a",
    r"(?<=\.)q_proj",
    r"(?<!\.)q_proj",
    r"(?<=a+)b",
    r"(?<=ab|cd)e",
    r"(?<=ab|c)e",
    r"(",
    r")",
    r"(?",
    r"(?P<",
    r"(?P<1a>x)",
    r"\b",
    r"\bq",
    r"\Bq",
    r"\x6d\u006f",
    r"\x6",
    r"\155",
    r"\0",
    r"$",
    r"^$",
    r"a|",
    r"|",
    r"()",
    r"()*",
    r"(a|)*b",
    r"((a*)*)*b",
    r"(a+)+$",
    r"model.layers.0.self_attn.q_proj",
    r"[[:alpha:]]",
    r"\w+\.\w+",
    r"\S+\s",
    r"(?m)^q",
    r"(?m)model$",
    r"model$",
    r".",
    r"(?s).",
    r"é",
    r"(?a)\w",
    r"\N{DASH}",
    r"(?:a|ab)(?:c|bcd)",
    r"[\b]",
    r"(?(1)a|b)",
    r"re:.*down_proj$",
    r"layers\.\d+\.(?:mlp|self_attn)\.(?:up|down|q)_proj",
    r"(?>a)",
    r"(?u)a",
    r"(?im)^Q",
    r"(?i)(?i)q",
]
TEXTS = [
    "model.layers.0.self_attn.q_proj",
    "model.visual.blocks.3.attn.k_proj",
    "language_model.lm_head",
    "",
    "model",
    "aab",
    "abcd",
    "q\nmodel",
    "model\n",
    "model\n\n",
    "m{",
    "]a",
    "é_1",
    "MODEL.x",
    ".",
    "mmo",
    "a\tb",
]


def draw(rng: random.Random, depth: int) -> str:
    kinds = ["a", "b", ".", "[ab]", "[^a]", r"\d", r"\w", r"\.", "_", r"\b", "^", "$"]
    if depth == 0:
        return rng.choice(kinds)
    inner = lambda: draw(rng, depth - 1)  # noqa: E731
    return rng.choice(
        [
            lambda: inner() + inner(),
            lambda: f"({inner()}|{inner()})",
            lambda: f"(?:{inner()}){rng.choice(['*', '+', '?', '{2}', '{1,3}', '{,2}', '{2,}', '*?'])}",
            lambda: f"(?={inner()})",
            lambda: f"(?!{inner()})",
            lambda: f"(?<={rng.choice(['a', 'b.', 'ab|ba'])})",
            lambda: f"(?<!{rng.choice(['a', 'b.', 'ab|ba'])})",
            inner,
        ]
    )()


def answer(pattern: str, texts: list[str]) -> dict:
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return {"pattern": pattern, "invalid": True}
    ways = [("full", compiled.fullmatch), ("start", compiled.match), ("anywhere", compiled.search)]
    # Per text, which of fullmatch, match and search find something: a digit of three bits.
    found = ["".join(str(int(way(text) is not None)) for _, way in ways) for text in texts]
    return {"pattern": pattern, "found": "".join(str(int(bits, 2)) for bits in found)}


def main() -> None:
    rng = random.Random(17)
    drawn_texts = ["".join(rng.choice("ab_.1\n") for _ in range(rng.randrange(0, 8))) for _ in range(24)]
    drawn = sorted({draw(rng, rng.randrange(1, 6)) for _ in range(900)})
    rows = {
        "written": {"texts": TEXTS, "patterns": [answer(one, TEXTS) for one in WRITTEN]},
        "drawn": {"texts": drawn_texts, "patterns": [answer(one, drawn_texts) for one in drawn]},
    }
    path = Path(__file__).parent.parent.parent / "test/terms/python-patterns.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(rows, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
