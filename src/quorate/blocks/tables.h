/* Tables of tasks × classes of a block: softmax, the calibration law, the leading class. quorate/blocks/task_tables.py has
 * the same in numpy, with the formulas. `n` is the number of rows and M that of columns.
 */

#define TILE 256 /* rows that are handled at once: their columns fit in the first-level cache */

/* softmax of each row times its factor; `out` may be `scores`. */
VECTORS static void softmax_rows(const double *scores, const double *factor, double *out, int64_t n, int64_t M)
{
    const double least_of_exp = least_exponent;
    for (int64_t low = 0; low < n; low += TILE) {
        const int64_t high = low + TILE < n ? low + TILE : n;
        for (int64_t t = low; t < high; t++) {
            const double by = factor ? factor[t] : 1.0;
            double most = scores[t * M] * by;
            for (int64_t c = 0; c < M; c++) {
                const double x = out[t * M + c] = scores[t * M + c] * by;
                most = x > most ? x : most;
            }
            for (int64_t c = 0; c < M; c++) out[t * M + c] -= most;
        }
        for (int64_t k = low * M; k < high * M; k++) out[k] = exp_of(out[k], least_of_exp);
        for (int64_t t = low; t < high; t++) {
            double total = 0.0;
            for (int64_t c = 0; c < M; c++) total += out[t * M + c];
            for (int64_t c = 0; c < M; c++) out[t * M + c] /= total;
        }
    }
}

/* The posterior averaged over temperatures: shares of the powers step^1, step^2, .. of q over its largest entry, each
 * normalised; the step is squared after every `per_octave` of them. The scratch has 3 M + 1 columns of TILE. */
VECTORS static void calibrate_rows(const double *posterior, const double *shares, const double *numbers, double *out,
                                   int64_t n, int64_t M, int64_t n_shares, int64_t per_octave, double *scratch)
{
    const double least_of_exp = least_exponent;
    const double rest = numbers[0], exponent = numbers[1], least = numbers[2];
    double *step = scratch, *power = step + M * TILE, *mixed = power + M * TILE, *total = mixed + M * TILE;
    for (int64_t low = 0; low < n; low += TILE) {
        const int64_t m = low + TILE < n ? TILE : n - low;
        for (int64_t t = 0; t < m; t++) {
            const double *q = posterior + (low + t) * M;
            double most = q[0];
            for (int64_t c = 1; c < M; c++) most = q[c] > most ? q[c] : most;
            most = most > 2.2250738585072014e-308 ? most : 2.2250738585072014e-308;
            for (int64_t c = 0; c < M; c++) {
                const double ratio = q[c] / most;
                step[c * TILE + t] = ratio > least ? ratio : least;
            }
        }
        for (int64_t c = 0; c < M; c++)
            for (int64_t t = 0; t < m; t++) {
                step[c * TILE + t] = exp_of(exponent * log_of(step[c * TILE + t]), least_of_exp);
                power[c * TILE + t] = 1.0;
                mixed[c * TILE + t] = rest;
            }
        for (int64_t k = 0; k < n_shares; k++) {
            for (int64_t t = 0; t < m; t++) total[t] = 0.0;
            for (int64_t c = 0; c < M; c++)
                for (int64_t t = 0; t < m; t++) {
                    power[c * TILE + t] *= step[c * TILE + t];
                    total[t] += power[c * TILE + t];
                }
            if (shares[k] != 0.0) {
                for (int64_t t = 0; t < m; t++) total[t] = shares[k] / total[t];
                for (int64_t c = 0; c < M; c++)
                    for (int64_t t = 0; t < m; t++) mixed[c * TILE + t] += total[t] * power[c * TILE + t];
            }
            if ((k + 1) % per_octave == 0)
                for (int64_t c = 0; c < M; c++)
                    for (int64_t t = 0; t < m; t++) step[c * TILE + t] *= step[c * TILE + t];
        }
        for (int64_t t = 0; t < m; t++)
            for (int64_t c = 0; c < M; c++) out[(low + t) * M + c] = mixed[c * TILE + t];
    }
}

