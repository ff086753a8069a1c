"""Other programs that are running: Label Studio servers and Inspect."""
