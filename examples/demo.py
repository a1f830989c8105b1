"""`make demo`: standing queries on Spark over data that is made while they stand, and corrected while you look.

Each act opens a database, lets queries stand, and then plays the part of the sensors and the market. Everything you see
is read back from the result log, batch by batch, as any client would read it.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markdown import Markdown
from rich.rule import Rule

import eddyline
from eddyline.output import Painter, Tables
from eddyline.session.spark_run import QUICK_START

HERE = Path(__file__).parent
console = Console()

Row = tuple[Any, ...]


class Act:
    """One scenario: queries, what happens, and what they say to it."""

    def __init__(self, title: str, text: str, sql: str) -> None:
        console.print(Rule(f"[bold]{title}[/bold]"))
        console.print(Markdown(text))
        console.print(f"\n[dim]{sql.strip()}[/dim]\n", highlight=False, markup=True)
        self.db = eddyline.connect()
        made = self.db.sql(sql)
        self.queries = [handle for handle in made if handle is not None]
        self._tables = Tables(sys.stdout.write, Painter(sys.stdout), watched=False)
        for query in self.queries:
            self._tables.begin(query.name, query.columns)

    def happens(self, text: str) -> None:
        console.print(f"[cyan]▸ {text}[/cyan]")

    def push(self, stream: str, rows: list[Row]) -> None:
        self.db.stream(stream).push(rows)

    def show(self) -> None:
        """Everything that was answered since the last time."""
        self.db.flush()
        for query in self.queries:
            for answer in query.fetch(timeout=0):
                self._tables.show(answer)
        self._tables.close()
        sys.stdout.flush()
        console.print()

    def end(self) -> None:
        self.db.close()


# -- SNEEql's road ----------------------------------------------------------------------------------------------------

ROAD = """
CREATE SENSED STREAM road (site INTEGER, time INTEGER, temp INTEGER, vibration INTEGER)
  SITES (1, 2, 3, 4) EVERY 1 MIN TIMESTAMP BY time;
CREATE STREAM traffic (site INTEGER, time INTEGER, weight INTEGER, vehicle INTEGER) TIMESTAMP BY time;
CREATE QUERY shaking AS
  SELECT time, site, vibration FROM road WHERE temp < 50 AND vibration > 90;
CREATE QUERY coldest AS
  SELECT site, MIN(temp), MAX(vibration) FROM road [FROM NOW-10 TO NOW SLIDE 5 MIN] GROUP BY site;
CREATE QUERY trucks AS
  SELECT traffic.vehicle, road.site, road.temp
  FROM road [FROM NOW-5 TO NOW SLIDE 5 MIN], traffic [FROM NOW-5 TO NOW SLIDE 5 MIN]
  WHERE road.site = traffic.site AND road.time = traffic.time AND weight > 30;
"""


def sensors(minutes: range, chance: random.Random) -> Iterator[Row]:
    for minute in minutes:
        for site in (1, 2, 3, 4):
            yield (site, minute * 60, 45 + site + minute // 3 - chance.randrange(8), chance.randrange(100))


def vehicles(minutes: range, chance: random.Random) -> Iterator[Row]:
    for minute in minutes:
        if chance.random() < 0.6:
            yield (chance.randint(1, 4), minute * 60, chance.randrange(5, 40), 100 + minute)


def road() -> None:
    chance = random.Random(7)
    act = Act(
        "Sensors and traffic (SNEEql)",
        "Four sensors are read every minute, vehicles are reported as they pass. *shaking* answers tuple by tuple, "
        "*coldest* every five minutes over the last ten, *trucks* joins the two streams window by window.",
        ROAD,
    )
    act.happens("ten minutes of readings and vehicles arrive")
    act.push("road", list(sensors(range(10), chance)))
    act.push("traffic", list(vehicles(range(10), chance)))
    act.show()
    act.happens("ten more; a new query joins while data flows, without a restart of Spark's streaming query")
    act.queries.append(act.db.sql("CREATE QUERY hot AS SELECT time, site, temp FROM road WHERE temp > 52"))
    act._tables.begin("hot", act.queries[-1].columns)
    act.push("road", list(sensors(range(10, 21), chance)))
    act.push("traffic", list(vehicles(range(10, 21), chance)))
    act.show()
    act.end()


# -- TelegraphCQ's stocks ---------------------------------------------------------------------------------------------

STOCKS = """
CREATE STREAM ClosingStockPrices (timestamp BIGINT, stockSymbol STRING, closingPrice DOUBLE) TIMESTAMP BY timestamp;
CREATE QUERY hopping AS
  SELECT AVG(closingPrice) FROM ClosingStockPrices WHERE stockSymbol = 'MSFT'
  for (t = ST; t < ST + 50; t += 5) { WindowIs(ClosingStockPrices, t - 4, t); };