/* The first class with the best score, and whether another is within `tie` of it; probabilities by their logarithms. */
static void lead_rows(const double *values, int64_t *label, uint8_t *tied, const double *numbers, int64_t n, int64_t M,
                      int is_probability)
{
    const double tie = numbers[0], floor = numbers[1];
    for (int64_t t = 0; t < n; t++) {
        const double *v = values + t * M;
        int64_t best = 0;
        for (int64_t c = 1; c < M; c++) best = v[c] > v[best] ? c : best;
        double most = v[best], bound;
        if (is_probability) {
            /* log p >= log most - tie max(|log most|, 1); logarithms are at most 709 in size, so that few rows need them */
            most = most > floor ? most : floor;
            bound = most * (1.0 - 1000.0 * tie);
        } else {
            bound = most - tie * (fabs(most) > 1.0 ? fabs(most) : 1.0);
        }
        int64_t others = 0;
        for (int64_t c = 0; c < M; c++) others += (v[c] > floor || !is_probability ? v[c] : floor) >= bound;
        if (others > 1 && is_probability) {
            const double logarithm = log(most), size = fabs(logarithm) > 1.0 ? fabs(logarithm) : 1.0;
            others = 0;
            for (int64_t c = 0; c < M; c++) others += log(v[c] > floor ? v[c] : floor) >= logarithm - tie * size;
        }
        label[t] = best;
        tied[t] = others > 1;
    }
}

/* The probability of each label, and by how much it exceeds that of the best other class, which is at least 0. */
static void chosen_rows(const double *posterior, const int64_t *label, double *confidence, double *margin, int64_t n,
                        int64_t M)
{
    for (int64_t t = 0; t < n; t++) {
        const double *q = posterior + t * M;
        const int64_t chosen = label[t] >= 0 && label[t] < M ? label[t] : M - 1; /* any class without a label: it is not shown */
        double other = 0.0;
        for (int64_t c = 0; c < M; c++) other = c != chosen && q[c] > other ? q[c] : other;
        confidence[t] = q[chosen];
        margin[t] = q[chosen] - other;
    }
}

/* --- tables of workers: n matrices of answers × classes, M by M --- */

/* Sums over the columns of all workers, from which the concentration follows; worker_tables.py has the formula. */
VECTORS static void matrix_moments(const double *counts, const double *pooled, const double *numbers, double *out, int64_t n,
                                   int64_t M, double *scratch)
{
    double *size = scratch, *squares = size + M, *of_pooled = squares + M;
    for (int64_t g = 0; g < M; g++) of_pooled[g] = 0.0;
    for (int64_t l = 0; l < M; l++)
        for (int64_t g = 0; g < M; g++) of_pooled[g] += pooled[l * M + g] * pooled[l * M + g];
    for (int64_t w = 0; w < n; w++) {
        const double *of_worker = counts + w * M * M;
        for (int64_t g = 0; g < M; g++) size[g] = squares[g] = 0.0;
        for (int64_t l = 0; l < M; l++)
            for (int64_t g = 0; g < M; g++) {
                const double count = of_worker[l * M + g];
                size[g] += count;
                squares[g] += count * count;
            }
        for (int64_t g = 0; g < M; g++) {
            if (!(size[g] > numbers[0])) continue;
            const double weight = 1.0 / (size[g] - 1.0 > 0.5 ? size[g] - 1.0 : 0.5), pairs = size[g] * (size[g] - 1.0);
            out[0] += weight * (squares[g] - size[g] - pairs * of_pooled[g]);
            out[1] += weight * pairs * (1.0 - of_pooled[g]);
        }
    }
}

/* log of (counts + s P_w), normalised by column, with P_w the pooled matrix whose errors are scaled for worker w. */
VECTORS static void log_matrices(const double *counts, const double *pooled, const double *scale, const double *numbers,
                                 double *out, int64_t n, int64_t M, double *scratch)
{
    const double strength = numbers[0], floor = numbers[1];
    double *errors = scratch, *total = errors + M;
    for (int64_t g = 0; g < M; g++) errors[g] = -pooled[g * M + g];
    for (int64_t l = 0; l < M; l++)
        for (int64_t g = 0; g < M; g++) errors[g] += pooled[l * M + g];
    for (int64_t w = 0; w < n; w++) {
        const double *of_worker = counts + w * M * M, by = strength * scale[w];
        double *theta = out + w * M * M;
        for (int64_t g = 0; g < M; g++) total[g] = 0.0;
        for (int64_t k = 0; k < M * M; k++) theta[k] = of_worker[k] + by * pooled[k];
        for (int64_t g = 0; g < M; g++)
            theta[g * M + g] = of_worker[g * M + g] + strength * (1.0 - scale[w] * errors[g]);
        for (int64_t l = 0; l < M; l++)
            for (int64_t g = 0; g < M; g++) total[g] += theta[l * M + g];
        for (int64_t l = 0; l < M; l++)
            for (int64_t g = 0; g < M; g++) {
                const double p = theta[l * M + g] / total[g];
                theta[l * M + g] = p > floor ? p : floor;
            }
    }
    for (int64_t k = 0; k < n * M * M; k++) out[k] = log_of(out[k]);
}

