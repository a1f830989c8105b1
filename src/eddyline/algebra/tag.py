"""Tick-tags and the operators on them (Stream Tag Framework)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from eddyline.algebra.dictionary import Dictionary, Words, extended, shipped
from eddyline.algebra.expression import Aggregate, Named, TypedExpr
from eddyline.algebra.node import Operator, StreamOp, WindowOp, require_columns, require_predicate
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.stream import with_implicit
from eddyline.algebra.types import BIGINT, BOOLEAN, STRING, array
from eddyline.algebra.user_function import UserFunction
from eddyline.errors import InvalidAlgebra, InvalidTag

OVERWRITE, COMBINE = "O", "C"
#: a tag is a label, which is kept and sent with every tuple that it covers; who has more to say has a text
MAX_CONTENT = 1_000
#: the tagger of statements, which no stream and no query is called, and no source names
USER = "user"
#: so many tags of a stream may wait for tuples that come later than the next one; of more the oldest are forgotten
MOST_WAITING = 10_000
TYPES = ("objective", "subjective", "physical", "acronym", "junk")


def wrong_content(content: str) -> str | None:
    """Why a text cannot be what a tag says; None if it can.

    >>> wrong_content("  ")
    'a tag needs a content: a text that is not empty'
    """
    if not content.strip():
        return "a tag needs a content: a text that is not empty"
    if len(content) > MAX_CONTENT:
        return f"a tag's content has at most {MAX_CONTENT} characters, this has {len(content)}"
    return None


@dataclass(frozen=True)
class Applicability:
    """The objects that a tick-tag describes; None means any.

    `tuples` are indexes of the stream. `attributes` are names of attributes; none means the tuple as a whole.
    With `by_value` the tag is on the value of each attribute, not on the attribute: it follows the value that the
    first tuple after the tag has (or matches `values`), and not other values of that attribute.
    `values` and `attribute_pattern` are regular expressions that must match the whole text.
    """

    stream: str
    tuples: tuple[int, ...] | None = None
    attributes: tuple[str, ...] | None = None
    attribute_pattern: str | None = None
    by_value: bool = False
    values: str | None = None

    @property
    def whole_tuple(self) -> bool:
        """Whether the tag is on tuples as a whole rather than on some of their attributes."""
        return not self.attributes and self.attribute_pattern is None

    @property
    def any_tuple(self) -> bool:
        """Whether it does not matter which tuple it is and what is in it."""
        return self.tuples is None and self.values is None and not self.by_value

    def describes(self, attribute: str) -> bool:
        """Whether the tag is on this attribute, by name or by pattern; a tag on the tuple is on none of them.

        >>> Applicability("Patients", attribute_pattern="m.*").describes("Measure")
        True
        """
        if attribute.lower() in (name.lower() for name in self.attributes or ()):
            return True
        pattern = self.attribute_pattern
        return pattern is not None and re.fullmatch(pattern, attribute, re.IGNORECASE) is not None

    def positions(self, schema: Schema) -> frozenset[int] | None:
        """Where the attributes stand in a tuple; None for the tuple as a whole."""
        if self.whole_tuple:
            return None
        return frozenset(i for i, field in enumerate(schema.fields) if self.describes(field.name))


@dataclass(frozen=True)
class TickTag:
    """One tick-tag, with the fields of the paper's Figure 3."""

    content: str
    applies_to: Applicability
    tagger: str
    timestamp: int
    type: str
    sign: str | None = None  # '+', '-' or None for neutral
    lifespan: int | None = None  # in ticks; None is instant
    mode: str = OVERWRITE
    number: int = 0  # tells tags apart that are alike in everything else

    def __hash__(self) -> int:
        # tags are looked up all the time, and these fields nearly always tell them apart
        return hash((self.content, self.tagger, self.timestamp, self.number))

    @property
    def end(self) -> int | None:
        """The first tick after its life; None if it is instant."""
        return None if self.lifespan is None else self.timestamp + self.lifespan

    @property
    def may_wait(self) -> bool:
        """Whether nothing but its tuples ends it, and the next one may be none of them."""
        return self.lifespan is None and not self.applies_to.any_tuple


