"""Methods to compare with: each takes `Answers` and returns the same `Result`."""
