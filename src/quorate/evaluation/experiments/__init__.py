"""Experiments that anyone can run again, one file each, on the public interface only."""
