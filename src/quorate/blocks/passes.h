/* One pass over whole tasks for each kernel. Included once for every type of label, as LABEL; names end in it: NAME().
 *
 * The answers of task t are start[t] .. start[t+1]-1. Worker-sized inputs and sums of a worker lie side by side in one
 * row of a table, so that an answer touches one line of the cache; that of a worker AHEAD answers later is asked for
 * beforehand. Every kernel has a twin of the same name in plain.py, which says in a formula what it sums.
 */

/* Y = sum_j x_j z_j with z_j = e_label - f_j; then omega z_i·Y and omega sum x² over each worker's tasks, less its own.
 * A row: x, |f|², signed, squares, x² (or another number to be summed over the peers), f_1 .. f_M, and some room. */
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
            squares += row[4];
            for (int c = 0; c < M; c++) y[c] += x * (e[c] - row[5 + c]);
        }
        const double omega = 1.0 / (double)(to - from - 1);
        for (int64_t a = from; a < to; a++) {
            double *row = table + s.worker[a] * stride;
            const double x = row[0], *e = unit + label[a] * M;
            double dot = 0.0;
            for (int c = 0; c < M; c++) dot += y[c] * (e[c] - row[5 + c]);
            row[2] += omega * (dot - x * (1.0 - 2.0 * row[5 + label[a]] + row[1]));
            row[3] += omega * (squares - row[4]);
        }
    }
}

static void NAME(centred)(const Span s, const LABEL *label, double *table, int64_t stride, int M, double *scratch)
{
    double *unit = scratch + M; /* e_l, row by row: quicker than comparing */
    for (int k = 0; k < M * M; k++) unit[k] = k % (M + 1) == 0;
    switch (M) {
    case 2: { double y[2]; NAME(centred_body)(s, label, table, stride, 2, unit, y); break; }
    case 3: { double y[3]; NAME(centred_body)(s, label, table, stride, 3, unit, y); break; }
    case 4: { double y[4]; NAME(centred_body)(s, label, table, stride, 4, unit, y); break; }
    case 5: { double y[5]; NAME(centred_body)(s, label, table, stride, 5, unit, y); break; }
    default: NAME(centred_body)(s, label, table, stride, M, unit, scratch);
    }
}

