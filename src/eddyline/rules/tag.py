"""Tag predicates move to the streams: tags of continuous taggers that the query is bound to discard are not made."""

from __future__ import annotations

from dataclasses import replace

from eddyline.algebra.node import Operator
from eddyline.algebra.stream import StreamAcquire, StreamAlias, StreamReceive, StreamSelect
from eddyline.algebra.tag import TaggedObjectSelection, Tagger, TagPredicate, TagSelection

#: operators that hand on the tags of their input as they are
_SAME_TAGS = (Tagger, StreamSelect, StreamAlias)


def push_tag_predicates(plan: Operator) -> Operator:
    """Let a stream below a selection of tags know which tags are wanted.

    A tagger overwrites only its own tags, so others do not change when its tags are not made. Tagged objects that are
    shown *with* tags need them all.
    """
    plan = plan.with_inputs(*(push_tag_predicates(operator) for operator in plan.inputs))
    if isinstance(plan, TagSelection | TaggedObjectSelection):
        needs_all = plan.predicate == TagPredicate() or (isinstance(plan, TaggedObjectSelection) and plan.with_tags)
        return plan if needs_all else plan.with_inputs(_wanting(plan.inputs[0], plan.predicate))
    return plan


def _wanting(node: Operator, predicate: TagPredicate) -> Operator:
    if isinstance(node, StreamReceive | StreamAcquire):
        return replace(node, tags_wanted=predicate) if node.tags_wanted is None else node
    if not isinstance(node, _SAME_TAGS):
        return node  # what is below is counted, grouped or joined by its tags, and needs them all
    return node.with_inputs(*(_wanting(operator, predicate) for operator in node.inputs))
