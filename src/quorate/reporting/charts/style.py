"""One look for every chart: colours that the colour-blind can tell apart (Okabe and Ito), and a shape beside each."""

from typing import Any

# By what each means here. A page that knows dark from light puts its own colour in place of each.
PALETTE = {
    "ink": "#1f2328",
    "faint": "#59636e",
    "line": "#c4cad1",
    "grid": "#e6e9ed",
    "good": "#0072b2",  # blue
    "doubt": "#d98c00",  # orange, a shade darker than theirs so that it shows on white
    "bad": "#c44e00",  # vermilion, likewise
    "unknown": "#7a828b",
    "copy": "#b4578c",  # purple
}
# Agreement, from opposite to alike; the middle is chance.
AGREEMENT = ("#b24600", "#e0803c", "#f3c9a5", "#e9ebee", "#b3d4ea", "#5ba3cf", "#0064a0")
WIDTH = 420  # pixels: two charts side by side on a desk, one on a phone
FONT = "system-ui, sans-serif"
LOOK: dict[str, Any] = {
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 13,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "labelColor": PALETTE["ink"],
        "titleColor": PALETTE["faint"],
        "gridColor": PALETTE["grid"],
        "domainColor": PALETTE["line"],
        "tickColor": PALETTE["line"],
    },
    "legend": {
        "orient": "bottom",
        "labelFontSize": 13,
        "labelColor": PALETTE["ink"],
        "title": None,
        "symbolSize": 90,
        "symbolOpacity": 1,
        "labelLimit": 0,
        "columns": 2,
        "columnPadding": 16,
    },
}
