"""What statements on tags are in a log: the texts of ad hoc tags, that wait for a tuple or stand at once."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from eddyline.algebra.tag import Tagger, TagSpec

#: what the text of an attachment in the log begins with; that of a source's tag is JSON
ATTACHED = "ATTACH "
#: that of one that need not wait: what is in the log in the end is the tag
AT_ONCE = "TAG "
#: what stands in place of it where an attachment has become a tag
MADE = "MADE"


def attachment_text(tagger: Tagger) -> str:
    """An ad hoc ATTACH TAG that waits for its first tuple, as it stands in the log."""
    where = None if tagger.condition is None else [tagger.condition, tagger.asked]
    value = {"spec": asdict(tagger.tag), "tagger": tagger.tagger, "where": _packed(where)}
    return ATTACHED + json.dumps(value)


def tag_text(tagger: Tagger) -> str:
    """An ad hoc tag that stands where the clock stands."""
    return AT_ONCE + json.dumps({"spec": asdict(tagger.tag), "tagger": tagger.tagger})


def spec_of(value: Mapping[str, Any]) -> TagSpec:
    spec = dict(value["spec"])
    spec["attributes"] = None if spec["attributes"] is None else tuple(spec["attributes"])
    return TagSpec(**spec)


def _packed(where: Any) -> str | None:
    return None if where is None else base64.b64encode(pickle.dumps(where)).decode()
