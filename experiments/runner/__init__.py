"""Running experiments and rendering their pages."""
