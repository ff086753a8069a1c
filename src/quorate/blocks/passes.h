/* One pass over whole tasks for each kernel. Included once for every type of label, as LABEL; names end in it: NAME().
 *
 * The answers of task t are start[t] .. start[t+1]-1. The inputs and the sums of a worker are in one row of a table, so
 * that an answer touches one cache line; the line of the worker AHEAD answers later is prefetched. numpy_kernels.py has a
 * function of the same name for every kernel, with the formula of its sums.
 */

/* Y = sum_j x_j z_j with z_j = e_label - f_j; then omega z_i·Y and omega sum x² over each worker's tasks, minus its own
 * terms. A row: x, signed, squares, x² (or another number to be summed over the peers), f_1 .. f_M, and padding. With up
 * to four classes a row is one cache line, so it does not hold |f|². */
FIXED void NAME(centred_body)(const Span s, const LABEL *label, double *table, const int64_t stride, const int M,
                              const double *restrict unit, double *restrict y)
{
    for (int64_t t = 0; t < s.n_tasks; t++) {
        const int64_t from = s.start[t], to = s.start[t + 1];
        if (to - from < 2) continue;
        double squares = 0.0;
        for (int c = 0; c < M; c++) y[c] = 0.0;
        for (int64_t a = from; a < to; a++) {
            if (a + AHEAD < s.n_answers) PREFETCH(table + s.worker[a + AHEAD] * stride);
            const double *row = table + s.worker[a] * stride;
            const double x = row[0], *e = unit + label[a] * M;
            squares += row[3];
            for (int c = 0; c < M; c++) y[c] += x * (e[c] - row[4 + c]);
        }
        const double omega = 1.0 / (double)(to - from - 1);
        for (int64_t a = from; a < to; a++) {
            double *row = table + s.worker[a] * stride;
            const double x = row[0], *e = unit + label[a] * M;
            double dot = 0.0;
            for (int c = 0; c < M; c++) {
                const double z = e[c] - row[4 + c];
                dot += z * (y[c] - x * z);
            }
            row[1] += omega * dot;
            row[2] += omega * (squares - row[3]);
        }
    }
}

/* The same for many classes, without the table of all e_l, which would be too large for the cache. */
static void NAME(centred_many)(const Span s, const LABEL *label, double *table, const int64_t stride, const int M, double *y)
{
    for (int64_t t = 0; t < s.n_tasks; t++) {
        const int64_t from = s.start[t], to = s.start[t + 1];
        if (to - from < 2) continue;
        double squares = 0.0;
        for (int c = 0; c < M; c++) y[c] = 0.0;
        for (int64_t a = from; a < to; a++) {
            const double *row = table + s.worker[a] * stride, x = row[0];
            squares += row[3];
            for (int c = 0; c < M; c++) y[c] -= x * row[4 + c];
            y[label[a]] += x;
        }
        const double omega = 1.0 / (double)(to - from - 1);
        for (int64_t a = from; a < to; a++) {
            double *row = table + s.worker[a] * stride;
            const double x = row[0], f = row[4 + label[a]], own = y[label[a]];
            double dot = (1.0 - f) * (own - x * (1.0 - f)) + f * (own + x * f); /* minus what the loop adds for this class */
            for (int c = 0; c < M; c++) dot -= row[4 + c] * (y[c] + x * row[4 + c]);
            row[1] += omega * dot;
            row[2] += omega * (squares - row[3]);
        }
    }
}

static void NAME(centred)(const Span s, const LABEL *label, double *table, int64_t stride, int M, double *scratch)
{
    if (M > MAX_UNITS) {
        NAME(centred_many)(s, label, table, stride, M, scratch);
        return;
    }
    double *unit = scratch + M; /* e_l, row by row: faster than comparisons */
    for (int k = 0; k < M * M; k++) unit[k] = k % (M + 1) == 0;
    switch (M) {
    case 2: { double y[2]; NAME(centred_body)(s, label, table, stride, 2, unit, y); break; }
    case 3: { double y[3]; NAME(centred_body)(s, label, table, stride, 3, unit, y); break; }
    case 4: { double y[4]; NAME(centred_body)(s, label, table, stride, 4, unit, y); break; }
    case 5: { double y[5]; NAME(centred_body)(s, label, table, stride, 5, unit, y); break; }
    default: NAME(centred_body)(s, label, table, stride, M, unit, scratch);
    }
}

