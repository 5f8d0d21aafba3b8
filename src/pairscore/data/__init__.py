"""Any table becomes Items and Comparisons, checked once.

Start with ``comparisons``: what a fit is given. The others in the order of the flow: ``tables``
reads columns of any kind of table, ``items`` and ``votes`` check items and outcomes, ``find_ids``
finds the column that has the ids, ``repeats`` sees that comparisons are added twice,
``conventions`` knows how people write tables (columns of other names, encodings of text),
``features`` is the recipe that makes numbers of columns and ``feature_options`` chooses one,
``folds`` assigns items to folds, ``splitters`` holds items out in cross-validation, ``on_items``
applies scikit-learn's transformers to the items of comparisons.

Imports: display, errors, choices.
"""
