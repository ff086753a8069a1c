"""Charts of a result: skills, interaction graph, agreement, confidence; and how a result shows itself in a notebook."""

from quorate.charts.notebook import Plots, result_html

__all__ = ["Plots", "result_html"]