CREATE QUERY above AS
  SELECT c2.stockSymbol, c2.closingPrice, c1.closingPrice AS msft
  FROM ClosingStockPrices AS c1, ClosingStockPrices AS c2
  WHERE c1.stockSymbol = 'MSFT' AND c2.closingPrice > c1.closingPrice AND c2.timestamp = c1.timestamp
  for (t = ST; t < ST + 20; t += 4) { WindowIs(c1, t - 1, t); WindowIs(c2, t - 1, t); };
"""


def prices(days: range, chance: random.Random) -> Iterator[Row]:
    for day in days:
        for symbol, base in (("MSFT", 50), ("IBM", 49), ("ORCL", 45)):
            yield (day, symbol, round(base + chance.uniform(-4, 4), 2))


def stocks() -> None:
    chance = random.Random(11)
    act = Act(
        "Windows as for-loops (TelegraphCQ)",
        "*hopping*: every fifth day the average of the last five. *above*: who closed above MSFT on the last two days, "
        "a band join of the stream with itself.",
        STOCKS,
    )
    act.happens("twelve trading days")
    act.push("ClosingStockPrices", list(prices(range(1, 13), chance)))
    act.show()
    act.end()


# -- Borealis' correction ---------------------------------------------------------------------------------------------

CORRECTION = """
CREATE STREAM quotes (minute INTEGER, symbol STRING, price INTEGER) TIMESTAMP BY minute;
CREATE QUERY sums AS
  SELECT SUM(price) FROM quotes [RANGE BY '30 seconds' SLIDE BY '20 seconds' START AT 100] WHERE symbol = 'IBM';
CREATE QUERY rises AS
  ISTREAM(SELECT symbol, MAX(price) AS highest FROM quotes [FROM NOW-29 TO NOW SLIDE 20 SEC] GROUP BY symbol);
"""


def correction() -> None:
    act = Act(
        "An answer is corrected (Borealis)",
        "The price of 120 is reported as 25 and turns out to be 22. Both sums that used it are revised: 80 becomes 77, "
        "62 becomes 59. Nobody asks again, and a late price finds its windows too.",
        CORRECTION,
    )
    act.happens("prices arrive")
    ticks = [(100, 20), (110, 35), (120, 25), (130, 18), (140, 19), (160, 30)]
    act.push("quotes", [(minute, "IBM", price) for minute, price in ticks])
    act.show()
    act.happens("UPDATE quotes SET price = 22 WHERE minute = 120")
    act.db.sql("UPDATE quotes SET price = 22 WHERE minute = 120")
    act.show()
    act.happens("a price of 125 comes late: 40")
    act.push("quotes", [(125, "IBM", 40)])
    act.show()
    act.end()


# -- tags -------------------------------------------------------------------------------------------------------------


def tags() -> int:
    script = HERE / "patients" / "patients.sql"
    console.print(Rule("[bold]Tags travel with the data (Stream Tag Framework)[/bold]"))
    console.print(Markdown("People label live data, and every result shows the labels of what it was computed from."))
    console.print(f"\n[dim]$ eddyline run {script.relative_to(HERE.parent)} --engine reference[/dim]\n")
    command = [sys.executable, "-m", "eddyline", "run", str(script), "--engine", "reference"]
    return subprocess.run(command, check=False).returncode


def main() -> int:
    with console.status("starting Spark (some seconds) …"):
        eddyline.connect(conf=QUICK_START).close()
    road()
    stocks()
    correction()
    code = tags()
    console.print(Rule())
    console.print(
        "The same as scripts, with files: [bold]eddyline run examples/road/road.sql[/bold] and its neighbours."
    )
    return code


if __name__ == "__main__":
    sys.exit(main())
