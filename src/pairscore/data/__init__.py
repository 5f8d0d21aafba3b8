"""Any table becomes Items and Comparisons, checked once.

Start with ``comparisons``: what a fit is given. The others in the order of the flow:

    tables                columns of any kind of table
    items                 the item table: ids and numeric features, checked
    vote_layouts          the columns that say together who was compared and who won
    votes                 comparisons: the codes and words of winners, outcomes
    column_roles          which column of comparisons has which role
    find_ids              the column that has the ids
    curves                columns as splines: knots and bends
    smooth                a smooth part of all numeric columns
    recipe                how columns become features, the same way for old and new items
    comparisons           items with the votes on them
    judges                who judged, and how many
    repeated_comparisons  those that are added a second time
    folds                 folds of items of nearly equal size
    splitters             cross-validation that holds out items
    on_items              scikit-learn's transformers on the items of comparisons

Imports: display, errors, choices, messages.
"""