/* sum_j a_ijt x_j and sum_j x_j² over each worker's tasks, minus its own terms; a row: x, signed, squares, padding. */
FIXED void NAME(agreement_body)(const Span s, const LABEL *label, double *table, const int M,
                                const double *restrict unit, double *restrict y)
{
    const double equal = (double)M / (M - 1), even = 1.0 / (M - 1);
    for (int64_t t = 0; t < s.n_tasks; t++) {
        const int64_t from = s.start[t], to = s.start[t + 1];
        if (to - from < 2) continue;
        double squares = 0.0, all = 0.0;
        if (M <= 8) for (int c = 0; c < M; c++) y[c] = 0.0;
        else for (int64_t a = from; a < to; a++) y[label[a]] = 0.0; /* of many classes, only those of the answers */
        for (int64_t a = from; a < to; a++) {
            if (a + AHEAD < s.n_answers) PREFETCH(table + (int64_t)s.worker[a + AHEAD] * 4);
            const double x = table[(int64_t)s.worker[a] * 4], *e = unit + (M <= 8 ? label[a] * M : 0);
            squares += x * x;
            all += x;
            if (M <= 8) for (int c = 0; c < M; c++) y[c] += x * e[c];
            else y[label[a]] += x;
        }
        if (M <= 8) for (int c = 0; c < M; c++) y[c] = equal * y[c] - even * all;
        for (int64_t a = from; a < to; a++) {
            double *row = table + (int64_t)s.worker[a] * 4;
            const double x = row[0];
            row[1] += (M <= 8 ? y[label[a]] : equal * y[label[a]] - even * all) - x;
            row[2] += squares - x * x;
        }
    }
}

static void NAME(agreement)(const Span s, const LABEL *label, double *table, int M, double *scratch)
{
    double *unit = scratch + M;
    for (int k = 0; M <= 8 && k < M * M; k++) unit[k] = k % (M + 1) == 0;
    switch (M) {
    case 2: { double y[2]; NAME(agreement_body)(s, label, table, 2, unit, y); break; }
    case 3: { double y[3]; NAME(agreement_body)(s, label, table, 3, unit, y); break; }
    case 4: { double y[4]; NAME(agreement_body)(s, label, table, 4, unit, y); break; }
    default: NAME(agreement_body)(s, label, table, M, unit, scratch);
    }
}

/* The sums for intervals: with q_r the sum of x^r over the peers on a task and omega its weight (1, or 1/(R-1)),
 * the sums of omega q_2, omega² q_2, omega² q_3, omega² q_4, omega² q_2² and omega times the sum of `known` over the
 * peers. A row: x, known, and the six sums. */
static void NAME(powers)(const Span s, const LABEL *label, double *table, int even)
{
    (void)label;
    for (int64_t t = 0; t < s.n_tasks; t++) {
        const int64_t from = s.start[t], to = s.start[t + 1];
        if (to - from < 2) continue;
        double p2 = 0.0, p3 = 0.0, p4 = 0.0, known = 0.0;
        for (int64_t a = from; a < to; a++) {
            if (a + AHEAD < s.n_answers) PREFETCH(table + (int64_t)s.worker[a + AHEAD] * 8);
            const double *row = table + (int64_t)s.worker[a] * 8;
            const double x2 = row[0] * row[0];
            p2 += x2;
            p3 += x2 * row[0];
            p4 += x2 * x2;
            known += row[1];
        }
        const double omega = even ? 1.0 : 1.0 / (double)(to - from - 1), both = omega * omega;
        for (int64_t a = from; a < to; a++) {
            double *row = table + (int64_t)s.worker[a] * 8;
            const double x = row[0], x2 = x * x, q2 = p2 - x2;
            row[2] += omega * q2;
            row[3] += both * q2;
            row[4] += both * (p3 - x2 * x);
            row[5] += both * (p4 - x2 * x2);
            row[6] += both * q2 * q2;
            row[7] += omega * (known - row[1]);
        }
    }
}

