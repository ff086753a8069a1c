"""Charts of a result: skills, interaction graph, agreement, confidence; and how a result shows itself in a notebook."""

from quorate.charts.display import result_html
from quorate.charts.plots import Plots

__all__ = ["Plots", "result_html"]