/* sum_j a_ijt x_j and sum_j x_j² over each worker's tasks, less its own; a row: x, signed, squares, room. */
FIXED void NAME(agreement_body)(const Span s, const LABEL *label, double *table, const int M,
                                const double *restrict unit, double *restrict y)
{
    const double alike = (double)M / (M - 1), even = 1.0 / (M - 1);
    for (int64_t t = 0; t < s.n_tasks; t++) {
        const int64_t from = s.start[t], to = s.start[t + 1];
        if (to - from < 2) continue;
        double squares = 0.0, all = 0.0;
        if (M <= 8) for (int c = 0; c < M; c++) y[c] = 0.0;
        else for (int64_t a = from; a < to; a++) y[label[a]] = 0.0; /* of many classes, those that were given */
        for (int64_t a = from; a < to; a++) {
            if (a + AHEAD < s.n_answers) PREFETCH(table + s.worker[a + AHEAD] * 4);
            const double x = table[s.worker[a] * 4], *e = unit + label[a] * M;
            squares += x * x;
            all += x;
            if (M <= 8) for (int c = 0; c < M; c++) y[c] += x * e[c];
            else y[label[a]] += x;
        }
        if (M <= 8) for (int c = 0; c < M; c++) y[c] = alike * y[c] - even * all;
        for (int64_t a = from; a < to; a++) {
            double *row = table + s.worker[a] * 4;
            const double x = row[0];
            row[1] += (M <= 8 ? y[label[a]] : alike * y[label[a]] - even * all) - x;
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

/* What intervals need: with q_r the sum of x^r over the peers on a task and omega its weight (1, or 1/(R-1)),
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
            if (a + AHEAD < s.n_answers) PREFETCH(table + s.worker[a + AHEAD] * 8);
            const double *row = table + s.worker[a] * 8;
            const double x2 = row[0] * row[0];
            p2 += x2;
            p3 += x2 * row[0];
            p4 += x2 * x2;
            known += row[1];
        }
        const double omega = even ? 1.0 : 1.0 / (double)(to - from - 1), both = omega * omega;
        for (int64_t a = from; a < to; a++) {
            double *row = table + s.worker[a] * 8;
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

/* The E- and the M-step of a task: q = softmax(shift + sum of rows), then q added to the second half of each row.
 * A row, of worker and answer: log theta for each class, then the expected counts. */
FIXED void NAME(em_body)(const Span s, const LABEL *label, double *table, const double *shift, const int32_t *gold,
                         const int M, double *restrict q, double *restrict total)
{
    for (int64_t t = 0; t < s.n_tasks; t++) {
        const int64_t from = s.start[t], to = s.start[t + 1];
        for (int c = 0; c < M; c++) q[c] = shift[c];
        for (int64_t a = from; a < to; a++) {
            if (a + AHEAD < s.n_answers)
                PREFETCH(table + ((int64_t)s.worker[a + AHEAD] * M + label[a + AHEAD]) * 2 * M);
            const double *row = table + ((int64_t)s.worker[a] * M + label[a]) * 2 * M;
            for (int c = 0; c < M; c++) q[c] += row[c];
        }
        if (gold && gold[t] >= 0) {
            total[M] += q[gold[t]];
            for (int c = 0; c < M; c++) q[c] = c == gold[t];
        } else {
            total[M] += softened(q, M);
        }
        for (int c = 0; c < M; c++) total[c] += q[c];
        for (int64_t a = from; a < to; a++) {
            double *row = table + ((int64_t)s.worker[a] * M + label[a]) * 2 * M + M;
            for (int c = 0; c < M; c++) row[c] += q[c];
        }
    }
}

static void NAME(em)(const Span s, const LABEL *label, double *table, const double *shift, const int32_t *gold, int M,
                     double *scratch, double *total)
{
    switch (M) {
    case 2: { double q[2]; NAME(em_body)(s, label, table, shift, gold, 2, q, total); break; }
    case 3: { double q[3]; NAME(em_body)(s, label, table, shift, gold, 3, q, total); break; }
    case 4: { double q[4]; NAME(em_body)(s, label, table, shift, gold, 4, q, total); break; }
    case 5: { double q[5]; NAME(em_body)(s, label, table, shift, gold, 5, q, total); break; }
    default: NAME(em_body)(s, label, table, shift, gold, M, scratch, total);
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

/* How often each worker gave each class, and the classes that lead the tasks, ties split evenly. */
static void NAME(habits)(const Span s, const LABEL *label, double *given, double *leading, int M, double *count)
{
    for (int64_t t = 0; t < s.n_tasks; t++) {
        double most = 0.0;
        int leaders = 0;
        if (s.start[t] == s.start[t + 1]) continue; /* a task that nobody answered tells nothing */
        for (int c = 0; c < M; c++) count[c] = 0.0;
        for (int64_t a = s.start[t]; a < s.start[t + 1]; a++) {
            given[(int64_t)s.worker[a] * M + label[a]] += 1.0;
            count[label[a]] += 1.0;
        }
        for (int c = 0; c < M; c++) most = count[c] > most ? count[c] : most;
        for (int c = 0; c < M; c++) leaders += count[c] == most;
        for (int c = 0; c < M; c++)
            if (count[c] == most) leading[c] += 1.0 / leaders;
    }
}

/* What three opinions of each task come to: by rows of worker and answer, by other such rows, and by plain votes. Each is
 * flattened by 1 / (1 + rho (R - 1)) and made a probability; their weighted mean, calibrated, is written. */
static void NAME(believed)(const Span s, const LABEL *label, const double *first, const double *second,
                           const double *numbers, double *out, int M, int n_shares, double *q)
{
    const double *shift1 = numbers, *shift2 = numbers + M, *weights = numbers + 2 * M;
    const double vote = numbers[2 * M + 3], rho = numbers[2 * M + 4];
    for (int64_t t = 0; t < s.n_tasks; t++) {
        const int64_t from = s.start[t], to = s.start[t + 1], n = to - from;
        const double factor = 1.0 / (1.0 + rho * (n > 1 ? (double)(n - 1) : 0.0));
        for (int c = 0; c < M; c++) q[c] = shift1[c], q[M + c] = shift2[c], q[2 * M + c] = 0.0;
        for (int64_t a = from; a < to; a++) {
            if (a + AHEAD < s.n_answers) {
                const int64_t later = ((int64_t)s.worker[a + AHEAD] * M + label[a + AHEAD]) * M;
                PREFETCH(first + later);
                PREFETCH(second + later);
            }
            const int64_t row = ((int64_t)s.worker[a] * M + label[a]) * M;
            for (int c = 0; c < M; c++) q[c] += first[row + c], q[M + c] += second[row + c];
            q[2 * M + label[a]] += vote;
        }
        for (int c = 0; c < 3 * M; c++) q[c] *= factor;
        for (int k = 0; k < 3; k++) softened(q + k * M, M);
        for (int c = 0; c < M; c++)
            out[t * M + c] = weights[0] * q[c] + weights[1] * q[M + c] + weights[2] * q[2 * M + c];
        if (n_shares) calibrated(out + t * M, numbers + 2 * M + 5, n_shares, M, q, q + M);
    }
}