/* The E-step and the expected counts: q = softmax(shift + sum of rows) of each task, then q added to the second half of
 * each row. A row, of a worker and an answer class: log theta for each class, then the expected counts. Several tasks are
 * handled at once, so that their softmax is vectorised. */
FIXED void NAME(em_body)(const Span s, const LABEL *label, double *table, const double *shift, const int32_t *gold,
                         const int M, double *restrict scratch, double *restrict total)
{
    const int64_t at_once = tasks_at_once(M);
    double *value = scratch, *joint = value + at_once; /* log-likelihood of each task, and of its known class */
    double *posterior = joint + at_once;
    for (int64_t low = 0; low < s.n_tasks; low += at_once) {
        const int64_t high = low + at_once < s.n_tasks ? low + at_once : s.n_tasks;
        for (int64_t t = low; t < high; t++) {
            const int64_t from = s.start[t], to = s.start[t + 1];
            double *restrict q = posterior + (t - low) * M;
            for (int c = 0; c < M; c++) q[c] = shift[c];
            for (int64_t a = from; a < to; a++) {
                if (a + AHEAD < s.n_answers)
                    PREFETCH(table + ((int64_t)s.worker[a + AHEAD] * M + label[a + AHEAD]) * 2 * M);
                const double *row = table + ((int64_t)s.worker[a] * M + label[a]) * 2 * M;
                for (int c = 0; c < M; c++) q[c] += row[c];
            }
            if (gold && gold[t] >= 0) joint[t - low] = q[gold[t]];
        }
        softmax_and_logs(posterior, value, high - low, M);
        for (int64_t t = low; t < high; t++) {
            const int64_t from = s.start[t], to = s.start[t + 1];
            double *restrict q = posterior + (t - low) * M;
            if (gold && gold[t] >= 0) {
                value[t - low] = joint[t - low];
                for (int c = 0; c < M; c++) q[c] = c == gold[t];
            }
            total[M] += value[t - low];
            for (int c = 0; c < M; c++) total[c] += q[c];
            for (int64_t a = from; a < to; a++) {
                double *row = table + ((int64_t)s.worker[a] * M + label[a]) * 2 * M + M;
                for (int c = 0; c < M; c++) row[c] += q[c];
            }
        }
    }
}

static void NAME(em)(const Span s, const LABEL *label, double *table, const double *shift, const int32_t *gold, int M,
                     double *scratch, double *total)
{
    switch (M) {
    case 2: NAME(em_body)(s, label, table, shift, gold, 2, scratch, total); break;
    case 3: NAME(em_body)(s, label, table, shift, gold, 3, scratch, total); break;
    case 4: NAME(em_body)(s, label, table, shift, gold, 4, scratch, total); break;
    case 5: NAME(em_body)(s, label, table, shift, gold, 5, scratch, total); break;
    default: NAME(em_body)(s, label, table, shift, gold, M, scratch, total);
    }
}

/* The same with one accuracy per worker: an answer adds `gain` to its class and `wrong` to every class.
 * A row: gain, wrong, the expected right answers, padding. */
static void NAME(one_coin)(const Span s, const LABEL *label, double *table, const double *shift, const int32_t *gold,
                           double *total, int M, double *restrict scratch)
{
    const int64_t at_once = tasks_at_once(M);
    double *value = scratch, *joint = value + at_once, *wrong = joint + at_once, *posterior = wrong + at_once;
    for (int64_t low = 0; low < s.n_tasks; low += at_once) {
        const int64_t high = low + at_once < s.n_tasks ? low + at_once : s.n_tasks;
        for (int64_t t = low; t < high; t++) {
            double *restrict q = posterior + (t - low) * M;
            double sum = 0.0;
            for (int c = 0; c < M; c++) q[c] = shift[c];
            for (int64_t a = s.start[t]; a < s.start[t + 1]; a++) {
                if (a + AHEAD < s.n_answers) PREFETCH(table + (int64_t)s.worker[a + AHEAD] * 4);
                const double *row = table + (int64_t)s.worker[a] * 4;
                q[label[a]] += row[0];
                sum += row[1];
            }
            wrong[t - low] = sum;
            if (gold && gold[t] >= 0) joint[t - low] = q[gold[t]];
        }
        softmax_and_logs(posterior, value, high - low, M);
        for (int64_t t = low; t < high; t++) {
            double *restrict q = posterior + (t - low) * M;
            if (gold && gold[t] >= 0) {
                value[t - low] = joint[t - low];
                for (int c = 0; c < M; c++) q[c] = c == gold[t];
            }
            total[M] += value[t - low] + wrong[t - low];
            for (int c = 0; c < M; c++) total[c] += q[c];
            for (int64_t a = s.start[t]; a < s.start[t + 1]; a++) table[(int64_t)s.worker[a] * 4 + 2] += q[label[a]];
        }
    }
}

