"""What is wrong with these data, one file a question; `quorate.diagnosis` asks them all."""
