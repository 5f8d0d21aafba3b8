"""Any table becomes Items and Comparisons, checked once.

Start with ``comparisons``: what a fit is given. ``tables`` reads columns of any kind of frame,
``items`` and
``votes`` check them, ``features`` makes numbers of columns by a recipe, ``splitters`` holds items
out.

Imports: errors.
"""