/* How many answers of each worker equal the label of their task. */
static void NAME(equal)(const Span s, const LABEL *label, const int64_t *chosen, double *out)
{
    for (int64_t t = 0; t < s.n_tasks; t++)
        for (int64_t a = s.start[t]; a < s.start[t + 1]; a++) {
            if (a + AHEAD < s.n_answers) PREFETCH(out + s.worker[a + AHEAD]);
            out[s.worker[a]] += (int64_t)label[a] == chosen[t];
        }
}

/* For each worker, the sums of the probabilities p of its answers, and of p (1 - p); rows of two. */
static void NAME(chances)(const Span s, const LABEL *label, const double *posterior, int M, double *table)
{
    for (int64_t t = 0; t < s.n_tasks; t++)
        for (int64_t a = s.start[t]; a < s.start[t + 1]; a++) {
            if (a + AHEAD < s.n_answers) PREFETCH(table + (int64_t)s.worker[a + AHEAD] * 2);
            const double p = posterior[t * M + label[a]];
            double *row = table + (int64_t)s.worker[a] * 2;
            row[0] += p;
            row[1] += p * (1.0 - p);
        }
}

/* Scores of each task: shift + sum over its answers of a row of worker and answer; rows of M. */
static void NAME(scores)(const Span s, const LABEL *label, const double *rows, const double *shift, int M, double *out)
{
    for (int64_t t = 0; t < s.n_tasks; t++) {
        double *q = out + t * M;
        for (int c = 0; c < M; c++) q[c] = shift[c];
        for (int64_t a = s.start[t]; a < s.start[t + 1]; a++) {
            if (a + AHEAD < s.n_answers)
                PREFETCH(rows + ((int64_t)s.worker[a + AHEAD] * M + label[a + AHEAD]) * M);
            const double *row = rows + ((int64_t)s.worker[a] * M + label[a]) * M;
            for (int c = 0; c < M; c++) q[c] += row[c];
        }
    }
}

/* Expected answers: q of each task added to the row of each of its answers; rows of M. */
static void NAME(expected)(const Span s, const LABEL *label, double *rows, const double *q, int M)
{
    for (int64_t t = 0; t < s.n_tasks; t++)
        for (int64_t a = s.start[t]; a < s.start[t + 1]; a++) {
            if (a + AHEAD < s.n_answers)
                PREFETCH(rows + ((int64_t)s.worker[a + AHEAD] * M + label[a + AHEAD]) * M);
            double *row = rows + ((int64_t)s.worker[a] * M + label[a]) * M;
            for (int c = 0; c < M; c++) row[c] += q[t * M + c];
        }
}

/* Votes: the weight of each answer's worker added to its class; tasks × classes. */
static void NAME(tally)(const Span s, const LABEL *label, const double *weight, int M, double *out)
{
    for (int64_t t = 0; t < s.n_tasks; t++) {
        double *votes = out + t * M;
        for (int c = 0; c < M; c++) votes[c] = 0.0;
        for (int64_t a = s.start[t]; a < s.start[t + 1]; a++) {
            if (a + AHEAD < s.n_answers) PREFETCH(weight + s.worker[a + AHEAD]);
            votes[label[a]] += weight[s.worker[a]];
        }
    }
}

