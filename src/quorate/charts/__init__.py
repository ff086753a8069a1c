"""Charts of a result: skills, interaction graph, agreement, confidence; and the notebook view of a result."""

from quorate.charts.notebook import Plots, result_html

__all__ = ["Plots", "result_html"]
