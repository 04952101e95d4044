"""Bars and lines as SVG: no more than the plots of the documentation need.

Colours are readable on white and on black; text takes the colour of the page that shows it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH = 760
_LEFT, _RIGHT, _TOP = 300, 90, 46
_ROW = 26
_COLOURS = ("#3b7dd8", "#d9822b", "#2e9d6a", "#a35bc7")
_FONT = 'font-family="sans-serif" font-size="12"'
_STYLE = (
    "<style>text{fill:#222}.thin{stroke:#999;stroke-width:1}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.thin{stroke:#777}}</style>"
)


@dataclass(frozen=True, slots=True)
class Bar:
    """A median with its spread."""

    label: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Line:
    """Points (x, y) in the order of x."""

    label: str
    points: Sequence[tuple[float, float]]


def shown(value: float) -> str:
    """A number as a reader wants it."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def bars(title: str, note: str, rows: Sequence[Bar], *, logarithmic: bool = False) -> str:
    """A bar for each row, with the lowest and highest run as a thin line."""
    most = max((row.high for row in rows), default=0.0) or 1.0
    least = min((row.low for row in rows if row.low > 0), default=most)
    floor = 10 ** math.floor(math.log10(least)) / 2 if logarithmic else 0.0

    def across(value: float) -> float:
        width = WIDTH - _LEFT - _RIGHT
        if not logarithmic:
            return width * value / most
        if value <= floor:
            return 0.0
        return width * math.log(value / floor) / math.log(most / floor)

    drawn = []
    for number, row in enumerate(rows):
        y = _TOP + number * _ROW
        middle = y + _ROW / 2 - 3
        drawn.append(_text(_LEFT - 8, middle + 4, row.label, "end"))
        drawn.append(
            f'<rect x="{_LEFT}" y="{y}" width="{across(row.value):.1f}" height="{_ROW - 8}"'
            f' fill="{_COLOURS[0]}"/>'
        )
        low, high = _LEFT + across(row.low), _LEFT + across(row.high)
        drawn.append(_segment(low, middle, high, middle))
        drawn += [_segment(x, middle - 4, x, middle + 4) for x in (low, high)]
        drawn.append(_text(max(high, _LEFT + across(row.value)) + 8, middle + 4, shown(row.value)))
    return _page(title, note, drawn, _TOP + len(rows) * _ROW)


def lines(
    title: str, note: str, rows: Sequence[Line], *, across: str, logarithmic: bool = False
) -> str:
    """A line for each row over a common x, from zero upwards."""
    left, right, height = 70, 20, 240
    bottom = _TOP + height
    xs = [x for row in rows for x, _ in row.points]
    top = max((y for row in rows for _, y in row.points), default=0.0) or 1.0
    first, last = min(xs), max(xs)

    def x_of(x: float) -> float:
        share = (x - first) / ((last - first) or 1)
        if logarithmic:
            share = math.log(x / first) / (math.log(last / first) or 1)
        return left + (WIDTH - left - right) * share

    def y_of(y: float) -> float:
        return bottom - height * y / top

    drawn = [_segment(left, bottom, WIDTH - right, bottom)]
    for part in range(5):
        y = top * part / 4
        drawn.append(_segment(left - 4, y_of(y), left, y_of(y)))
        drawn.append(_text(left - 8, y_of(y) + 4, shown(y), "end"))
    ticks = sorted(set(xs)) if len(set(xs)) <= 8 else [first, (first + last) / 2, last]
    drawn += [_text(x_of(x), bottom + 18, shown(x), "middle") for x in ticks]
    drawn.append(_text(WIDTH / 2, bottom + 36, across, "middle"))
    for number, row in enumerate(rows):
        colour = _COLOURS[number % len(_COLOURS)]
        path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in row.points)
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if logarithmic:
            drawn += [
                f'<circle cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="3" fill="{colour}"/>'
                for x, y in row.points
            ]
        y = bottom + 58 + number * 18
        drawn.append(f'<rect x="{left}" y="{y - 9}" width="18" height="4" fill="{colour}"/>')
        drawn.append(_text(left + 26, y - 3, row.label))
    return _page(title, note, drawn, bottom + 52 + len(rows) * 18)


def _page(title: str, note: str, drawn: list[str], height: float) -> str:
    inner = "\n".join(drawn)
    heading = f'<text x="8" y="18" {_FONT} font-weight="bold">{escape(title)}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height + 28:.0f}"'
        f' width="{WIDTH}" role="img" aria-label="{escape(title, {chr(34): "&quot;"})}">\n'
        f"{_STYLE}\n{heading}\n{inner}\n{_text(8, height + 18, note)}\n</svg>\n"
    )


def _text(x: float, y: float, said: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {_FONT} text-anchor="{anchor}">{escape(said)}</text>'


def _segment(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<line class="thin" x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"/>'