@dataclass(frozen=True)
class TagSpec:
    """What an ATTACH statement says about the tags it makes."""

    content: str
    attributes: tuple[str, ...] | None = None
    by_value: bool = False
    sign: str | None = None
    lifespan: int | None = None
    mode: str = OVERWRITE
    type: str | None = None  # by the dictionary as it was when the statement came; None: by the shipped one

    def __post_init__(self) -> None:
        if self.sign not in ("+", "-", None):
            raise InvalidTag(f"a tag's sign is '+' or '-', not {self.sign!r}")
        if self.lifespan is not None and self.lifespan <= 0:
            raise InvalidTag(f"a tag cannot live for {self.lifespan} ticks; an instant tag has TAG_LIFESPAN = I")
        if self.mode not in (OVERWRITE, COMBINE):
            raise InvalidTag(f"a tag's mode is OVERWRITE or COMBINE, not {self.mode!r}")

    def tag(
        self, stream: str, tagger: str, tick: int, type_: str, number: int, tuples: tuple[int, ...] | None = None
    ) -> TickTag:
        """The tick-tag that this makes at a tick; the dictionary of the engine knows its type."""
        applies_to = Applicability(stream, tuples, self.attributes, by_value=self.by_value)
        return TickTag(self.content, applies_to, tagger, tick, type_, self.sign, self.lifespan, self.mode, number)


@dataclass(frozen=True)
class Withdrawal:
    """What a DETACH statement takes back: its tagger's tags of one content, from whole tuples (no attributes),
    attributes or their values; with a condition, over the columns, tick and index, only from tuples that satisfy it."""

    content: str
    tagger: str
    attributes: tuple[str, ...] | None = None
    by_value: bool = False
    condition: TypedExpr | None = None


#: what a tag predicate can read: SELECT TAGS … WHERE TAG = …, TAGSIGN = …
TAG_RELATION = "$tag"
TAG_SCHEMA = Schema(
    (
        Field("TAG", STRING, TAG_RELATION),
        Field("TAG_SIGN", STRING, TAG_RELATION),
        Field("TAG_TYPE", STRING, TAG_RELATION),
        Field("TAG_LIFESPAN", BIGINT, TAG_RELATION),
        Field("TAG_MODE", STRING, TAG_RELATION),
        Field("TAGGER", STRING, TAG_RELATION),
        Field("TAG_TIME", BIGINT, TAG_RELATION),
    )
)


#: a tick-tag as a tuple of FROM TAGS OF a stream; attributes, pattern and tuples are NULL if any will do
TAG_HISTORY_SCHEMA = Schema(
    (
        Field("content", STRING),
        Field("sign", STRING),
        Field("type", STRING),
        Field("tagger", STRING),
        Field("lifespan", BIGINT),
        Field("mode", STRING),
        Field("time", BIGINT),
        Field("attributes", array(STRING)),
        Field("by_value", BOOLEAN),
        Field("pattern", STRING),
        Field("tuples", array(BIGINT)),
    )
)


@dataclass(frozen=True)
class TagPredicate:
    """A search predicate on tags: `where` over TAG_SCHEMA, and the attributes (`OBJECT = s.a`) it must apply to;
    `whole`: it must be on whole tuples (`OBJECT = s`), `by_value`: on values of attributes (`OBJECT = s.a.value`)."""

    where: TypedExpr | None = None
    attributes: tuple[str, ...] = ()
    whole: bool = False
    by_value: bool = False

    def check(self) -> None:
        if self.where is not None:
            require_predicate(self.where, TAG_SCHEMA, "a tag predicate")


@dataclass(frozen=True)
class Tagger(StreamOp):
    """Puts a tick-tag in front of the tuples that satisfy the condition: every one if continuous, else the first.

    A continuous one tags those that come while it stands: behind the index `after`, up to `until` once it has ended.
    """

    tag: TagSpec
    tagger: str
    condition: TypedExpr | None
    continuous: bool
    input: StreamOp
    after: int = 0
    until: int | None = None

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def asked(self) -> Schema:
        """What the condition reads: the columns of a tuple, tick and index."""
        return with_implicit(self.input.schema)

    @property
    def tagged(self) -> bool:
        return True

    def check(self) -> None:
        if self.condition is not None:
            require_predicate(self.condition, self.asked, "Tagger")

    def stood_at(self, index: int) -> bool:
        """Whether it stood when the tuple with this index came."""
        return self.after < index and (self.until is None or index <= self.until)

    def tag_for(self, stream: str, index: int, tick: int) -> TickTag:
        """The tag that it makes for a tuple, if it is continuous: one of its own for each."""
        type_ = self.tag.type or shipped().classify(self.tag.content)
        return self.tag.tag(stream, self.tagger, tick, type_, index, (index,))


