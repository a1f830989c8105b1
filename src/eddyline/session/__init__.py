"""A script, from its text to its answers: what the CLI and tests run.

1. `language.parse_script` cuts and parses the text.
2. `binder.StatementBinder` resolves each statement into a step.
3. `Session` runs the steps in their order: queries register, files flow (`sources.merged`), corrections and tags are
   applied (`inflow`).
4. The reference engine turns every batch into changes of each query's answer; `reference.Reporter` tells them.
"""

from eddyline.session.checking import check
from eddyline.session.explaining import Explained, explain_queries
from eddyline.session.script_run import Progress, ScriptRun, needs_reference
from eddyline.session.session import Session

__all__ = ["Explained", "Progress", "ScriptRun", "Session", "check", "explain_queries", "needs_reference"]