/* How often each worker gave each class, and the number of tasks in which each class leads, ties split evenly. */
FIXED void NAME(responses_body)(const Span s, const LABEL *label, double *given, double *leading, const int M,
                                double *restrict count)
{
    for (int64_t t = 0; t < s.n_tasks; t++) {
        if (s.start[t] == s.start[t + 1]) continue; /* a task without answers */
        for (int c = 0; c < M; c++) count[c] = 0.0;
        for (int64_t a = s.start[t]; a < s.start[t + 1]; a++) {
            given[(int64_t)s.worker[a] * M + label[a]] += 1.0;
            count[label[a]] += 1.0;
        }
        int best = 0, leaders = 0;
        for (int c = 1; c < M; c++) best = count[c] > count[best] ? c : best;
        for (int c = 0; c < M; c++) leaders += count[c] == count[best];
        if (leaders == 1) {
            leading[best] += 1.0;
            continue;
        }
        for (int c = 0; c < M; c++)
            if (count[c] == count[best]) leading[c] += 1.0 / leaders;
    }
}

static void NAME(responses)(const Span s, const LABEL *label, double *given, double *leading, int M, double *scratch)
{
    switch (M) {
    case 2: { double count[2]; NAME(responses_body)(s, label, given, leading, 2, count); break; }
    case 3: { double count[3]; NAME(responses_body)(s, label, given, leading, 3, count); break; }
    case 4: { double count[4]; NAME(responses_body)(s, label, given, leading, 4, count); break; }
    case 5: { double count[5]; NAME(responses_body)(s, label, given, leading, 5, count); break; }
    default: NAME(responses_body)(s, label, given, leading, M, scratch);
    }
}

/* The numbers of pairs of answers to a task that agree and that disagree; twice the disagreeing ones divided by R - 1; and
 * how often each class was given on tasks with several answers. */
static void NAME(coincidences)(const Span s, const LABEL *label, double *out, int M, double *count)
{
    for (int c = 0; c < M; c++) count[c] = 0.0;
    for (int64_t t = 0; t < s.n_tasks; t++) {
        const int64_t from = s.start[t], to = s.start[t + 1];
        if (to - from < 2) continue;
        const double ordered = (double)(to - from) * (double)(to - from - 1);
        double agreed = 0.0; /* ordered pairs */
        for (int64_t a = from; a < to; a++) {
            agreed += 2.0 * count[label[a]];
            count[label[a]] += 1.0;
            out[3 + label[a]] += 1.0;
        }
        for (int64_t a = from; a < to; a++) count[label[a]] = 0.0;
        out[0] += agreed / 2.0;
        out[1] += (ordered - agreed) / 2.0;
        out[2] += (ordered - agreed) / (double)(to - from - 1);
    }
}

/* Residuals r = e_label - p of the answers to a task, p being the row of `rows` of an answer: the weighted sums over its
 * pairs of r_i·r_j, and of the products of their standard deviations d = sqrt(1 - |p|²). */
static void NAME(residuals)(const Span s, const LABEL *label, const double *rows, const double *weight, double *products,
                            double *scales, int M, double *total)
{
    for (int64_t t = 0; t < s.n_tasks; t++) {
        const int64_t from = s.start[t], to = s.start[t + 1];
        double within = 0.0, deviations = 0.0, within_deviation = 0.0, square = 0.0;
        for (int c = 0; c < M; c++) total[c] = 0.0;
        for (int64_t a = from; a < to; a++) {
            const double *p = rows + (a - s.start[0]) * M;
            double size = 0.0;
            for (int c = 0; c < M; c++) {
                size += p[c] * p[c];
                total[c] -= p[c];
            }
            total[label[a]] += 1.0;
            within += size + 1.0 - 2.0 * p[label[a]];
            const double variance = 1.0 - size > 0.0 ? 1.0 - size : 0.0;
            deviations += sqrt(variance);
            within_deviation += variance;
        }
        for (int c = 0; c < M; c++) square += total[c] * total[c];
        products[t] += weight[t] * (square - within);
        scales[t] += weight[t] * (deviations * deviations - within_deviation);
    }
}

