"""Rows of a file of receipts, one JSON object a line."""

import json
import pathlib


def rows_of(file):
    """The rows of a file by its path; none where it is not there yet."""
    path = pathlib.Path(file)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def drawn_in(file):
    """Ids of the cases that a file has rows of: they are not drawn again."""
    return {row["case"]["id"] for row in rows_of(file)}
