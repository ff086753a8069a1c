"""The interaction graph: pairs of workers who share tasks, connected components and what they identify."""
