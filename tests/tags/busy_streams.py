"""Long streams with many tags, for the tests of operators that compare them."""

from __future__ import annotations

import json
import random
from typing import Any


def busy(seed: int, rows: int = 30) -> list[str]:
    """A stream in which most tuples have tags, some come late, and some are corrected."""
    chance = random.Random(seed)
    found, tick, standing = [], 0, []
    for number in range(1, rows + 1):
        tick += chance.choice([0, 0, 1, 2])
        if chance.random() < 0.5:
            tag: dict[str, Any] = {"content": chance.choice(["Joyful", "Happy", "Sad", " sad", "Late"])}
            tag |= {"lifespan": chance.choice([1, 4, 9]), "tagger": chance.choice("uvw"), "mode": chance.choice("OC")}
            if chance.random() < 0.4:
                tag["applies_to"] = {"attributes": chance.choice([["a"], ["b"], ["a", "b"]])}
            found.append({"_op": "#", "_tag": tag, "t": tick})
        came = tick if chance.random() < 0.8 else max(0, tick - 3)
        found.append({"id": number, "a": chance.randrange(4), "b": chance.choice("xy"), "t": came})
        standing.append(number)
        if chance.random() < 0.15:
            ref = standing.pop(chance.randrange(len(standing)))
            if chance.random() < 0.5:
                found.append({"_op": "-", "_ref": ref})
            else:
                found.append({"_op": "=", "_ref": ref, "id": ref, "a": 9, "b": "z", "t": max(0, tick - 2)})
                standing.append(ref)
    return [json.dumps(row) for row in found]
