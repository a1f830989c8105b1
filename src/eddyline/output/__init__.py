"""The way of the data out: answers → JSON lines for programs (`jsonl`), tables for people (`table`)."""

from eddyline.output.jsonl import JsonLines
from eddyline.output.painting import Painter
from eddyline.output.progress import ProgressBar
from eddyline.output.rejects import RejectLog
from eddyline.output.table import Tables

__all__ = ["JsonLines", "Painter", "ProgressBar", "RejectLog", "Tables"]
