# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=False
"""The passes over comparisons and pairs, compiled; :mod:`pairscore.core.passes` has their twins.

Every function adds to arrays that it is given, over a range of rows, and holds no lock while it
does. Sums are taken in the order of the rows.
"""

from libc.math cimport INFINITY, exp, fabs, log1p

ctypedef fused real:
    float
    double

ctypedef fused index:
    int
    long long

ctypedef fused number:
    signed char
    double


cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define FETCH(address) __builtin_prefetch(address)
    #else
    #define FETCH(address) ((void) (address))
    #endif
    """
    void FETCH(const void*) noexcept nogil

cdef enum:
    AHEAD = 8  # entries; the row of a neighbour is fetched before its turn comes


def add_tally(const index[::1] left, const index[::1] right, const number[::1] outcome,
              const double[::1] amount, double[:] net, double[:] exposures):
    """Net wins and exposures; a comparison of an item with itself is none.

    Both may be columns of one array, so that those of an item are fetched together.
    """
    cdef Py_ssize_t m, a, b
    cdef double won
    with nogil:
        for m in range(left.shape[0]):
            if m + AHEAD < left.shape[0]:
                FETCH(&net[left[m + AHEAD]])
                FETCH(&net[right[m + AHEAD]])
            a, b = left[m], right[m]
            if a != b:
                won = amount[m] * outcome[m]
                net[a] += won
                net[b] -= won
                exposures[a] += amount[m]
                exposures[b] += amount[m]


def add_pairs(const index[::1] start, const index[::1] high, const double[::1] at_low,
              const double[::1] at_high, double sign, double[::1] sums):
    """sums[low] += at_low and sums[high] += sign * at_high, pair by pair."""
    cdef Py_ssize_t i, p
    cdef double own
    with nogil:
        for i in range(start.shape[0] - 1):
            own = 0.0
            for p in range(start[i], start[i + 1]):
                own += at_low[p]
                sums[high[p]] += sign * at_high[p]
            sums[i] += own


def logistic_pass(const index[::1] start, const index[::1] high, const double[::1] scores,
                  const double[::1] shift, const double[:, ::1] win, const double[:, ::1] lose,
                  Py_ssize_t first, Py_ssize_t last, double[:, ::1] score,
                  double[:, ::1] information, double[::1] net):
    """Score and information of every side and pair of the low items first to last; net scores."""
    cdef Py_ssize_t i, p, s
    cdef double eta, small, larger, f, times, own
    with nogil:
        for i in range(first, last):
            own = 0.0
            for p in range(start[i], start[i + 1]):
                for s in range(win.shape[0]):
                    eta = scores[i] - scores[high[p]] + shift[s]
                    small = exp(-fabs(eta))
                    larger = 1.0 / (1.0 + small)
                    f = larger if eta >= 0 else small * larger
                    times = win[s, p] + lose[s, p]
                    score[s, p] = win[s, p] - times * f
                    information[s, p] = times * small * larger * larger
                    own += score[s, p]
                    net[high[p]] -= score[s, p]
            net[i] += own


def laplacian_pass(const index[::1] start, const index[::1] high, const double[::1] scores,
                   const double[::1] shift, const double[:, ::1] weight, Py_ssize_t first,
                   Py_ssize_t last, double[::1] net, double[::1] side_sums):
    """Net weighted differences of the items, and the weighted differences of each side."""
    cdef Py_ssize_t i, p, s
    cdef double part, own
    with nogil:
        for i in range(first, last):
            own = 0.0
            for p in range(start[i], start[i + 1]):
                for s in range(weight.shape[0]):
                    part = weight[s, p] * (scores[i] - scores[high[p]] + shift[s])
                    side_sums[s] += part
                    own += part
                    net[high[p]] -= part
            net[i] += own


cdef inline void add_row(const real* x, const real* w, Py_ssize_t n, Py_ssize_t d,
                         real* out) noexcept nogil:
    """out[k] += w[k] x, two at a time."""
    cdef Py_ssize_t j, k
    cdef real v, w0, w1
    cdef real* first
    cdef real* second
    for k in range(0, n - 1, 2):
        first, second, w0, w1 = out + k * d, out + (k + 1) * d, w[k], w[k + 1]
        for j in range(d):
            v = x[j]
            first[j] += w0 * v
            second[j] += w1 * v
    if n % 2:
        first, w0 = out + (n - 1) * d, w[n - 1]
        for j in range(d):
            first[j] += w0 * x[j]


def neighbour_pass(const real[:, ::1] X, const index[::1] start, const index[::1] neighbour,
                   const real[:, ::1] values, Py_ssize_t first, Py_ssize_t last,
                   real[:, :, ::1] sums):
    """sums[i - first, k] += values[p, k] X[neighbour[p]], for the entries p of every item i."""
    cdef Py_ssize_t i, p, b, n = values.shape[1], d = X.shape[1], end = start[last]
    cdef const char* row
    with nogil:
        for i in range(first, last):
            for p in range(start[i], start[i + 1]):
                if p + AHEAD < end:
                    row = <const char*> &X[neighbour[p + AHEAD], 0]
                    for b in range(0, d * <Py_ssize_t> sizeof(real), 64):
                        FETCH(row + b)
                add_row(&X[neighbour[p], 0], &values[p, 0], n, d, &sums[i - first, 0, 0])


def logistic_outcome_pass(const double[::1] difference, const number[::1] outcome,
                          const double[::1] amount, double[::1] totals):
    """Amounts of decided, of rightly predicted, of expected wrong ones, and log-likelihood."""
    cdef Py_ssize_t m
    cdef double eta, small, decided = 0.0, right = 0.0, wrong = 0.0, loglik = 0.0
    with nogil:
        for m in range(difference.shape[0]):
            if outcome[m] == 0:
                continue
            eta = difference[m] * outcome[m]
            small = exp(-fabs(eta))
            decided += amount[m]
            wrong += amount[m] * small / (1.0 + small)
            loglik += amount[m] * ((eta if eta < 0 else 0.0) - log1p(small))
            if eta > 0:
                right += amount[m]
    totals[0] += decided
    totals[1] += right
    totals[2] += wrong
    totals[3] += loglik


def logistic_rows(const index[::1] left, const index[::1] right, const number[::1] outcome,
                  const double[::1] amount, const double[::1] scores, double shift,
                  double[::1] net, double[::1] squared, double[::1] totals, bint likely):
    """Sums over comparisons at the differences of scores, plus a shift; see streaming.passes.

    Scores e and weighted differences per item go into ``net`` and ``squared``, unless these are
    empty; the log-likelihood is summed if ``likely``.
    """
    cdef Py_ssize_t m, a, b
    cdef double x, eta, small, larger, f, y, w, e, info, high
    cdef bint met
    cdef double se = 0.0, sex = 0.0, si = 0.0, six = 0.0, sixx = 0.0, sxx = 0.0
    cdef double decided = 0.0, right_ones = 0.0, wrong = 0.0, loglik = 0.0, tied = 0.0
    cdef double win_low = totals[11], win_high = totals[12]
    cdef double lose_low = totals[13], lose_high = totals[14]
    cdef bint has_net = net.shape[0] > 0, has_squared = squared.shape[0] > 0
    with nogil:
        for m in range(left.shape[0]):
            if m + AHEAD < left.shape[0]:
                FETCH(&scores[left[m + AHEAD]])
                FETCH(&scores[right[m + AHEAD]])
                if has_net:
                    FETCH(&net[left[m + AHEAD]])
                    FETCH(&net[right[m + AHEAD]])
                if has_squared:
                    FETCH(&squared[left[m + AHEAD]])
                    FETCH(&squared[right[m + AHEAD]])
            a, b, w, y = left[m], right[m], amount[m], outcome[m]
            x = scores[a] - scores[b]
            eta = x + shift
            small = exp(-fabs(eta))
            larger = 1.0 / (1.0 + small)
            f = larger if eta >= 0 else small * larger
            e = w * (0.5 + 0.5 * y - f)
            info = w * small * larger * larger
            se += e
            sex += e * x
            si += info
            six += info * x
            sixx += info * x * x
            sxx += w * x * x
            if has_net:
                net[a] += e
                net[b] -= e
            if has_squared:
                squared[a] += w * x
                squared[b] -= w * x
            # without branches, which a processor cannot guess where outcomes are coins
            met = a != b and w > 0
            tied += w if y == 0 and met else 0.0
            w = w if y != 0 else 0.0
            decided += w
            wrong += w * small * larger
            eta *= y
            if likely:
                loglik += w * ((eta if eta < 0 else 0.0) - log1p(small))
            right_ones += w if eta > 0 else 0.0
            high = x if met and y > 0 else -INFINITY
            win_high = high if high > win_high else win_high
            high = -x if met and y > 0 else -INFINITY
            win_low = -high if -high < win_low else win_low
            high = x if met and y < 0 else -INFINITY
            lose_high = high if high > lose_high else lose_high
            high = -x if met and y < 0 else -INFINITY
            lose_low = -high if -high < lose_low else lose_low
    totals[0] += se
    totals[1] += sex
    totals[2] += si
    totals[3] += six
    totals[4] += sixx
    totals[5] += sxx
    totals[6] += decided
    totals[7] += right_ones
    totals[8] += wrong
    totals[9] += loglik
    totals[10] += tied
    totals[11], totals[12], totals[13], totals[14] = win_low, win_high, lose_low, lose_high


def sort_by_pair(const index[::1] left, const index[::1] right, int[::1] place, int[::1] low,
                 long long[::1] end, int[::1] order, int[::1] high, long long[::1] start):
    """Sort comparisons by (low, high), an item with itself left out, by counting twice.

    ``order`` (M) has the rows, -1 - row where low is on the right, and ``high`` (M) their high
    items; those of each low item begin at ``start`` (N + 1). ``place`` and ``low`` (M) and ``end``
    (N) are for notes: the rows by high item, their low items, where each high item ends.
    """
    cdef Py_ssize_t m, i, n = end.shape[0]
    cdef long long at, first = 0
    with nogil:
        end[:] = 0
        start[:] = 0
        for m in range(left.shape[0]):
            if left[m] != right[m]:
                end[max(left[m], right[m])] += 1
                start[min(left[m], right[m]) + 1] += 1
        for i in range(n):
            at = end[i]
            end[i] = first
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
                order[at] = place[m]
                high[at] = <int> i
                start[low[m]] += 1
        for i in range(n, 0, -1):  # each was moved on by its own number
            start[i] = start[i - 1]
        start[0] = 0


def sum_by_pair(const number[::1] outcome, const double[::1] amount, const int[::1] order,
                const long long[::1] first, int[::1] start, int[::1] high, double[:, ::1] win,
                double[:, ::1] lose):
    """Wins and losses of low for every pair, of comparisons sorted as above; how many pairs.

    ``high`` (M) becomes that of pairs. One ``amount`` stands for all.
    """
    cdef Py_ssize_t i, m, row, s, p = -1, sides = win.shape[0]
    cdef bint same = amount.shape[0] == 1
    cdef double won, weight = amount[0] if same else 0.0
    with nogil:
        for i in range(start.shape[0] - 1):
            start[i] = <int> (p + 1)
            for m in range(first[i], first[i + 1]):
                if p < start[i] or high[p] != high[m]:
                    p += 1
                    high[p] = high[m]
                    for s in range(sides):
                        win[s, p] = 0.0
                        lose[s, p] = 0.0
                row = order[m] if order[m] >= 0 else -1 - order[m]
                s = 1 if sides > 1 and order[m] < 0 else 0
                if not same:
                    weight = amount[row]
                won = weight * (0.5 + 0.5 * (outcome[row] if order[m] >= 0 else -outcome[row]))
                win[s, p] += won
                lose[s, p] += weight - won
        start[start.shape[0] - 1] = <int> (p + 1)
    return p + 1


def turn_pairs(const int[::1] start, const int[::1] high, int[::1] start_of_high, int[::1] low,
               int[::1] order):
    """The same pairs sorted by high: where each begins, its low items, and their order."""
    cdef Py_ssize_t i, p, n = start.shape[0] - 1
    with nogil:
        start_of_high[:] = 0
        for p in range(high.shape[0]):
            start_of_high[high[p] + 1] += 1
        for i in range(n):
            start_of_high[i + 1] += start_of_high[i]
        for i in range(n):
            for p in range(start[i], start[i + 1]):
                low[start_of_high[high[p]]] = <int> i
                order[start_of_high[high[p]]] = <int> p
                start_of_high[high[p]] += 1
        for i in range(n, 0, -1):
            start_of_high[i] = start_of_high[i - 1]
        start_of_high[0] = 0


def contribution_pass(const index[::1] start, const index[::1] high, const double[::1] at_low,
                      const double[::1] at_high, const double[::1] times, double[::1] own,
                      double[::1] squares, real[:, ::1] factors):
    """Per item the sums of factors and of their squares; per pair high's factor and both's product.

    Squares and products are taken ``times`` (P), or once if that is empty.
    """
    cdef Py_ssize_t i, p
    cdef double a, b, t = 1.0
    cdef bint counted = times.shape[0] > 0
    with nogil:
        for i in range(start.shape[0] - 1):
            for p in range(start[i], start[i + 1]):
                a, b = at_low[p], at_high[p]
                if counted:
                    t = times[p]
                own[i] += a
                own[high[p]] += b
                squares[i] += t * a * a
                squares[high[p]] += t * b * b
                factors[p, 0] = <real> b
                factors[p, 1] = <real> (t * a * b)


def laplacian_columns(const index[::1] start, const index[::1] high, const double[::1] weight,
                      const double[:, ::1] X, double[:, ::1] out):
    """out += L X, L the Laplacian of the pairs with their weights."""
    cdef Py_ssize_t i, j, p, c, n = X.shape[1], size = high.shape[0]
    cdef double w, part
    with nogil:
        for i in range(start.shape[0] - 1):
            for p in range(start[i], start[i + 1]):
                if p + AHEAD < size:
                    FETCH(&X[high[p + AHEAD], 0])
                    FETCH(&out[high[p + AHEAD], 0])
                    if n > 8:
                        FETCH(&X[high[p + AHEAD], 8])
                        FETCH(&out[high[p + AHEAD], 8])
                j, w = high[p], weight[p]
                for c in range(n):
                    part = w * (X[i, c] - X[j, c])
                    out[i, c] += part
                    out[j, c] -= part


def message_pass(const index[::1] start, const index[::1] high, const double[::1] weight,
                 const double[::1] total, double[::1] to_low, double[::1] to_high,
                 double[::1] sums):
    """A round of messages along pairs, in place, and their sums per item."""
    cdef Py_ssize_t i, p
    cdef double at_low, at_high, own, w
    with nogil:
        for i in range(start.shape[0] - 1):
            own = 0.0
            for p in range(start[i], start[i + 1]):
                w, at_low, at_high = weight[p], total[i] - to_low[p], total[high[p]] - to_high[p]
                to_low[p] = w * at_high / (w + at_high)
                to_high[p] = w * at_low / (w + at_low)
                own += to_low[p]
                sums[high[p]] += to_high[p]
            sums[i] += own


def variance_pass(const index[::1] start, const index[::1] high, const double[::1] weight,
                  const double[::1] total, const double[::1] to_low, const double[::1] to_high,
                  double[::1] variance):
    """The variance of the difference of each pair, from the messages along it."""
    cdef Py_ssize_t i, p
    cdef double at_low, at_high, both
    with nogil:
        for i in range(start.shape[0] - 1):
            for p in range(start[i], start[i + 1]):
                at_low, at_high = total[i] - to_low[p], total[high[p]] - to_high[p]
                both = at_low + at_high
                variance[p] = both / (weight[p] * both + at_low * at_high)
