"""Fits to comparisons that need not fit into memory, or that lie at several sites.

Start with ``fit_stream``.

    fit_stream    fit_stream, and what a model keeps
    stream_job    what was asked of a stream, checked
    stream_data   the data of a stream: its sums, and passes at given scores
    first_pass    what the first pass over comparisons counts and writes
    checkpoint    the sums of a first pass that was ended, to go on from
    batches       batches of comparisons as row numbers, outcomes and amounts
    stream_items  the item table, read in parts
    stream_ids    the column of it that has the ids
    shared_items  the item table in files that all workers can reach
    spill         comparisons on disk, those of a pair of blocks together
    blocks        them in memory, a block of items at a time, and sums over pairs
    scratch       folders for temporary files, here or where all workers can reach them
    progress      how far the passes of a stream are
    engines       map a task over parts and add what comes back, in a fixed order
    engine_addresses  the engine that an address or a client names
    dask          an engine on Dask
    spark         an engine on Spark
    sites         the first sums that sites send
    rounds        the sums that they send at a model of merged sums
    scale_sums    sums at several scales of one direction
    site_files    files of sums of sites
    merge         models from sums of sites

Imports: display, errors, choices, data, files, core, estimators, model.
"""
