"""Charts of a result: skills, interaction graph, agreement, confidence; and how a result shows itself in a notebook."""

from quorate.reporting.charts.display import result_html
from quorate.reporting.charts.plots import Plots

__all__ = ["Plots", "result_html"]