/* With z = e_label - f and u a number of each answer, the sums of z_i·z_j, u_i z_i·z_j and u_i u_j z_i·z_j over the ordered
 * pairs of a task, divided by R - 1. */
static void NAME(tetrads)(const Span s, const LABEL *label, const double *frequency, const double *u, double *out, int M,
                          double *total)
{
    double *weighted = total + M;
    for (int64_t t = 0; t < s.n_tasks; t++) {
        const int64_t from = s.start[t], to = s.start[t + 1];
        const double others = to - from > 2 ? (double)(to - from - 1) : 1.0;
        double same[3] = {0.0, 0.0, 0.0}, products[3] = {0.0, 0.0, 0.0};
        for (int c = 0; c < M; c++) total[c] = weighted[c] = 0.0;
        for (int64_t a = from; a < to; a++) {
            const double *f = frequency + (int64_t)s.worker[a] * M, by = u[a - s.start[0]];
            double size = 0.0;
            for (int c = 0; c < M; c++) {
                const double z = (c == label[a] ? 1.0 : 0.0) - f[c];
                size += z * z;
                total[c] += z;
                weighted[c] += by * z;
            }
            same[0] += size;
            same[1] += by * size;
            same[2] += by * by * size;
        }
        for (int c = 0; c < M; c++) {
            products[0] += total[c] * total[c];
            products[1] += total[c] * weighted[c];
            products[2] += weighted[c] * weighted[c];
        }
        for (int k = 0; k < 3; k++) out[3 * t + k] = (products[k] - same[k]) / others;
    }
}

/* One pass of the rating model: see quorate/rating/passes.py, whose plain_pass has the formulas. A row of the table: bias,
 * scale, noise variance, the precision of (bias, scale) and precision times mean; then eight sums. `cells` tells what is
 * left out together with an answer: 0 the rater's answers to the task, 1 those of its group, 2 the answer alone. */
