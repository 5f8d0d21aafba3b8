# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=False
"""Loops over comparisons and pairs, compiled; :mod:`pairscore.core.kernels` says which they are.

Every function adds to arrays that it is given, in the order of rows, and holds no lock meanwhile.
Numbers of items, pairs and rows are looked at where they are used, and one that is beyond its array
ends the pass with an error: they may come from files. Lengths of arrays are the caller's affair.
"""

from libc.math cimport exp, sqrt


ctypedef fused index:
    int
    long long

ctypedef fused number:
    signed char
    double

ctypedef fused count:
    int
    double

cdef extern from *:
    """
    #ifndef __GNUC__
    #define __builtin_prefetch(address) ((void) (address))
    #endif
    """
    void FETCH "__builtin_prefetch"(const void*) noexcept nogil

cdef enum:  # entries ahead that are fetched before their turn comes
    AHEAD = 8  # rows of neighbours
    FAR = 16  # numbers of the items of comparisons
    ROWS = 64  # comparisons whose terms are worked out together

cdef double LARGEST_SD = 33.0  # of nodes that are equally far apart: no overflow at the last one
cdef double LARGEST_ETA = 200.0  # beyond, every outcome is sure


cdef inline bint is_outside(Py_ssize_t place, Py_ssize_t n) noexcept nogil:
    return <size_t> place >= <size_t> n  # so are numbers below zero


cdef int refuse(bint outside) except -1:
    if outside:
        from pairscore.core.kernels_numpy import outside_table
        raise outside_table()
    return 0


def add_tally(const index[::1] left, const index[::1] right, const number[::1] outcome,
              const double[:] amount, count[:, ::1] sums):
    """Net wins and exposures, side by side; a comparison of an item with itself is none.

    Where amounts are None, each comparison counts once. Sums in whole numbers of four bytes take
    half the time of doubles where there are millions of items.
    """
    cdef Py_ssize_t m, a, b, n = sums.shape[0] if sums.shape[1] == 2 else 0
    cdef double won, times = 1.0
    cdef bint outside = False, differ = amount is not None
    with nogil:
        for m in range(left.shape[0]):
            if m + FAR < left.shape[0]:
                FETCH(&sums[left[m + FAR], 0]); FETCH(&sums[right[m + FAR], 0])
            a, b = left[m], right[m]
            if differ:
                times = amount[m]
            if is_outside(a, n) or is_outside(b, n):
                outside = True
                break
            if a != b:
                won = times * outcome[m]
                sums[a, 0] += <count> won; sums[b, 0] -= <count> won
                sums[a, 1] += <count> times; sums[b, 1] += <count> times
    refuse(outside)


def subtract_scores(const index[::1] left, const index[::1] right, const double[::1] scores,
                    double[::1] difference):
    """Score of left minus score of right."""
    cdef Py_ssize_t m, n = scores.shape[0]
    cdef bint outside = False
    with nogil:
        for m in range(left.shape[0]):
            if m + FAR < left.shape[0]:
                FETCH(&scores[left[m + FAR]]); FETCH(&scores[right[m + FAR]])
            if is_outside(left[m], n) or is_outside(right[m], n):
                outside = True
                break
            difference[m] = scores[left[m]] - scores[right[m]]
    refuse(outside)


def add_at_ends(const index[::1] left, const index[::1] right, const double[::1] at_left,
                const double[::1] at_right, double sign, double[::1] sums):
    """sums[left] += at_left and sums[right] += sign * at_right, row by row."""
    cdef Py_ssize_t m, n = sums.shape[0]
    cdef bint outside = False
    with nogil:
        for m in range(left.shape[0]):
            if m + FAR < left.shape[0]:
                FETCH(&sums[left[m + FAR]])
                FETCH(&sums[right[m + FAR]])
            if is_outside(left[m], n) or is_outside(right[m], n):
                outside = True
                break
            sums[left[m]] += at_left[m]
            sums[right[m]] += sign * at_right[m]
    refuse(outside)