/* Like KERNEL, for tables: arrays, then numbers, the first two of which are the numbers of rows and columns. */
#define TABLE(name, arrays, numbers, room, work)                               \
    static PyObject *py_##name(PyObject *self, PyObject *args)                 \
    {                                                                          \
        Call call;                                                             \
        (void)self;                                                            \
        if (!hold_call(&call, args, arrays, numbers)) return NULL;           \
        const int64_t *number = call.number, n = number[0], M = number[1];     \
        void **own = call.own;                                                 \
        if (n < 0 || M < 1) {                                                  \
            release(&call);                                                    \
            PyErr_SetString(PyExc_ValueError, "a table has rows and columns"); \
            return NULL;                                                       \
        }                                                                      \
        double *scratch = malloc((size_t)((room) + 1) * sizeof(double));       \
        if (!scratch) return done(&call, NULL, 1);                             \
        PyThreadState *others = PyEval_SaveThread();                           \
        work;                                                                  \
        PyEval_RestoreThread(others);                                          \
        return done(&call, scratch, 0);                                        \
    }

TABLE(softmax_rows, 3, 2, 0, softmax_rows(own[0], own[1], own[2], n, M))
TABLE(calibrate_rows, 4, 4, (3 * M + 1) * TILE,
      calibrate_rows(own[0], own[1], own[2], own[3], n, M, number[2], number[3], scratch))
TABLE(lead_rows, 4, 3, 0, lead_rows(own[0], own[1], own[2], own[3], n, M, (int)number[2]))
TABLE(chosen_rows, 4, 2, 0, chosen_rows(own[0], own[1], own[2], own[3], n, M))

TABLE(matrix_moments, 4, 2, 3 * M, matrix_moments(own[0], own[1], own[2], own[3], n, M, scratch))
TABLE(log_matrices, 5, 2, 2 * M, log_matrices(own[0], own[1], own[2], own[3], own[4], n, M, scratch))

/* Set the first four columns of a table, to zero without an array. Row by row, so that each cache line is touched once. */
static void set_columns(double *table, const double *a, const double *b, const double *c, const double *d, int64_t n,
                        int64_t M)
{
    for (int64_t i = 0; i < n; i++) {
        double *row = table + i * M;
        row[0] = a ? a[i] : 0.0;
        row[1] = b ? b[i] : 0.0;
        row[2] = c ? c[i] : 0.0;
        row[3] = d ? d[i] : 0.0;
    }
}

/* Copy some columns of a table, from `first` on; each is a row of `out`. */
static void get_columns(const double *table, double *out, int64_t n, int64_t M, int64_t first, int64_t count)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < count; c++) out[c * n + i] = table[i * M + first + c];
}

TABLE(set_columns, 5, 2, 0, set_columns(own[0], own[1], own[2], own[3], own[4], n, M))
TABLE(get_columns, 2, 4, 0, get_columns(own[0], own[1], n, M, number[2], number[3]))

/* Copy the upper triangle of a square table to the lower one, tile by tile so that both stay in the cache. */
static void mirror_upper(double *table, int64_t n)
{
    const int64_t tile = 64;
    for (int64_t top = 0; top < n; top += tile)
        for (int64_t left = top; left < n; left += tile)
            for (int64_t i = top; i < n && i < top + tile; i++)
                for (int64_t j = left > i ? left : i + 1; j < n && j < left + tile; j++)
                    table[j * n + i] = table[i * n + j];
}

TABLE(mirror_upper, 1, 2, 0, mirror_upper(own[0], n))

/* exp and log of every entry, for the test of both. */
VECTORS static void exp_rows(const double *x, double *out, int64_t n)
{
    const double least_of_exp = least_exponent;
    for (int64_t k = 0; k < n; k++) out[k] = exp_of(x[k], least_of_exp);
}

VECTORS static void log_rows(const double *x, double *out, int64_t n)
{
    for (int64_t k = 0; k < n; k++) out[k] = log_of(x[k]);
}

TABLE(exp_rows, 2, 2, 0, exp_rows(own[0], own[1], n * M))
TABLE(log_rows, 2, 2, 0, log_rows(own[0], own[1], n * M))