static void NAME(rating)(const Span s, const LABEL *label, const double *values, double *table, const double *numbers,
                         double *totals, const int32_t *group, double *out, int cells, int64_t most, int64_t n_groups,
                         double *scratch)
{
    const double mean = numbers[0], prior = numbers[1], least11 = numbers[2], least22 = numbers[3], rho = numbers[4];
    const int is_first = numbers[5] != 0.0;
    double *score = scratch, *bias = score + most, *scale = bias + most, *wide = scale + most;
    double *precision = wide + most, *shift = precision + most, *size = shift + most, *first = size + most;
    double *second = first + most;
    int64_t *cell = (int64_t *)(second + most), *stamp = cell + most, *slot = stamp + n_groups;
    for (int64_t k = 0; k < n_groups; k++) stamp[k] = -1;
    for (int64_t t = 0; t < s.n_tasks; t++) {
        const int64_t from = s.start[t], n = s.start[t + 1] - from;
        int64_t n_cells = 0;
        for (int64_t k = 0; k < n; k++) {
            const int32_t worker = s.worker[from + k];
            if (from + k + AHEAD < s.n_answers) PREFETCH(table + (int64_t)s.worker[from + k + AHEAD] * 16);
            if (cells == 1) {
                const int32_t own = group[worker];
                if (stamp[own] != t) {
                    stamp[own] = t;
                    slot[own] = n_cells++;
                }
                cell[k] = slot[own];
            } else if (cells == 2 || k == 0 || worker != s.worker[from + k - 1]) {
                cell[k] = n_cells++;
            } else {
                cell[k] = n_cells - 1;
            }
        }
        for (int64_t c = 0; c < n_cells; c++) precision[c] = shift[c] = size[c] = first[c] = second[c] = 0.0;
        double total = 0.0, weight = 0.0;
        for (int64_t k = 0; k < n; k++) {
            const double *row = table + (int64_t)s.worker[from + k] * 16;
            const double y = values[label[from + k]], a = row[0], b = row[1], b2 = b * b, x = (y - a - b * mean) * b;
            const int64_t c = cell[k];
            score[k] = y;
            precision[c] += b2 / row[2];
            shift[c] += b * (y - a) / row[2];
            size[c] += 1.0;
            first[c] += x, second[c] += b2;
            total += x, weight += b2;
        }
        totals[4] += total * total, totals[5] += weight * weight;
        double p = prior, h = mean * prior;
        for (int64_t c = 0; c < n_cells; c++) {
            const double thinning = 1.0 / (1.0 + rho * (size[c] - 1.0));
            precision[c] *= thinning, shift[c] *= thinning;
            p += precision[c], h += shift[c];
            totals[4] -= first[c] * first[c], totals[5] -= second[c] * second[c];
        }
        for (int64_t k = 0; k < n; k++) { /* bias and scale of each rater, without this answer */
            double *row = table + (int64_t)s.worker[from + k] * 16;
            const double y = score[k], b = row[1], noise = row[2], rest = p - precision[cell[k]];
            const double without = rest > prior ? rest : prior, m = (h - shift[cell[k]]) / without;
            const double over = 1.0 / (noise + b * b / without);
            double p11 = row[3], p12 = row[4], p22 = row[5], h1 = row[6], h2 = row[7];
            row[8] += over, row[9] += m * over, row[10] += m * m * over, row[11] += y * over, row[12] += y * m * over;
            if (!is_first) {
                p11 -= over, p12 -= m * over, p22 -= m * m * over, h1 -= y * over, h2 -= y * m * over;
                p11 = p11 > least11 ? p11 : least11;
                p22 = p22 > least22 ? p22 : least22;
            }
            double determinant = p11 * p22 - p12 * p12;
            determinant = determinant > 1e-12 ? determinant : 1e-12;
            const double variance = (p22 - 2.0 * m * p12 + m * m * p11) / determinant;
            bias[k] = (p22 * h1 - p12 * h2) / determinant;
            scale[k] = (p11 * h2 - p12 * h1) / determinant;
            wide[k] = noise + (variance > 0.0 ? variance : 0.0);
        }
        for (int64_t c = 0; c < n_cells; c++) precision[c] = shift[c] = first[c] = second[c] = 0.0;
        for (int64_t k = 0; k < n; k++) {
            precision[cell[k]] += scale[k] * scale[k] / wide[k];
            shift[cell[k]] += scale[k] * (score[k] - bias[k]) / wide[k];
        }
        p = prior, h = mean * prior;
        for (int64_t c = 0; c < n_cells; c++) {
            const double thinning = 1.0 / (1.0 + rho * (size[c] - 1.0));
            precision[c] *= thinning, shift[c] *= thinning;
            p += precision[c], h += shift[c];
        }
        const double task_mean = h / p;
        double noise_ratio = 0.0, density = 0.0;
        for (int64_t k = 0; k < n; k++) {
            double *row = table + (int64_t)s.worker[from + k] * 16;
            const double y = score[k], noise = row[2], rest = p - precision[cell[k]];
            const double without = rest > prior ? rest : prior, m = (h - shift[cell[k]]) / without, v = 1.0 / without;
            const double error = y - bias[k] - scale[k] * m, square = error * error;
            const double predictive = wide[k] + scale[k] * scale[k] * v, part = noise / predictive;
            const double noise_square = part * (part * square + (predictive - noise));
            row[13] += noise_square, row[14] += square, row[15] += square * square;
            if (size[cell[k]] > 1.0) {
                const double z = error / sqrt(noise), u = scale[k] * sqrt(v) / sqrt(noise);
                first[cell[k]] += z, second[cell[k]] += u;
                totals[6] -= z * z, totals[7] -= u * u;
            }
            if (out) {
                noise_ratio += noise_square / noise;
                density -= 0.5 * (log(6.283185307179586 * predictive) + square / predictive);
            }
        }
        for (int64_t c = 0; c < n_cells; c++) {
            totals[6] += first[c] * first[c], totals[7] += second[c] * second[c];
            totals[8] += size[c] * (size[c] - 1.0);
        }
        if (n) {
            totals[0] += (double)n * task_mean, totals[1] += task_mean, totals[2] += task_mean * task_mean;
            totals[3] += 1.0 / p;
        }
        if (out) {
            out[3 * t] = task_mean, out[3 * t + 1] = 1.0 / p, out[3 * t + 2] = noise_ratio;
            totals[9] += density;
        }
    }
}