@dataclass(frozen=True)
class TagSelection(StreamOp):
    """The tick-tags, without their objects, that satisfy the predicate."""

    predicate: TagPredicate
    input: StreamOp

    @property
    def schema(self) -> Schema:
        return self.input.schema

    def check(self) -> None:
        self.predicate.check()


@dataclass(frozen=True)
class TagHistory(StreamOp):
    """The tick-tags of a stream as tuples of TAG_HISTORY_SCHEMA, each at its own tick; they carry no tags."""

    relation: str
    input: StreamOp

    @property
    def schema(self) -> Schema:
        return TAG_HISTORY_SCHEMA.renamed(self.relation)

    @property
    def tagged(self) -> bool:
        return False


@dataclass(frozen=True)
class TaggedObjectSelection(StreamOp):
    """The tuples that hold an object whose tag satisfies the predicate, with all their tags or with none."""

    predicate: TagPredicate
    with_tags: bool
    input: StreamOp

    @property
    def schema(self) -> Schema:
        return self.input.schema

    def check(self) -> None:
        self.predicate.check()


@dataclass(frozen=True)
class TagFunction:
    """How two tags are compared: `equality` or `dictionary` (of their contents), `cooccurrence` or `jaccard` (of
    the objects that carry them; `threshold` is a number of objects, or a share of them), or by a function of the
    user's own (`definition`), of their contents, that says whether they match or gives a score.

    `words` are those of the user's own that the dictionary had when the query was created: it does not change later.
    """

    name: str
    threshold: float = 0.0
    definition: UserFunction | None = None
    words: tuple[Words, ...] = ()

    def __post_init__(self) -> None:
        if self.definition is None and self.name not in ("equality", "dictionary", "cooccurrence", "jaccard"):
            raise InvalidAlgebra(f"{self.name} is not a tag function")

    @property
    def dictionary(self) -> Dictionary:
        return extended(self.words)


@dataclass(frozen=True)
class TagJoin(StreamOp):
    """The tagged objects of two sliding windows (in ticks) whose tags match, each match behind its stix.

    The output has the fields of both sides; an object of one side has NULL in the fields of the other.
    """

    function: TagFunction
    left_range: int
    right_range: int
    left: StreamOp
    right: StreamOp

    @property
    def schema(self) -> Schema:
        return self.left.schema + self.right.schema


#: the label of a tag group in the output of a tag-based aggregation
GROUP_LABEL = "tag"


def _tag_aggregation_schema(aggregates: tuple[Named, ...]) -> Schema:
    return Schema((Field(GROUP_LABEL, STRING), *(Field(a.name, a.expr.type) for a in aggregates)))


def _check_aggregates(aggregates: tuple[Named, ...], source: Operator, where: str) -> None:
    for column in aggregates:
        require_columns(column.expr, source.schema, where)
        if not isinstance(column.expr, Aggregate):
            raise InvalidAlgebra(f"{column.name} is not an aggregate")


@dataclass(frozen=True)
class TagAggregation(StreamOp):
    """Running aggregates per tag group over all tuples so far; each tuple's answer replaces its group's last one."""

    function: TagFunction
    aggregates: tuple[Named, ...]
    untagged: bool  # whether tuples without tags form a group of their own
    input: StreamOp

    @property
    def schema(self) -> Schema:
        return _tag_aggregation_schema(self.aggregates)

    def check(self) -> None:
        _check_aggregates(self.aggregates, self.input, "TagAggregation")


@dataclass(frozen=True)
class WindowTagAggregation(WindowOp):
    """The same over each window: one tuple per tag group."""

    function: TagFunction
    aggregates: tuple[Named, ...]
    untagged: bool
    input: WindowOp

    @property
    def schema(self) -> Schema:
        return _tag_aggregation_schema(self.aggregates)

    def check(self) -> None:
        _check_aggregates(self.aggregates, self.input, "WindowTagAggregation")
