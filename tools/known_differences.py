"""Runs the reproducers of a page of known differences and counts which give what PyTorch gave.

    python tools/known_differences.py PAGE.md [title ...]

The page has a heading (``### title``), a Python program in a fence, and a line ``torch: `output` `` for each; lines of the output are joined
by `` / ``, and `` !! `` precedes the error that ended it.  A last section with the heading ``## name.py`` is a module that the programs import.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALIAS = "import rushlight.compat; rushlight.compat.install()\n"
ENTRY = re.compile(r"^### (?P<title>[^\n]*)\n+```python\n(?P<code>.*?)\n```\n(?P<rest>.*?)(?=^###? |\Z)", re.S | re.M)
MODULE = re.compile(r"^## (?P<name>\w+\.py)\n+```python\n(?P<code>.*?)\n```", re.S | re.M)


def outcome(code: str, folder: str, number: int) -> str:
    """What a program prints here, in the form of the page."""
    path = Path(folder) / f"program_{number}.py"
    path.write_text(ALIAS + code, encoding="utf8")
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join((str(ROOT), folder)))
    command = [sys.executable, "-W", "ignore", str(path)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)
    except subprocess.TimeoutExpired:
        return "!! no end after 300 s"
    error = f" !! {run.stderr.strip().splitlines()[-1]}" if run.returncode and run.stderr.strip() else ""
    return run.stdout.strip().replace("\n", " / ") + error


def same(found: str, wanted: str) -> bool:
    """Whether two outputs agree: the printed text, and that both end with an error or neither does."""
    texts = [re.sub(r"\s+", " ", each.partition("!!")[0]).strip(" /") for each in (found, wanted)]
    return texts[0] == texts[1] and ("!!" in found) == ("!!" in wanted)


def main(page: str, titles: list[str]) -> int:
    """Run the programs of a page, or those whose titles contain a word."""
    text = Path(page).read_text(encoding="utf8")
    entries = [each for each in ENTRY.finditer(text) if not titles or any(word.lower() in each["title"].lower() for word in titles)]
    with tempfile.TemporaryDirectory() as folder:
        for module in MODULE.finditer(text):
            (Path(folder) / module["name"]).write_text(module["code"], encoding="utf8")
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(lambda each: outcome(each[1]["code"], folder, each[0]), enumerate(entries)))
    agree = 0
    for entry, here in zip(entries, found):
        line = re.search(r"^torch: `(.*?)`\s*$", entry["rest"], re.S | re.M)
        wanted = line[1] if line else ""
        agree += same(here, wanted)
        if not same(here, wanted):
            print(f"{entry['title']}\n   here : {here[:300]}\n   torch: {wanted[:300]}", flush=True)
    print(f"{agree} of {len(entries)} agree")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
