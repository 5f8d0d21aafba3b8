"""How many items and how many comparisons a study needs.

Start with ``planner``.

Imports: errors, choices, data, files, core, theory.
"""
