"""Every method, one file each and of one shape: `Answers` -> `Result`. `registry.py` lists them by name."""
