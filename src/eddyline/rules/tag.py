"""Tag predicates move to the taggers: tags that the query is bound to discard are not made."""

from __future__ import annotations

from eddyline.algebra.dictionary import shipped
from eddyline.algebra.expression import Call, Column, Expr, Literal
from eddyline.algebra.node import Operator
from eddyline.algebra.stream import StreamAcquire, StreamAlias, StreamReceive, StreamSelect
from eddyline.algebra.tag import TaggedObjectSelection, Tagger, TagPredicate, TagSelection

#: operators that hand on the tags of their input as they are
_SAME_TAGS = (Tagger, StreamSelect, StreamAlias, StreamReceive, StreamAcquire)
_NEGATED = {True: False, False: True, None: None}


def push_tag_predicates(plan: Operator) -> Operator:
    """Take away taggers below a selection of tags whose tags can never satisfy it.

    All that a tagger's tags say is known beforehand, except when; and a tagger overwrites only its own tags, so others
    do not change when it is gone. Tagged objects that are shown *with* tags need them all and keep every tagger.
    """
    plan = plan.with_inputs(*(push_tag_predicates(operator) for operator in plan.inputs))
    if isinstance(plan, TagSelection) or (isinstance(plan, TaggedObjectSelection) and not plan.with_tags):
        return plan.with_inputs(_without_idle(plan.inputs[0], plan.predicate))
    return plan


def _without_idle(node: Operator, predicate: TagPredicate) -> Operator:
    if not isinstance(node, _SAME_TAGS):
        return node  # what is below is counted, grouped or joined by its tags, and needs them all
    below = [_without_idle(operator, predicate) for operator in node.inputs]
    if isinstance(node, Tagger) and not _may_satisfy(node, predicate):
        return below[0]
    return node.with_inputs(*below)


def _may_satisfy(tagger: Tagger, predicate: TagPredicate) -> bool:
    on = tagger.tag.attributes
    if on is not None and any(attribute not in on for attribute in predicate.attributes):
        return False
    return predicate.where is None or _truth(predicate.where, tagger) is not False


def _truth(expr: Expr, tagger: Tagger) -> bool | None:
    """Whether a condition holds for every tag of the tagger; None if that cannot be told beforehand."""
    if isinstance(expr, Literal):
        return expr.value if isinstance(expr.value, bool) else None
    if not isinstance(expr, Call):
        return None
    if expr.function == "not":
        return _NEGATED[_truth(expr.arguments[0], tagger)]
    if expr.function in ("and", "or"):
        decisive = expr.function == "or"
        truths = [_truth(argument, tagger) for argument in expr.arguments]
        if decisive in truths:
            return decisive
        return None if None in truths else not decisive
    if expr.function in ("=", "!=", "in"):
        values = [_constant(argument, tagger) for argument in expr.arguments]
        if any(not isinstance(value, str) for value in values):
            return None
        return (values[0] in values[1:]) != (expr.function == "!=")
    return None


def _constant(expr: Expr, tagger: Tagger) -> object:
    if isinstance(expr, Literal):
        return expr.value
    if isinstance(expr, Column):
        spec = tagger.tag
        known = {
            "TAG": spec.content,
            "TAG_SIGN": spec.sign,
            "TAG_MODE": spec.mode,
            "TAGGER": tagger.tagger,
            "TAG_TYPE": spec.type or shipped().classify(spec.content),
        }
        return known.get(expr.name)
    return None
