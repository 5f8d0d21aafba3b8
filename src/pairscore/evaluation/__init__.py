"""Models side by side on comparisons that they have not seen.

Start with ``compare``.

Imports: errors, data, model.
"""