cdef int refuse_starts(const index[::1] start, Py_ssize_t n_pairs, Py_ssize_t first,
                       Py_ssize_t last, Py_ssize_t n_items) except -1:
    """The pairs of low items first to last must be among all pairs, and the items among all."""
    cdef Py_ssize_t i
    cdef bint outside = first < 0 or last < first or last >= start.shape[0] or last > n_items
    refuse(outside)
    with nogil:
        outside = start[first] < 0 or start[last] > n_pairs
        for i in range(first, last):
            outside |= start[i] > start[i + 1]
    return refuse(outside)


cdef inline void add_rows(const double* x, const double* y, const double* v, const double* w,
                          double two, Py_ssize_t n, Py_ssize_t d, double* out) noexcept nogil:
    """out[k] += v[k] x + w[k] y, the latter if there are two."""
    cdef Py_ssize_t j, k
    cdef double a, b
    for k in range(n):
        a, b = v[k], two * w[k]
        for j in range(d):
            out[j] += a * x[j] + b * y[j]
        out += d


def neighbour_pass(const double[:, ::1] X, const index[::1] start, const index[::1] neighbour,
                   const double[:, ::1] values, Py_ssize_t first, Py_ssize_t last,
                   double[:, :, ::1] sums):
    """sums[i - first, k] += values[p, k] X[neighbour[p]], for the entries p of every item i."""
    cdef Py_ssize_t i, p, q, b, n = values.shape[1], d = X.shape[1], end, n_items = X.shape[0]
    cdef const char* row
    cdef bint outside = False
    refuse_starts(start, neighbour.shape[0], first, last, n_items)
    refuse(last - first > sums.shape[0])
    end = start[last]
    with nogil:
        for i in range(first, last):
            for p in range(start[i], start[i + 1], 2):
                for q in range(p + AHEAD, min(p + AHEAD + 2, end)):
                    row = <const char*> &X[neighbour[q], 0]
                    for b in range(0, d * <Py_ssize_t> sizeof(double), 64):
                        FETCH(row + b)
                q = p + (p + 1 < start[i + 1])
                if is_outside(neighbour[p], n_items) or is_outside(neighbour[q], n_items):
                    outside = True
                    continue
                add_rows(&X[neighbour[p], 0], &X[neighbour[q], 0], &values[p, 0], &values[q, 0],
                         q > p, n, d, &sums[i - first, 0, 0])
    refuse(outside)


def sort_by_pair(const index[::1] left, const index[::1] right, int[::1] place, int[::1] low,
                 long long[::1] end, int[::1] order, int[::1] high, long long[::1] start):
    """Sort comparisons by (low, high), an item with itself left out, by counting twice.

    ``order`` (M) has the rows, -1 - row where low is on the right, ``high`` (M) their high items;
    those of each low item begin at ``start`` (N + 1). ``place``, ``low`` (M), ``end`` (N) are notes.
    """
    cdef Py_ssize_t m, i, n = end.shape[0]
    cdef long long at, first = 0
    cdef bint outside = start.shape[0] <= n
    with nogil:
        end[:], start[:] = 0, 0
        for m in range(0 if outside else left.shape[0]):
            if is_outside(left[m], n) or is_outside(right[m], n):
                outside = True
                break
            if left[m] != right[m]:
                end[max(left[m], right[m])] += 1; start[min(left[m], right[m]) + 1] += 1
    refuse(outside)
    with nogil:
        for i in range(n):
            at, end[i] = end[i], first
            first += at
            start[i + 1] += start[i]
        for m in range(left.shape[0]):
            if left[m] != right[m]:
                i = max(left[m], right[m])
                place[end[i]] = <int> (m if left[m] < right[m] else -1 - m)
                low[end[i]] = <int> min(left[m], right[m])
                end[i] += 1
        for i in range(n):
            for m in range(end[i - 1] if i else 0, end[i]):
                at = start[low[m]]
                order[at], high[at] = place[m], <int> i
                start[low[m]] += 1
        for i in range(n, 0, -1):  # each was moved on by its own number
            start[i] = start[i - 1]
        start[0] = 0


