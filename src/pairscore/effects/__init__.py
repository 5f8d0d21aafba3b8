"""What features leave out: context, sides, judges, ties, and effects of items.

Start with ``single_comparisons``: the likelihood where comparisons of a pair cannot be summed.

Imports: errors, data, core, estimators.
"""
