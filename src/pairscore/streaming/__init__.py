"""Fits to comparisons that need not fit into memory, or that lie at several sites.

Start with ``fit``: :func:`fit_stream`.

    engines       map a task over parts and add what comes back, in a fixed order
    dask          an engine on Dask
    spark         an engine on Spark
    connect       the engine at an address
    progress      how far long work is, also on a line of a terminal
    rows          a batch of comparisons as row numbers, outcomes and amounts
    item_rows     rows of the item table, a block at a time
    item_files    the item table in files that all workers can reach
    scratch       folders for temporary files
    spill         comparisons in tiles, in a folder that all workers can reach
    passes        the first pass over comparisons, and passes at given scores
    checkpoint    the sums of a first pass that was ended, to go on from
    tiles         comparisons on disk, those of a pair together, and sums over pairs
    shared_items  the item table, whose rows are here or on workers
    data          the first pass, and what the steps of a fit share
    fit           the model: fit_stream, and what a model keeps
    sites         sums of one site or of several, and files of sums
    rounds        sums that a site makes at a model of merged sums
    merge         models from sums of sites

Imports: display, errors, choices, data, files, core, estimators, model.
"""
