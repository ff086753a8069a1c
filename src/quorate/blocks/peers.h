/* Sums over pairs of answers for intervals, for many draws at once. Included once for every type of label, like passes.h.
 *
 * A row of the table: x of a worker, another number, f_1 .. f_M; z = e_label - f. The weight of a task is 1 or 1/(R - 1).
 */

/* a x_i x_j + b z_i·z_j of two answers. */
FIXED double NAME(pair_product)(const double *one, const double *two, const LABEL first, const LABEL second, const int M,
                        const double *weights)
{
    double product = (double)(first == second) - one[2 + second] - two[2 + first];
    for (int c = 0; c < M; c++) product += one[2 + c] * two[2 + c];
    return weights[0] * one[0] * two[0] + weights[1] * product;
}

/* psi of each answer: omega (z_i·(Y - x_i z_i) b - r_i sum x_j²) over the others j, with Y = sum_j x_j z_j. */
static void NAME(pulls)(const Span s, const LABEL *label, const double *table, const double *weights, double *psi, int M,
                        int even, double *y)
{
    const int64_t stride = M + 2;
    for (int64_t t = 0; t < s.n_tasks; t++) {
        const int64_t from = s.start[t], to = s.start[t + 1];
        if (to - from < 2) {
            for (int64_t a = from; a < to; a++) psi[a] = 0.0;
            continue;
        }
        const double omega = even ? 1.0 : 1.0 / (double)(to - from - 1);
        double squares = 0.0;
        for (int c = 0; c < M; c++) y[c] = 0.0;
        for (int64_t a = from; a < to; a++) {
            if (a + AHEAD < s.n_answers) PREFETCH(table + s.worker[a + AHEAD] * stride);
            const double *row = table + s.worker[a] * stride, x = row[0];
            squares += x * x;
            for (int c = 0; c < M; c++) y[c] -= x * row[2 + c];
            y[label[a]] += x;
        }
        for (int64_t a = from; a < to; a++) {
            const double *row = table + s.worker[a] * stride, x = row[0];
            double dot = y[label[a]], own = 1.0 - 2.0 * row[2 + label[a]];
            for (int c = 0; c < M; c++) dot -= y[c] * row[2 + c];
            for (int c = 0; c < M; c++) own += row[2 + c] * row[2 + c];
            psi[a] = omega * (weights[1] * (dot - x * own) - row[1] * (squares - x * x));
        }
    }
}

/* Add psi of each answer, times the sign of its task in each draw, to its worker; signs: tasks × draws, sums: workers × draws. */
VECTORS static void NAME(signed_sums)(const Span s, const LABEL *label, const double *psi, const int8_t *signs, double *sums, int64_t K)
{
    (void)label;
    for (int64_t t = 0; t < s.n_tasks; t++)
        for (int64_t a = s.start[t]; a < s.start[t + 1]; a++) {
            const int8_t *sign = signs + t * K;
            double *restrict row = sums + s.worker[a] * K;
            for (int64_t k = 0; k < K; k++) row[k] += psi[a] * (double)sign[k];
        }
}

/* out_i += sum_j (a x_i x_j + b z_i·z_j) v_j over the tasks that i and j share, for K draws: rows of v and out are workers.
 * From pairs of answers or, for large tasks, from sums for each class. */