def sum_by_pair(const number[::1] outcome, const double[::1] amount, const int[::1] order,
                const long long[::1] first, int[::1] start, int[::1] high, double[:, ::1] win,
                double[:, ::1] lose):
    """Wins and losses of low for every pair, of comparisons sorted as above; how many pairs.

    ``high`` (M) becomes that of pairs. Where amounts are None, each comparison counts once.
    """
    cdef Py_ssize_t i, m, row, s, p = -1, sides = win.shape[0]
    cdef bint differ = amount is not None
    cdef double won, weight = 1.0
    with nogil:
        for i in range(start.shape[0] - 1):
            start[i] = <int> (p + 1)
            for m in range(first[i], first[i + 1]):
                if p < start[i] or high[p] != high[m]:
                    p += 1
                    high[p] = high[m]
                    for s in range(sides):
                        win[s, p], lose[s, p] = 0.0, 0.0
                row = order[m] if order[m] >= 0 else -1 - order[m]
                s = 1 if sides > 1 and order[m] < 0 else 0
                if differ:
                    weight = amount[row]
                won = weight * (0.5 + 0.5 * (outcome[row] if order[m] >= 0 else -outcome[row]))
                win[s, p] += won; lose[s, p] += weight - won
        start[start.shape[0] - 1] = <int> (p + 1)
    return p + 1


def pass_messages(const index[::1] start, const index[::1] high, const double[::1] weight,
                  const double[::1] total, double[::1] to_low, double[::1] to_high,
                  double[::1] sums):
    """A round of messages along pairs, in place, and their sums per item."""
    cdef Py_ssize_t i, p, n_items = min(total.shape[0], sums.shape[0])
    cdef double at_low, at_high, own, w
    cdef bint outside = False
    refuse_starts(start, high.shape[0], 0, start.shape[0] - 1, n_items)
    with nogil:
        for i in range(start.shape[0] - 1):
            own = 0.0
            for p in range(start[i], start[i + 1]):
                if is_outside(high[p], n_items):
                    outside = True
                    continue
                w, at_low, at_high = weight[p], total[i] - to_low[p], total[high[p]] - to_high[p]
                to_low[p], to_high[p] = w * at_high / (w + at_high), w * at_low / (w + at_low)
                own += to_low[p]; sums[high[p]] += to_high[p]
            sums[i] += own
    refuse(outside)


cdef struct Cavity:  # what all other comparisons say of delta, of the judge's slope and of eta
    double delta
    double variance
    double slope
    double slope_variance
    double eta
    double sd


cdef struct Win:  # of the logarithm of an average probability: its derivative, and minus the second
    double score
    double information


cdef inline Cavity cavity_of(double delta, double variance, double slope, double slope_variance,
                             double side, double tau, double score,
                             const double* least) noexcept nogil:
    """The law of a comparison's delta, slope and eta without its own term."""
    cdef Cavity other
    other.variance = variance / max(1.0 - slope * slope * tau * variance, least[0])
    other.delta = delta - other.variance * slope * score
    other.slope_variance = slope_variance / max(
        1.0 - slope_variance * tau * other.delta * other.delta, least[1])
    other.slope = slope - other.slope_variance * other.delta * score
    other.eta = other.slope * other.delta + side
    other.sd = sqrt(other.slope * other.slope * other.variance
                    + other.slope_variance * (other.delta * other.delta + other.variance))
    return other


cdef inline Win average_win(double odds, double sd, double growth, const double* z,
                            const double* weight, Py_ssize_t n) noexcept nogil:
    """Of log E f(x + sd z), f logistic and ``odds`` = exp(-x), from averages of f, f^2 and f^3.

    Nodes ``z`` >= 0 stand for z and -z: with e = exp(sd z), where the sum and the product of f at
    both are (2e + odds (1 + e^2)) / d and e / d, d = e (1 + odds^2) + odds (1 + e^2). From one node
    to the next e grows by ``growth`` where nodes are equally far apart; else that is zero.
    """
    cdef double e = 1.0, f = 0.0, f2 = 0.0, f3 = 0.0, d, rest, total, product, ratio
    cdef Py_ssize_t k
    cdef Win win
    for k in range(n):
        if growth == 0.0:
            e = exp(sd * z[k])
        rest = odds * (1.0 + e * e)
        d = 1.0 / (e * (1.0 + odds * odds) + rest)
        total = (2.0 * e + rest) * d
        product = e * d
        f += weight[k] * total
        f2 += weight[k] * (total * total - 2.0 * product)
        f3 += weight[k] * total * (total * total - 3.0 * product)
        e = e * growth
    ratio = 1.0 - f2 / f  # f' = f - f^2 and f'' = f - 3 f^2 + 2 f^3
    win.score = ratio
    win.information = ratio * ratio - 1.0 + (3.0 * f2 - 2.0 * f3) / f
    return win


