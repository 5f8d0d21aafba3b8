"""Fits to comparisons that need not fit into memory, or that lie at several sites.

Start with ``fit``: :func:`fit_stream`.

    sources     files, folders and addresses as partitions that one worker reads
    rows        a batch of a table as row numbers, outcomes and amounts; the item table
    passes      the first pass over comparisons with its checkpoint, and passes at given scores
    tiles       comparisons on disk, those of a pair together, and sums over pairs
    data        the first pass, and what the steps of a fit share
    estimates   split, pooled, paired and maximum likelihood from passes
    fit         the model: fit_stream, and what a model keeps

Imports: errors, choices, data, files, core, estimators, model, engines.
"""
