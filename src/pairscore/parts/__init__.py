"""Tables in parts that one worker reads at a time, and engines that run tasks over parts.

Start with ``engines``: what an engine is, sums that add, and the engine of this machine.

    engines  map a task over parts and add what comes back, in a fixed order
    sources  files, folders and addresses as partitions
    rows     a batch of a table as row numbers, outcomes and amounts; the item table
    spill    comparisons in tiles, in a folder that all workers can reach
    dask     an engine on Dask
    spark    an engine on Spark
    connect  the engine at an address

Imports: errors, choices, data, files, core.
"""
