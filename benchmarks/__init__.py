"""Timings as ratios, measured side by side."""