def term_pass(const double[::1] delta, const double[:] side, const double[::1] outcome,
              const double[::1] amount, const double[::1] tau, const double[::1] score,
              const index[::1] pair, const index[::1] judge, const double[::1] pair_variance,
              const double[:, ::1] slopes, const double[::1] least, const double[::1] sd_classes,
              const index[::1] start, const double[::1] z, const double[::1] weight,
              const double[::1] spacing, Py_ssize_t first, Py_ssize_t last,
              double[::1] new_score, double[::1] new_tau, double[::1] new_delta_score):
    """New terms of comparisons under logit (:mod:`pairscore.effects.expectation_propagation`).

    ``slopes`` (2 x J) are means and variances; ``least`` the smallest share of a precision that a
    cavity keeps, that of a slope, and of information. Nodes of the class c of standard deviations
    up to ``sd_classes[c]`` are those from ``start[c]`` to ``start[c + 1]`` of ``z`` and ``weight``,
    equally far apart by ``spacing[c]`` where that is not zero.
    """
    cdef Py_ssize_t m, r, c, n, at = first
    cdef bint outside = False
    cdef double once, sign, share, odds, g, h, spread, slope, on_delta, ahead
    cdef Cavity other
    cdef Win win
    cdef Cavity[ROWS] cavity
    cdef double[ROWS] growth, up
    cdef Py_ssize_t[ROWS] sd_class
    with nogil:
        while at < last:  # some rows, step by step, because a step waits for the one before
            n = min(ROWS, last - at)
            for r in range(n):
                m = at + r
                if (is_outside(judge[m], slopes.shape[1])
                        or is_outside(pair[m], pair_variance.shape[0])):
                    outside = True
                    break
                once = min(amount[m], 1.0)
                cavity[r] = cavity_of(delta[m], pair_variance[pair[m]], slopes[0, judge[m]],
                                      slopes[1, judge[m]], side[m], once * tau[m],
                                      once * score[m], &least[0])
            if outside:
                break
            for r in range(n):
                c = 0
                while c < sd_classes.shape[0] and cavity[r].sd > sd_classes[c]:
                    c += 1
                sd_class[r] = c
                growth[r] = 0.0
                if spacing[c] > 0.0:
                    growth[r] = exp(min(cavity[r].sd, LARGEST_SD) * spacing[c])
                up[r] = exp(min(max(cavity[r].eta, -LARGEST_ETA), LARGEST_ETA))
            for r in range(n):
                m = at + r
                c = sd_class[r]
                other = cavity[r]
                g = 0.0
                h = 0.0
                for sign in (1.0, -1.0):  # a win, and a loss; a tie is half of each
                    share = 0.5 + 0.5 * sign * outcome[m]
                    if share > 0.0:
                        odds = 1.0 / up[r] if sign > 0 else up[r]
                        win = average_win(odds, other.sd, growth[r], &z[start[c]],
                                          &weight[start[c]], start[c + 1] - start[c])
                        g += share * sign * win.score
                        h += share * win.information
                slope = slopes[0, judge[m]]
                spread = other.slope * other.slope * other.variance
                on_delta = other.slope * g + other.slope_variance * other.delta * (g * g - h)
                h = min(max(h, least[2]), (1.0 - least[0]) / max(spread, least[2]))
                new_tau[m] = h / (1.0 - spread * h)
                # scores at the mean of the term, taken along to the present mean
                ahead = other.delta + other.variance * on_delta - delta[m]
                ahead *= new_tau[m] * slope
                new_score[m] = g + ahead
                new_delta_score[m] = on_delta + slope * ahead
            at += ROWS
    refuse(outside)
