"""Files of facts that formats read as data."""

import json
from pathlib import Path


def save(file: Path, about: str, source: str, module: str, **content: object) -> None:
    """Writes a file that says what it holds, of what source, and which module of this folder wrote it."""
    said = {"about": about, "source": source, "writtenBy": f"python -m capture.facts.{module}", **content}
    file.write_text(json.dumps(said, indent=2) + "\n")
