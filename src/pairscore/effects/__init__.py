"""What features leave out: context, sides, judges, ties, and effects of items.

Start with ``joint_fit``: everything that was asked for, estimated together.

    design                   from settings and data to rows of single comparisons
    single_comparisons       the likelihood of single comparisons
    maximum                  its maximum, without effects of items
    joint_separation         where coefficients, effects and ties have no finite size
    separated_maximum        the maximum where a prior holds these
    profile_likelihood       intervals by it
    item_laws                effects of items: none, free abilities, or normal
    expectation_propagation  normal effects of items, given all comparisons
    item_covariance          their covariance, also of two items of a model: in blocks, or
    belief_propagation       by messages between neighbours, for many items
    item_variance            how much items differ: estimate and interval
    variance_score           whether they differ at all: a test
    item_effects             what a fit finds of its items, with the test of them
    held_out_items           comparisons by fits without their items; the ridge beside effects
    calibration              chances as steep as these say
    comparison_effects       what a fit finds of context, sides and ties; scores of comparisons
    context                  what of a context belongs to the items
    judge_slopes             how sharp each judge is
    judges                   what a fit finds of each judge
    judge_agreement          how often they agree
    judge_tastes             whether they weigh the features differently
    graph_of_wins            whether abilities of items without features have a maximum
    open_abilities           abilities of items that won, or lost, everything: open intervals
    quasi_variances          errors of abilities and of their differences
    ability_information      what each comparison adds to abilities
    parameter_covariance     errors that allow for shared items and judges
    joint_fit                the fit
    kept_items               what a model keeps of it: effects of items with errors

Imports: display, errors, data, core, estimators, messages.
"""
