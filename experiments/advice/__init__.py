"""Effect of advice on the next answers."""
