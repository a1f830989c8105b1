"""The picture of join trees: every node once, nothing over anything else, and a file that is a PNG."""

from __future__ import annotations

import itertools
from pathlib import Path

from PIL import Image

from eddyline.algebra.join_drawing import DrawnJoin, DrawnNode
from eddyline.output.join_picture import draw, layout


def leaf(at: int) -> DrawnNode:
    return DrawnNode(f"input{at}", "10", "100", "1 KiB", "0.1", ("another", "(one more)"), (0.25, 0.5))


def stored(*children: DrawnNode) -> DrawnNode:
    names = " ".join(child.name for child in children)
    return DrawnNode(names, "1", "10", "2 KiB", "0.2", ("rest",), (0.5, 1.0), children)


#: deep on one side, wide on the other, and a node whose name is wider than its children
TREE = DrawnNode("all", "5", children=(stored(stored(leaf(0), leaf(1)), leaf(2)), stored(*map(leaf, range(3, 23)))))


def test_no_box_is_over_another_and_all_are_there() -> None:
    boxes = list(layout(TREE, 0, 0).walk())
    assert [box.node for box in boxes] == list(TREE.walk())
    for one, other in itertools.combinations(boxes, 2):
        apart = one.left + one.width <= other.left or other.left + other.width <= one.left
        assert apart or one.bottom <= other.top or other.bottom <= one.top, (one.node.name, other.node.name)
    assert all(box.left >= 0 for box in boxes)


def test_what_a_node_says_is_in_its_box() -> None:
    (box,) = layout(leaf(7), 0, 0).walk()
    assert box.lines == ("input7", "10 tuples/s", "100 stored, 1 KiB", "0.1 cpu", "probes another, (one more)")


def test_several_joins_stand_below_each_other(tmp_path: Path) -> None:
    join = DrawnJoin("q: join tree", ("mjoin", "assumed: nothing"), stored(leaf(0), leaf(1)))
    unfit = DrawnJoin("r: ⋈ with other letters é", ("too much " * 60,), TREE, fits=False)
    sizes = []
    for number, joins in enumerate(([join], [join, unfit])):
        path = tmp_path / f"{number}.png"
        draw(joins, path)
        with Image.open(path) as found:
            assert found.format == "PNG"
            sizes.append(found.size)
            colours = {colour for _, colour in found.convert("RGB").getcolors(1 << 24) or ()}
            assert ((0xC8, 0x70, 0x2F) in colours) and ((0xC8, 0x40, 0x2F) in colours) == bool(number)
    assert sizes[1][0] > sizes[0][0] and sizes[1][1] > sizes[0][1]