VECTORS static void NAME(peers)(const Span s, const LABEL *label, const double *table, const double *weights, const double *v,
                                double *out, int M, int64_t K, int even, double *scratch)
{
    const int64_t stride = M + 2;
    const int first = weights[1] == 0.0 ? M : 0; /* without z_i·z_j, only the sum of x_j is needed */
    for (int64_t t = 0; t < s.n_tasks; t++) {
        const int64_t from = s.start[t], to = s.start[t + 1], n = to - from;
        if (n < 2) continue;
        const double omega = even ? 1.0 : 1.0 / (double)(n - 1);
        if ((n - 1) * (M + 4 * K) <= 8 * K * (M + 1)) {
            for (int64_t a = from; a < to; a++) {
                const double *one = table + s.worker[a] * stride, *mine = v + s.worker[a] * K;
                double *restrict to_mine = out + s.worker[a] * K;
                for (int64_t b = a + 1; b < to; b++) {
                    const double *theirs = v + s.worker[b] * K;
                    double *restrict to_theirs = out + s.worker[b] * K;
                    const double c =
                        omega * NAME(pair_product)(one, table + s.worker[b] * stride, label[a], label[b], M, weights);
                    for (int64_t k = 0; k < K; k++) to_mine[k] += c * theirs[k];
                    for (int64_t k = 0; k < K; k++) to_theirs[k] += c * mine[k];
                }
            }
            continue;
        }
        memset(scratch, 0, (size_t)((M + 1) * K) * sizeof *scratch);
        for (int64_t a = from; a < to; a++) {
            const double *row = table + s.worker[a] * stride, *mine = v + s.worker[a] * K;
            for (int c = first; c <= M; c++) { /* the last one is x */
                const double z = c == M ? row[0] : (double)((int64_t)label[a] == c) - row[2 + c];
                double *restrict sum = scratch + c * K;
                for (int64_t k = 0; k < K; k++) sum[k] += z * mine[k];
            }
        }
        for (int64_t a = from; a < to; a++) {
            const double *row = table + s.worker[a] * stride, *mine = v + s.worker[a] * K;
            double *restrict to_mine = out + s.worker[a] * K;
            for (int c = first; c <= M; c++) {
                const double z = c == M ? row[0] : (double)((int64_t)label[a] == c) - row[2 + c];
                const double factor = omega * z * weights[c == M ? 0 : 1], *sum = scratch + c * K;
                for (int64_t k = 0; k < K; k++) to_mine[k] += factor * (sum[k] - z * mine[k]);
            }
        }
    }
}

/* The upper triangle of the matrix of that product, workers × workers. */
static void NAME(peer_pairs)(const Span s, const LABEL *label, const double *table, const double *weights, double *matrix, int M,
                        int even, int64_t n_workers)
{
    const int64_t stride = M + 2;
    for (int64_t t = 0; t < s.n_tasks; t++) {
        const int64_t from = s.start[t], to = s.start[t + 1];
        const double omega = even || to - from < 2 ? 1.0 : 1.0 / (double)(to - from - 1);
        for (int64_t a = from; a < to; a++) {
            const double *one = table + s.worker[a] * stride;
            if (to + (to - from) <= s.n_answers) /* about the same cells of the next task */
                for (int64_t b = a + 1; b < to; b++) {
                    const int64_t i = s.worker[a + to - from], j = s.worker[b + to - from];
                    PREFETCH(matrix + (i < j ? i : j) * n_workers + (i < j ? j : i));
                }
            for (int64_t b = a + 1; b < to; b++) {
                const double c = omega * NAME(pair_product)(one, table + s.worker[b] * stride, label[a], label[b], M, weights);
                const int64_t i = s.worker[a], j = s.worker[b];
                matrix[(i < j ? i : j) * n_workers + (i < j ? j : i)] += c;
            }
        }
    }
}

/* Count the tasks that worker i, from low to high - 1, shares with each worker j > i: shared tasks in the lower half of a
 * cell, tasks with equal answers in the upper half. A row of cells fits in the first-level cache. */
static void NAME(pair_counts)(const Span s, const LABEL *label, uint64_t *counts, int64_t low, int64_t high, int64_t n_workers)
{
    for (int64_t t = 0; t < s.n_tasks; t++) {
        const int64_t from = s.start[t], to = s.start[t + 1];
        for (int64_t a = from; a < to; a++) {
            const int64_t i = s.worker[a];
            if (i < low || i >= high) continue;
            uint64_t *row = counts + (i - low) * n_workers;
            for (int64_t b = from; b < to; b++)
                if (s.worker[b] > i) row[s.worker[b]] += 1 + ((uint64_t)(label[a] == label[b]) << 32);
        }
    }
}
