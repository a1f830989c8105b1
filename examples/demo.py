"""`make demo`: what the papers describe, one scenario after the other, with a word on what to look at."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown
from rich.rule import Rule

HERE = Path(__file__).parent

SCENARIOS = (
    (
        "road",
        "Sensors, a stream and a table",
        "Three standing queries on SNEEql's road. *vibrations* answers tuple by tuple; *extremes* answers window by "
        "window, with several windows at one tick when several vehicles pass; *classes* joins sensors with a table "
        "and says only what is new.",
    ),
    (
        "stocks",
        "Windows as for-loops",
        "TelegraphCQ's stock prices: a snapshot, a window that hops, a stream joined with itself, and one that walks "
        "backward in time.",
    ),
    (
        "correction",
        "An answer is corrected",
        "Borealis' example. When the price of 2:00 turns out to be 22 and not 25, both sums that used it are revised: "
        "80 becomes 77, and 62 becomes 59. Nobody had to ask again.",
    ),
    (
        "patients",
        "Tags travel with the data",
        "People label live data, a standing query labels it too, and every result shows the labels of what it was "
        "computed from.",
    ),
)


def main() -> int:
    console = Console()
    for name, title, text in SCENARIOS:
        script = HERE / name / f"{name}.sql"
        console.print(Rule(f"[bold]{title}[/bold]"))
        console.print(Markdown(text))
        console.print(f"\n[dim]$ eddyline run {script.relative_to(HERE.parent)}[/dim]\n")
        done = subprocess.run([sys.executable, "-m", "eddyline", "run", str(script)], check=False)
        if done.returncode != 0:
            return done.returncode
        console.print()
    console.print(Rule())
    console.print("The scripts and their data are in [bold]examples/[/bold]; change them and run them again.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
