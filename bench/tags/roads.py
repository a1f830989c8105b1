"""A road network, and objects that move on it along the fastest ways and report where they are.

The network is a grid of crossings that were shifted at random, with motorways, main roads and side streets, some of
which are missing. Cars, cyclists and pedestrians travel from one place of interest to the next, each as fast as the
street and its kind allow. Miles, seconds, miles an hour. Everything is drawn from one seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: crossings on a side, miles between two of them, and how far they are shifted at most
SIDE, BLOCK, SHIFT = 40, 0.5, 0.15
WIDTH = SIDE * BLOCK
#: every so many lines is such a road, whose speed is this; what is none of them is a side street
MOTORWAYS, MAIN_ROADS = (8, 65.0), (4, 40.0)
SIDE_STREETS = 25.0
MISSING = 0.1  # of the side streets
PLACES = 64  # of interest
#: base stations on a side: reports of a tick come station by station
STATIONS = 10
#: what moves, how fast at most, and which part of all objects it is
TYPES = ("car", "cyclist", "pedestrian")
FASTEST = np.array([90.0, 12.0, 3.0])
PARTS = (0.7, 0.1, 0.2)
NEW, MOVED, ARRIVED = 0, 1, 2
KINDS = ("newpoint", "point", "arrived")


@dataclass(frozen=True)
class Roads:
    """Directed streets between crossings; `street` has one number for both directions."""

    x: Floats
    y: Floats
    start: Ints
    end: Ints
    street: Ints
    miles: Floats
    speed: Floats
    fastest: Ints  # [place, crossing]: the street to take from there on
    places: Ints

    @classmethod
    def drawn(cls, seed: int) -> Roads:
        draw = np.random.default_rng((seed, 1))
        row, column = (each.ravel() for each in np.indices((SIDE, SIDE)))
        shifted = draw.uniform(-SHIFT, SHIFT, (2, SIDE * SIDE))
        x, y = (column + 0.5) * BLOCK + shifted[0], (row + 0.5) * BLOCK + shifted[1]
        crossing = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
        across, down = (crossing[:, :-1], crossing[:, 1:]), (crossing[:-1], crossing[1:])
        first = np.concatenate([across[0].ravel(), down[0].ravel()])
        second = np.concatenate([across[1].ravel(), down[1].ravel()])
        line = np.concatenate([first[: across[0].size] // SIDE, first[across[0].size :] % SIDE])
        speed = np.full(first.size, SIDE_STREETS)
        for every, miles_an_hour in (MAIN_ROADS, MOTORWAYS):
            speed[line % every == 0] = miles_an_hour
        there = (speed > SIDE_STREETS) | (draw.random(first.size) >= MISSING)
        first, second, speed = first[there], second[there], speed[there]
        start, end = np.concatenate([first, second]), np.concatenate([second, first])
        street, speed = np.tile(np.arange(first.size), 2), np.tile(speed, 2)
        miles = np.hypot(x[start] - x[end], y[start] - y[end])
        places = draw.choice(SIDE * SIDE, PLACES, replace=False)
        fastest = _fastest(start, end, miles / speed, places)
        return cls(x, y, start, end, street, miles, speed, fastest, places)


def _fastest(start: Ints, end: Ints, hours: Floats, places: Ints) -> Ints:
    """The first street of the fastest way from every crossing to every place; -1 where there is none."""
    crossings = SIDE * SIDE
    order = np.argsort(start, kind="stable")
    place_in_row = np.arange(start.size) - np.searchsorted(start[order], start[order])
    leaving = np.full((crossings, 4), -1)
    leaving[start[order], place_in_row] = order
    time = np.full((places.size, crossings), np.inf)
    time[np.arange(places.size), places] = 0
    while True:
        by_street = np.where(leaving < 0, np.inf, time[:, end[leaving]] + hours[leaving])
        best = np.minimum(time, by_street.min(axis=2))
        if (best == time).all():
            break
        time = best
    found: Ints = np.take_along_axis(leaving[None], by_street.argmin(axis=2)[:, :, None], axis=2)[:, :, 0]
    return np.where(np.isfinite(time), found, -1)


class Traffic:
    """Objects on the roads. Each tick is a second, in which about `per_tick` of them report, station by station."""

    def __init__(self, objects: int, per_tick: float, seed: int = 7) -> None:
        self._roads = roads = Roads.drawn(seed)
        self._draw = draw = np.random.default_rng((seed, 2))
        self._chance = min(1.0, per_tick / objects)
        everywhere = np.flatnonzero((roads.fastest[:, roads.start] >= 0).all(axis=0))  # streets that lead to all places
        self._type = draw.choice(len(TYPES), objects, p=PARTS)
        self._street = draw.choice(everywhere, objects)
        self._along = roads.miles[self._street] * draw.random(objects)
        self._target = draw.integers(0, PLACES, objects)
        self._kind = np.full(objects, NEW)
        self._reports = np.zeros(objects, np.int64)
        self._tick = 0

    def batch(self, ticks: int) -> pa.Table:
        """What is reported in the next ticks."""
        columns = [np.concatenate(parts) for parts in zip(*self._ticks(ticks), strict=True)]
        roads = self._roads
        tick, number, report, street, x, y, station, speed, kind = columns
        end = roads.end[street]
        return pa.table(
            {
                "t": tick,
                "id": number.astype(np.int32),
                "report": report.astype(np.int32),
                "kind": pa.DictionaryArray.from_arrays(kind.astype(np.int8), list(KINDS)).cast(pa.string()),
                "type": pa.DictionaryArray.from_arrays(self._type[number].astype(np.int8), list(TYPES)).cast(
                    pa.string()
                ),
                "street": roads.street[street].astype(np.int32),
                "station": station.astype(np.int32),
                # so many digits: a text of them is read as the same number by everybody
                "x": np.round(x, 4),
                "y": np.round(y, 4),
                "speed": np.round(speed, 1),
                "next_x": np.round(roads.x[end], 4),
                "next_y": np.round(roads.y[end], 4),
            }
        )

    def _ticks(self, ticks: int) -> Iterator[tuple[npt.NDArray[np.generic], ...]]:
        for _ in range(ticks):
            self._tick += 1
            speed = self._moved()
            reporting = np.flatnonzero(self._draw.random(speed.size) < self._chance)
            x, y = self._where(reporting)
            column, row = (np.clip(at / WIDTH * STATIONS, 0, STATIONS - 1).astype(np.int64) for at in (x, y))
            station = row * STATIONS + column
            order = np.lexsort((reporting, station))
            who = reporting[order]
            self._reports[who] += 1
            tick = np.full(who.size, self._tick, np.int64)
            here = x[order], y[order], station[order]
            yield tick, who, self._reports[who], self._street[who], *here, speed[who], self._kind[who]
            self._kind[who] = MOVED

    def _where(self, who: Ints) -> tuple[Floats, Floats]:
        roads, street = self._roads, self._street[who]
        start, end, part = roads.start[street], roads.end[street], self._along[who] / roads.miles[street]
        x, y = (at[start] + (at[end] - at[start]) * part for at in (roads.x, roads.y))
        return x, y

    def _moved(self) -> Floats:
        """Everybody goes on for a second; gives how fast each was."""
        roads, draw = self._roads, self._draw
        allowed = np.minimum(roads.speed[self._street], FASTEST[self._type])
        speed: Floats = allowed * draw.uniform(0.6, 1.0, allowed.size)
        self._along += speed / 3600
        turning = np.flatnonzero(self._along >= roads.miles[self._street])
        crossing = roads.end[self._street[turning]]
        there = roads.places[self._target[turning]] == crossing
        arrived = turning[there]
        self._kind[arrived] = ARRIVED
        # another place than the one where it is
        self._target[arrived] = (self._target[arrived] + draw.integers(1, PLACES, arrived.size)) % PLACES
        self._street[turning] = roads.fastest[self._target[turning], crossing]
        self._along[turning] = 0.0
        return speed
