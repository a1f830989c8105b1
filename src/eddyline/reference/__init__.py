"""The engine that says what is right: plain generators over the algebra, written for reading.

`engine` builds a pipeline from a plan, one generator per operator; `element` is what flows through it, `feed` what it
reads. `stream`, `window`, `relational`, `product` and `convert` are the operators of SNEEql, CQL and TelegraphCQ;
`tag`, `tag_join`, `tag_aggregation`, `coverage` and `marks` those of the Stream Tag Framework; `answers` tells the
reader. It imports `algebra` alone.
"""
