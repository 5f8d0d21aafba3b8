"""Engines: where the tasks of a fit in parts run.

Start with ``local``: what an engine is, sums that add, and the engine of this machine.

    local    threads of this machine, in a fixed order of sums

Imports: core.
"""
