"""What is wrong with these data, one file a finding; `diagnose.py` asks them all."""
