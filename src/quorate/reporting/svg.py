"""Draw the Vega-Lite specifications of `quorate.charts` as SVG for a page.

vl-convert, which draws any specification, takes 0.4 CPU seconds for a page: as long as the rest of the report for 10^4
answers. This module draws only what our charts use: points, lines, rectangles and texts on linear axes and axes of
names, and legends. Colours are those of the page (`report.css`), light or dark. For a screen reader a drawing is one
image; a table near it has the figures. The description of a mark becomes ``data-tip``, which the page shows on hover.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from unicodedata import east_asian_width

import numpy as np

from quorate.charts.notebook import as_text
from quorate.charts.vega import AGREEMENT, LOOK, PALETTE, Spec

# Names of the page's colours; report.css defines each twice, for light and dark.
VARIABLES = {
    **{colour: name for name, colour in PALETTE.items()},
    **{colour: f"agree-{k}" for k, colour in enumerate(AGREEMENT)},
    "white": "card",
}
FONT = "Arial, Liberation Sans, Helvetica, sans-serif"  # WIDTHS are those of these fonts
FONT_SIZE = LOOK["axis"]["labelFontSize"]
TICK = 5  # pixels
GAP = 4  # pixels between a tick and its text
SYMBOL_GAP = 6  # pixels between a symbol of the legend and its text
PADDING = 5  # pixels around a drawing
LINE_HEIGHT = 17  # pixels
LABEL_LIMIT = 180  # pixels: longer names are cut, and longer numbers are written with an exponent
TICK_DISTANCE = {"x": 55, "y": 40}  # approximate pixels between ticks
# Widths of characters in thousandths of the font size.
WIDTHS = {
    191: "'", 222: "ijl", 260: "|", 278: " !,./:;I[]\\ft", 333: "()-`r", 334: "{}", 355: '"', 389: "*", 469: "^",
    500: "Jckszvxy", 556: "#$0123456789?L_abdeghnopqu", 584: "+<=>~\N{MINUS SIGN}", 611: "FTZ", 667: "&ABEKPSVXY",
    722: "CDHNRUw", 778: "GOQ", 833: "Mm", 889: "%", 944: "W", 1000: "…", 1015: "@",
}  # fmt: skip
WIDTH_OF = {character: width / 1000 for width, characters in WIDTHS.items() for character in characters}


def to_svg(chart: Spec, label: str) -> str:
    """Return a chart as SVG.

    Args:
        chart: a specification of `quorate.charts`.
        label: text for screen readers.

    >>> import quorate
    >>> from quorate.charts.result import skills_chart
    >>> result = quorate.aggregate(quorate.simulate.crowd(100, 5, 3).answers)
    >>> to_svg(skills_chart(result), "skills")[:30]
    '<svg viewBox="0 0 420 ...
    """
    layers = [_Layer.of(part, chart) for part in chart["layer"]]
    y = _Axis.of(layers, "y")
    height = chart["height"] if isinstance(chart["height"], int) else len(y.domain) * chart["height"]["step"]
    y_scale = y.scale(height)
    x = _Axis.of(layers, "x")
    legend_rows = list(_legend(layers))
    if "autosize" in chart:  # axes and names are included in the width
        total_width = chart["width"]
        left = PADDING + y.label_width(y_scale) + (LINE_HEIGHT if y.title else 0)
        right = PADDING + FONT_SIZE
    else:
        total_width = chart["width"] + 2 * PADDING
        left = right = PADDING
    x_scale = x.scale(total_width - left - right)
    x_labels = x.label_height(x_scale) + (LINE_HEIGHT if x.title else 0)
    top = PADDING + (x_labels if x.is_before else 0)
    below = top + height + (0 if x.is_before else x_labels)
    legend, legend_height = _legend_elements(legend_rows, left, total_width)
    total_height = below + legend_height + PADDING
    elements = [
        *y.grid(y_scale, x_scale.length),
        *x.grid(x_scale, height),
        *y.elements(y_scale, 0),
        *x.elements(x_scale, height),
        *(mark for layer in layers for mark in layer.marks(x_scale, y_scale)),
    ]
    size = f"0 0 {_n(total_width)} {_n(total_height)}"
    return (
        f'<svg viewBox="{size}" role="img" aria-label="{as_text(label)}" font-family="{FONT}">'
        f'<g transform="translate({_n(left)},{_n(top)})">{"".join(elements)}</g>'
        f'<g transform="translate(0,{_n(below)})">{"".join(legend)}</g></svg>'
    )


def _n(value: float) -> str:
    """Return a number of pixels as text, with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _tag(name: str, tip: str | None = None, **attributes: Any) -> str:
    """Return an element without content.

    In names of attributes, an underscore becomes a hyphen; attributes with the value None are left out. Only the tip,
    which the page shows on hover, has text from users, and is escaped.
    """
    written = "".join(
        f' {key.replace("_", "-")}="{value if isinstance(value, str) else _n(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}{_tip_attribute(tip)}/>"


def _text(
    text: str, x: float, y: float, anchor: str, colour: str, size: float, turn: float = 0.0, tip: str | None = None
) -> str:
    turned = f" rotate({_n(turn)})" if turn else ""
    return (
        f'<text transform="translate({_n(x)},{_n(y)}){turned}" text-anchor="{anchor}" font-size="{_n(size)}" '
        f'fill="{_colour(colour)}"{_tip_attribute(tip)}>{as_text(text)}</text>'
    )


def _tip_attribute(tip: str | None) -> str:
    return "" if tip is None else f' data-tip="{as_text(tip)}"'


def _colour(colour: str) -> str:
    name = VARIABLES.get(colour.lower())
    return colour if name is None else f"var(--{name})"


def text_width(text: str, size: float = FONT_SIZE) -> float:
    """Return the width of a text in pixels.

    >>> round(text_width("ab", 10), 2), text_width("界", 10)
    (11.12, 10.0)
    """
    return size * sum(WIDTH_OF.get(letter, 1.0 if east_asian_width(letter) in "WF" else 0.6) for letter in text)


def shortened(text: str, most: float, size: float = FONT_SIZE) -> str:
    """Return a text cut to a number of pixels; 0 for no limit.

    >>> shortened("abcdef", 30), shortened("abcdef", 0)
    ('ab…', 'abcdef')
    """
    if not most or text_width(text, size) <= most:
        return text
    while text and text_width(f"{text}…", size) > most:
        text = text[:-1]
    return f"{text}…"


def ticks(low: float, high: float, most: float) -> list[float]:
    """Return about ``most`` round numbers from low to high: multiples of 1, 2 or 5 times a power of ten.

    >>> ticks(0.0, 1.0, 5), ticks(0, 70, 3), ticks(3.5, 3.5, 5)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 20.0, 40.0, 60.0], [3.5])
    """
    if low == high:
        return [low]
    step = _tick_step(low, high, most)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(k * step, _digits(step)) for k in range(first, last + 1)]


def _digits(step: float) -> int:
    """Return the number of decimals of the multiples of a step."""
    return max(0, -math.floor(math.log10(step) + 1e-9))


def _tick_step(low: float, high: float, most: float) -> float:
    """Return the step of `ticks`; the limits between 1, 2, 5 and 10 are those of d3, which Vega uses."""
    raw = (high - low) / max(most, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    ratio = raw / power
    for limit, factor in ((math.sqrt(50), 10), (math.sqrt(10), 5), (math.sqrt(2), 2)):
        if ratio >= limit:
            return factor * power
    return power


@dataclass(frozen=True)
class _Scale:
    """The position in pixels of each value along an axis."""

    kind: str  # "pixels", "linear", "symlog" or "bands"
    domain: Sequence[Any]  # the ends, or the names of the bands
    length: float  # pixels
    is_upward: bool  # whether values increase from bottom to top, as on a linear y axis

    @property
    def step(self) -> float:
        """The width of a band in pixels."""
        return self.length / len(self.domain)

    def at(self, value: Any) -> float:
        """Return the position of a value in pixels; for a band, that of its centre."""
        if self.kind == "pixels":
            return float(value)
        if self.kind == "bands":
            return self.step * (self.domain.index(value) + 0.5)
        low, high, coordinate = (float(number) for number in (*self.domain, value))
        if self.kind == "symlog":
            low, high, coordinate = (
                math.copysign(math.log1p(abs(number)), number) for number in (low, high, coordinate)
            )
        share = (coordinate - low) / (high - low) if high > low else 0.5
        return self.length * (1 - share if self.is_upward else share)


@dataclass(frozen=True)
class _Axis:
    """One axis of a chart, combined from the encodings of its layers."""

    channel: str  # "x" or "y"
    kind: str
    domain: Sequence[Any]
    look: Mapping[str, Any]
    title: str | None
    is_shown: bool
    is_nice: bool = False

    @staticmethod
    def of(layers: Sequence["_Layer"], channel: str) -> "_Axis":
        encoded = [layer.encoding[channel] for layer in layers if channel in layer.encoding]
        fields = [part for part in encoded if "field" in part]
        scale: Any = {}
        look: dict[str, Any] = {}
        title = None
        for part in reversed(fields):
            scale = None if part.get("scale", scale) is None else {**(scale or {}), **part.get("scale", {})}
            look |= part.get("axis") or {}
            title = part["title"] if part.get("title") is not None else title
        if scale is None:
            return _Axis(channel, "pixels", (), look, None, is_shown=False)
        if fields[0]["type"] == "nominal":
            domain = [str(name) for name in scale["domain"]]
            return _Axis(channel, "bands", domain, look, title, is_shown=True)
        kind = scale.get("type", "linear")
        if "domain" in scale:
            return _Axis(channel, kind, scale["domain"], look, title, is_shown=True, is_nice=scale.get("nice", True))
        values = [value for layer in layers for value in layer.values(channel)]
        if scale.get("zero", True):
            values.append(0.0)
        ends = (min(values, default=0.0), max(values, default=1.0))
        return _Axis(channel, kind, ends, look, title, is_shown=True, is_nice=scale.get("nice", True))

    @property
    def is_before(self) -> bool:
        """Whether the labels of the x axis are above the marks."""
        return self.look.get("orient") == "top"

    @property
    def offset(self) -> float:
        """Pixels between the axis and its labels."""
        return GAP + (TICK if self.look.get("ticks", True) else 0)

    @property
    def turn(self) -> float:
        """The angle of the labels in degrees."""
        return float(self.look.get("labelAngle", 0.0))

    def scale(self, length: float) -> _Scale:
        """Return the scale for a length in pixels."""
        domain = self.domain
        is_upward = self.channel == "y" and self.kind in ("linear", "symlog")
        if self.is_nice and domain[0] < domain[1]:
            low, high = domain
            step = _tick_step(low, high, length / TICK_DISTANCE[self.channel])
            domain = (math.floor(low / step) * step, math.ceil(high / step) * step)
        return _Scale(self.kind, domain, length, is_upward)

    def labels(self, scale: _Scale) -> list[tuple[float, str]]:
        """Return the position and the text of each tick."""
        if self.kind == "bands":
            most = self.look.get("labelLimit", LABEL_LIMIT)
            return [(scale.at(name), shortened(name, most, self._size)) for name in scale.domain]
        low, high = scale.domain
        most_ticks = scale.length / TICK_DISTANCE[self.channel]
        values = ticks(low, high, most_ticks)
        if self.look.get("format") == ".0%":
            shape = ".0%"
        elif low == high:
            shape = ",.10g"
        else:
            step = _tick_step(low, high, most_ticks)
            largest = max(abs(low), abs(high))
            shape = f",.{_digits(step)}f"
            if text_width(f"{largest:{shape}}") > LABEL_LIMIT:
                shape = f".{math.ceil(math.log10(largest / step))}e"
        texts = [f"{value:{shape}}".replace("-", "\N{MINUS SIGN}") for value in values]
        return [(scale.at(value), text) for value, text in zip(values, texts, strict=True)]

    @property
    def _size(self) -> float:
        return float(self.look.get("labelFontSize", FONT_SIZE))

    def label_width(self, scale: _Scale) -> float:
        """Return the width in pixels of the labels and ticks of the y axis."""
        if not self.is_shown:
            return 0.0
        return self.offset + max((text_width(text, self._size) for _, text in self.labels(scale)), default=0.0)

    def label_height(self, scale: _Scale) -> float:
        """Return the height in pixels of the labels and ticks of the x axis."""
        if not self.is_shown:
            return 0.0
        widest = max((text_width(text, self._size) for _, text in self.labels(scale)), default=0.0)
        return self.offset + max(abs(math.sin(math.radians(self.turn))) * widest, self._size)

    def grid(self, scale: _Scale, across: float) -> Iterator[str]:
        """Yield a line across the marks at each tick of a linear axis."""
        if not self.is_shown or self.kind == "bands" or not self.look.get("grid", True):
            return
        yield f'<g stroke="{_colour(LOOK["axis"]["gridColor"])}">'
        for position, _ in self.labels(scale):
            yield self._line(position, 0, across)
        yield "</g>"

    def _line(self, position: float, start: float, stop: float) -> str:
        """Return a line perpendicular to the axis."""
        if self.channel == "x":
            return _tag("line", x1=position, x2=position, y1=start, y2=stop)
        return _tag("line", x1=start, x2=stop, y1=position, y2=position)

    def elements(self, scale: _Scale, edge: float) -> Iterator[str]:
        """Yield the axis with ticks, labels and title.

        Args:
            scale: of the axis.
            edge: position of the axis in pixels: x for the y axis, y for the x axis.
        """
        if not self.is_shown:
            return
        labels = self.labels(scale)
        out = -1 if self.channel == "y" or self.is_before else 1
        edge = 0 if self.is_before else edge
        yield f'<g stroke="{_colour(LOOK["axis"]["domainColor"])}">'
        if self.look.get("domain", True):
            ends = (edge, edge, 0, scale.length) if self.channel == "y" else (0, scale.length, edge, edge)
            yield _tag("line", x1=ends[0], x2=ends[1], y1=ends[2], y2=ends[3])
        if self.look.get("ticks", True):
            yield from (self._line(position, edge, edge + out * TICK) for position, _ in labels)
        yield "</g>"
        colour = LOOK["axis"]["labelColor"]
        offset = edge + out * self.offset
        for position, text in labels if self.kind == "bands" else self._apart(labels, scale.length):
            if self.channel == "y":
                yield _text(text, offset, position + 0.35 * self._size, "end", colour, self._size)
            elif self.turn:
                anchor = "start" if self.is_before else "end"
                yield _text(text, position + 0.35 * self._size, offset, anchor, colour, self._size, self.turn)
            else:
                yield _text(text, position, offset + 0.8 * self._size, "middle", colour, self._size)
        if self.title is not None:
            yield self._title_element(scale, edge)

    def _apart(self, labels: Sequence[tuple[float, str]], length: float) -> Iterator[tuple[float, str]]:
        """Yield the labels that do not overlap the previous one; labels of x are moved to end within the drawing."""
        last = -math.inf  # the end of the previous label
        for position, text in labels:
            if self.channel == "y":
                if length - position - self._size / 2 >= last:
                    yield position, text
                    last = length - position + self._size / 2
                continue
            half = text_width(text, self._size) / 2
            centre = min(position, length + FONT_SIZE - half)
            if centre - half > last:
                yield centre, text
                last = centre + half + GAP

    def _title_element(self, scale: _Scale, edge: float) -> str:
        colour = LOOK["axis"]["titleColor"]
        if self.channel == "y":
            left = edge - self.label_width(scale) - GAP
            return _text(self.title or "", left, scale.length / 2, "middle", colour, FONT_SIZE, -90)
        baseline = edge + self.label_height(scale) + FONT_SIZE
        return _text(self.title or "", scale.length / 2, baseline, "middle", colour, FONT_SIZE)


@dataclass(frozen=True)
class _Layer:
    """One layer of a chart with its rows."""

    mark: str
    look: Mapping[str, Any]
    encoding: Mapping[str, Spec]
    rows: Sequence[Spec]

    @staticmethod
    def of(part: Spec, chart: Spec) -> "_Layer":
        encoding = part["encoding"]
        rows = (part if "data" in part else chart).get("data", {"values": []})["values"]
        if not any("field" in channel for channel in encoding.values()):
            rows = [{}]  # one mark, independent of the rows
        for step in part.get("transform", ()):
            condition = step["filter"]
            field = condition["field"]
            if "equal" in condition:
                rows = [row for row in rows if row.get(field) == condition["equal"]]
            else:
                rows = [row for row in rows if row.get(field) is not None]
        return _Layer(part["mark"]["type"], part["mark"], encoding, rows)

    def values(self, channel: str) -> Iterator[float]:
        """Yield the values of the marks along an axis, including both ends of ranges."""
        for part in (self.encoding.get(channel), self.encoding.get(f"{channel}2")):
            if part is not None and "datum" in part:
                yield float(part["datum"])
            elif part is not None:
                yield from (float(row[part["field"]]) for row in self.rows if row.get(part["field"]) is not None)

    def channel(self, name: str, default: Any) -> Callable[[Spec], Any]:
        """Return a function from a row to the value of a channel other than a position, such as a colour."""
        part = self.encoding.get(name)
        if part is None:
            value = self.look.get(name, default)
            return lambda row: value
        if "condition" in part:
            test = part["condition"]["test"].removeprefix("datum.")
            return lambda row: part["condition"]["value"] if row[test] else part["value"]
        field = part["field"]
        scale = part.get("scale")
        if scale is None:
            return lambda row: row[field]
        if part["type"] == "nominal":
            shown = dict(zip(scale["domain"], scale["range"], strict=True))
            return lambda row: shown[row[field]]
        if name == "color":
            return lambda row: _mixed(row[field], scale["domain"], scale["range"])
        low, high = scale["range"]
        most = max((float(row[field]) for row in self.rows), default=1.0)
        return lambda row: low + (high - low) * row[field] / most

    def marks(self, x: _Scale, y: _Scale) -> Iterator[str]:
        """Yield every mark."""
        draw = {
            "point": self._symbol,
            "square": self._symbol,
            "rule": self._rule,
            "rect": self._rect,
            "text": self._label,
        }
        opacity = _n(self.look.get("opacity", 1))
        yield f'<g fill-opacity="{opacity}" stroke-opacity="{opacity}">'
        if self.mark == "line":
            yield from self._lines(x, y)
        else:
            rows = [row for row in self.rows if self._is_placed(row)]
            yield from draw[self.mark](rows, x, y)
        yield "</g>"

    def _is_placed(self, row: Spec) -> bool:
        """Whether a row has every value that its position needs."""
        positions = (self.encoding[name] for name in ("x", "y", "x2", "y2") if name in self.encoding)
        return all(row.get(part["field"]) is not None for part in positions if "field" in part)

    def _position(self, channel: str, row: Spec, scale: _Scale) -> float:
        part = self.encoding[channel]
        return scale.at(part["datum"] if "datum" in part else row[part["field"]])

    def _symbol(self, rows: Sequence[Spec], x: _Scale, y: _Scale) -> Iterator[str]:
        colour = self.channel("color", PALETTE["good"])
        fill = self.channel("fill", None)
        stroke = self.channel("stroke", None)
        dash = self.channel("strokeDash", None)
        shape = self.channel("shape", "square" if self.mark == "square" else "circle")
        size = self.channel("size", 30)
        is_filled = self.look.get("filled", self.mark == "square")
        for row in rows:
            inside = fill(row) or (colour(row) if is_filled else "none")
            outline = stroke(row) or (None if is_filled else colour(row))
            yield _tag(
                "path",
                transform=f"translate({_n(self._position('x', row, x))},{_n(self._position('y', row, y))})",
                d=symbol(shape(row), size(row)),
                fill=_colour(inside),
                stroke=None if outline is None else _colour(outline),
                stroke_width=None if outline is None else self.look.get("strokeWidth", 2),
                stroke_dasharray=_dashes(dash(row)),
                tip=self._tip(row),
            )

    def _rule(self, rows: Sequence[Spec], x: _Scale, y: _Scale) -> Iterator[str]:
        colour = self.channel("color", PALETTE["good"])
        width = self.channel("strokeWidth", 1)
        dash = self.channel("strokeDash", None)
        for row in rows:
            start_x, stop_x = self._ends("x", row, x)
            start_y, stop_y = self._ends("y", row, y)
            yield _tag(
                "line",
                x1=start_x,
                y1=start_y,
                x2=stop_x,
                y2=stop_y,
                stroke=_colour(colour(row)),
                stroke_width=width(row),
                stroke_dasharray=_dashes(dash(row)),
                tip=self._tip(row),
            )

    def _ends(self, channel: str, row: Spec, scale: _Scale) -> tuple[float, float]:
        """Return the two ends of a rule; those of the whole scale if the layer does not encode the channel."""
        if channel not in self.encoding:
            return 0.0, scale.length
        start = self._position(channel, row, scale)
        return start, self._position(f"{channel}2", row, scale) if f"{channel}2" in self.encoding else start

    def _rect(self, rows: Sequence[Spec], x: _Scale, y: _Scale) -> Iterator[str]:
        colour = self.channel("color", PALETTE["good"])
        for row in rows:
            left, right = self._sides("x", row, x)
            top, bottom = self._sides("y", row, y)
            yield _tag(
                "rect",
                x=left,
                y=top,
                width=right - left,
                height=bottom - top,
                rx=self.look.get("cornerRadiusTopLeft"),
                fill=_colour(colour(row)),
                tip=self._tip(row),
            )

    def _sides(self, channel: str, row: Spec, scale: _Scale) -> tuple[float, float]:
        """Return the sides of a rectangle: its two ends, or those of its band."""
        start = self._position(channel, row, scale)
        if f"{channel}2" not in self.encoding:
            return start - scale.step / 2, start + scale.step / 2
        stop = self._position(f"{channel}2", row, scale)
        return min(start, stop), max(start, stop)

    def _label(self, rows: Sequence[Spec], x: _Scale, y: _Scale) -> Iterator[str]:
        size = self.look["fontSize"]
        anchor = "start" if self.look.get("align") == "left" else "middle"
        for row in rows:
            left = self._position("x", row, x) + self.look.get("dx", 0)
            baseline = self._position("y", row, y) + 0.35 * size
            text = str(row[self.encoding["text"]["field"]])
            yield _text(text, left, baseline, anchor, self.look["color"], size, tip=self._tip(row))

    def _lines(self, x: _Scale, y: _Scale) -> Iterator[str]:
        """Yield a path through the rows of each line, with steps if the mark has "interpolate"."""
        colour = self.channel("color", PALETTE["good"])
        width = self.channel("strokeWidth", 2)
        detail = self.encoding.get("detail", {}).get("field")
        of_line: dict[Any, list[Spec]] = {}
        for row in self.rows:
            of_line.setdefault(row[detail] if detail else None, []).append(row)
        for rows in of_line.values():
            points = [(self._position("x", row, x), self._position("y", row, y)) for row in rows]
            path = f"M{_n(points[0][0])},{_n(points[0][1])}"
            for left, top in points[1:]:
                # The level changes where a step begins.
                path += f"V{_n(top)}H{_n(left)}" if "interpolate" in self.look else f"L{_n(left)},{_n(top)}"
            yield _tag(
                "path",
                d=path,
                fill="none",
                stroke=_colour(colour(rows[0])),
                stroke_width=width(rows[0]),
                tip=None if detail is None else self._tip(rows[0]),
            )

    def _tip(self, row: Spec) -> str | None:
        return row.get("tip") if "description" in self.encoding else None


def _dashes(lengths: Sequence[float] | None) -> str | None:
    return None if lengths is None else ",".join(_n(length) for length in lengths)


def _mixed(value: float, domain: Sequence[float], colours: Sequence[str]) -> str:
    """Return the colour of a number, interpolated between equally spaced stops; the page may use other colours."""
    position = float(np.clip((value - domain[0]) / (domain[-1] - domain[0]), 0, 1)) * (len(colours) - 1)
    before = min(int(position), len(colours) - 2)
    share = position - before
    if share in (0.0, 1.0):
        return colours[before + int(share)]
    return f"color-mix(in srgb, {_colour(colours[before])}, {_colour(colours[before + 1])} {_n(100 * share)}%)"


@cache
def symbol(shape: str, area: float) -> str:
    """Return the path of a symbol centred on the origin; names and shapes are those of Vega.

    >>> symbol("square", 16)
    'M-2,-2H2V2H-2Z'
    """
    r = math.sqrt(area) / 2
    h = r * math.sqrt(3) / 2
    s = r / 2.5
    if shape == "circle":
        arc = f"A{_n(r)},{_n(r)},0,1,1"
        return f"M{_n(r)},0{arc},{_n(-r)},0{arc},{_n(r)},0"
    if shape == "square":
        return f"M{_n(-r)},{_n(-r)}H{_n(r)}V{_n(r)}H{_n(-r)}Z"
    if shape == "cross":
        return (
            f"M{_n(-r)},{_n(-s)}V{_n(s)}H{_n(-s)}V{_n(r)}H{_n(s)}V{_n(s)}H{_n(r)}V{_n(-s)}H{_n(s)}V{_n(-r)}H{_n(-s)}"
            f"V{_n(-s)}Z"
        )
    corners = {
        "diamond": ((-r, 0), (0, -r), (r, 0), (0, r)),
        "triangle-up": ((0, -h), (-r, h), (r, h)),
        "triangle-down": ((0, h), (-r, -h), (r, -h)),
        "triangle-right": ((h, 0), (-h, -r), (-h, r)),
        "triangle-left": ((-h, 0), (h, -r), (h, r)),
    }[shape]
    return f"M{'L'.join(f'{_n(x)},{_n(y)}' for x, y in corners)}Z"


@dataclass(frozen=True)
class _LegendRow:
    """One entry of the legend."""

    text: str
    colour: str
    shape: str


def _legend(layers: Sequence[_Layer]) -> Iterator[_LegendRow]:
    """Yield the entries of the legend of colours; shapes are those of the layer with both colour and shape."""
    coded = [layer for layer in layers if "scale" in layer.encoding.get("color", {})]
    coded = [layer for layer in coded if layer.encoding["color"].get("legend", {}) is not None]
    coded.sort(key=lambda layer: "shape" not in layer.encoding)
    if not coded:
        return
    layer = coded[0]
    colour = layer.encoding["color"]
    if colour["type"] == "quantitative":
        low, high = colour["scale"]["domain"]
        stops = np.linspace(low, high, len(colour["scale"]["range"]))
        for value, shown in zip(stops.tolist(), colour["scale"]["range"], strict=True):
            yield _LegendRow(f"{value:.2f}".replace("-", "\N{MINUS SIGN}"), shown, "square")
        return
    names = colour["scale"]["domain"]
    shapes = ["circle" if layer.mark == "point" else "square"] * len(names)
    if "shape" in layer.encoding:
        shapes = layer.encoding["shape"]["scale"]["range"]
    for name, shown, shape in zip(names, colour["scale"]["range"], shapes, strict=True):
        yield _LegendRow(name, shown, shape)


def _legend_elements(rows: Sequence[_LegendRow], left: float, total_width: float) -> tuple[list[str], float]:
    """Return the elements of the legend, in columns if they fit, and its height in pixels."""
    if not rows:
        return [], 0.0
    look = LOOK["legend"]
    side = math.sqrt(look["symbolSize"])
    widths = [side + SYMBOL_GAP + text_width(row.text, look["labelFontSize"]) for row in rows]
    n_columns = look["columns"]
    while n_columns > 1 and _columns_width(widths, n_columns) > total_width - 2 * PADDING:
        n_columns -= 1
    starts = [max(widths[column::n_columns], default=0.0) + look["columnPadding"] for column in range(n_columns)]
    first = max(min(left, total_width - PADDING - _columns_width(widths, n_columns)), PADDING)
    elements = []
    for k, row in enumerate(rows):
        x = first + sum(starts[: k % n_columns])
        y = LINE_HEIGHT * (k // n_columns + 1)
        elements.append(
            _tag(
                "path",
                transform=f"translate({_n(x + side / 2)},{_n(y)})",
                d=symbol(row.shape, look["symbolSize"]),
                fill=_colour(row.colour),
            )
        )
        size = look["labelFontSize"]
        elements.append(_text(row.text, x + side + SYMBOL_GAP, y + 0.35 * size, "start", look["labelColor"], size))
    return elements, LINE_HEIGHT * (math.ceil(len(rows) / n_columns) + 0.5)


def _columns_width(widths: Sequence[float], n_columns: int) -> float:
    columns = (max(widths[column::n_columns], default=0.0) for column in range(n_columns))
    return sum(columns) + float(LOOK["legend"]["columnPadding"]) * (n_columns - 1)
