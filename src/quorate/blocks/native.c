/* The kernels: one pass over whole tasks each, in C. numpy_kernels.py has the same in numpy, as the reference in tests.
 *
 * The passes rely on kernels.py for the sizes and types of arrays, and on check_codes in block.py for codes within the
 * tables. The functions of encode.h, order.h and format.h, which read other buffers, check them.
 */
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(address) __builtin_prefetch(address, 1)
#define FIXED static inline __attribute__((always_inline))
#else
#define PREFETCH(address) ((void)(address))
#define FIXED static __forceinline
#define restrict __restrict
#endif
/* Wider vectors where the processor has them; no fused multiplication, so that the results are the same. */
#if defined(__GNUC__) && defined(__x86_64__) && defined(__gnu_linux__) && defined(__GLIBC__)
#define VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define VECTORS
#endif
#define AHEAD 24 /* answers; 16 to 32 take the same time */
#define MAX_UNITS 64 /* classes; up to here a table of their unit vectors fits in the first-level cache */

typedef struct {
    const int64_t *start;
    const int32_t *worker;
    int64_t n_tasks, n_answers;
} Span;

#include "vector_math.h"

#define TASKS_AT_ONCE 64 /* in the E-step: their tables fit in the first-level cache */
#define CELLS_AT_ONCE 4096 /* tasks × classes, if there are many classes */

static int64_t tasks_at_once(int64_t M)
{
    const int64_t fitting = CELLS_AT_ONCE / M;
    return fitting > TASKS_AT_ONCE ? TASKS_AT_ONCE : fitting < 1 ? 1 : fitting;
}

/* Turn log joint probabilities of n tasks into probabilities, and return the logarithms of their sums. */
VECTORS static void softmax_and_logs(double *q, double *log_sum, int64_t n, int64_t M)
{
    const double least_of_exp = least_exponent;
    double total[TASKS_AT_ONCE];
    for (int64_t t = 0; t < n; t++) {
        double most = q[t * M];
        for (int64_t c = 1; c < M; c++) most = q[t * M + c] > most ? q[t * M + c] : most;
        for (int64_t c = 0; c < M; c++) q[t * M + c] -= most;
        log_sum[t] = most;
    }
    for (int64_t k = 0; k < n * M; k++) q[k] = exp_of(q[k], least_of_exp);
    for (int64_t t = 0; t < n; t++) {
        total[t] = 0.0;
        for (int64_t c = 0; c < M; c++) total[t] += q[t * M + c];
        for (int64_t c = 0; c < M; c++) q[t * M + c] /= total[t];
    }
    for (int64_t t = 0; t < n; t++) log_sum[t] += log_of(total[t]);
}

#define LABEL uint8_t
#define NAME(kernel) kernel##_narrow
#include "passes.h"
#include "peers.h"
#undef LABEL
#undef NAME
#define LABEL int32_t
#define NAME(kernel) kernel##_wide
#include "passes.h"
#include "peers.h"

/* --- without labels --- */

static int32_t root_of(int32_t *parent, int32_t i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

static int unite(int32_t *parent, int32_t i, int32_t j)
{
    i = root_of(parent, i), j = root_of(parent, j);
    if (i < j) parent[j] = i; /* the smallest number of a tree is its root */
    else parent[i] = j;
    return i != j;
}

/* Join the workers of each task: worker i to the copy j + n of the next worker j, and j to i + n; of three, one to its own
 * copy. Workers who are not kept are left out. When all others have one root, as in most crowds after a few thousand
 * answers, the other tasks are skipped. */
static void joined(const Span s, int32_t *parent, const uint8_t *is_kept, int32_t n)
{
    int64_t unions_left = -1; /* unions until all kept workers have one root */
    for (int32_t i = 0; i < 2 * n; i++) unions_left += parent[i] == i && (!is_kept || is_kept[i % n]);
    for (int64_t t = 0; t < s.n_tasks && unions_left > 0; t++) {
        int32_t first = -1, last = -1;
        int64_t size = 0;
        for (int64_t a = s.start[t]; a < s.start[t + 1]; a++) {
            const int32_t worker = s.worker[a];
            if (is_kept && !is_kept[worker]) continue;
            if (last < 0) {
                first = worker;
            } else {
                unions_left -= unite(parent, last, worker + n);
                unions_left -= unite(parent, last + n, worker);
            }
            last = worker;
            size++;
        }
        if (size > 2) unions_left -= unite(parent, first, first + n);
    }
}

/* Set, in the row of each worker from low to high - 1, the bits of all workers on its tasks: pair by pair, or from a mask
 * of a large task. */
static void mark_peers(const Span s, uint64_t *bits, int64_t low, int64_t high, int64_t words, uint64_t *mask)
{
    for (int64_t t = 0; t < s.n_tasks; t++) {
        const int64_t from = s.start[t], to = s.start[t + 1];
        const int large = to - from > words;
        if (large) {
            memset(mask, 0, (size_t)words * sizeof *mask);
            for (int64_t a = from; a < to; a++) mask[s.worker[a] >> 6] |= UINT64_C(1) << (s.worker[a] & 63);
        }
        for (int64_t a = from; a < to; a++) {
            const int64_t next = a + to - from; /* the same position in the next task, if that has the same size */
            if (!large && to + (to - from) <= s.n_answers && s.worker[next] >= low && s.worker[next] < high)
                for (int64_t b = to; b < to + (to - from); b++)
                    PREFETCH(bits + (s.worker[next] - low) * words + (s.worker[b] >> 6));
            if (s.worker[a] < low || s.worker[a] >= high) continue;
            uint64_t *row = bits + (s.worker[a] - low) * words;
            if (large)
                for (int64_t k = 0; k < words; k++) row[k] |= mask[k];
            else
                for (int64_t b = from; b < to; b++) row[s.worker[b] >> 6] |= UINT64_C(1) << (s.worker[b] & 63);
        }
    }
}

/* Count the peers of each worker, itself included: worker i stamps all workers on its tasks, which begin at first[i]. */
static void count_peers(const Span s, const int32_t *task, const int64_t *first, int32_t *stamp, int64_t *out, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        for (int64_t k = first[i]; k < first[i + 1]; k++)
            for (int64_t a = s.start[task[k]]; a < s.start[task[k] + 1]; a++)
                if (stamp[s.worker[a]] != i + 1) {
                    stamp[s.worker[a]] = i + 1;
                    out[i]++;
                }
}

/* A hash of each run of bytes, as quorate.blocks.sampling.hash_texts computes it; `mixed` has a number for each position in a run. */
static void hash_texts(const Span s, const uint8_t *bytes, const uint64_t *mixed, uint64_t *out)
{
    for (int64_t t = 0; t < s.n_tasks; t++) {
        uint64_t sum = 0;
        const int64_t from = s.start[t], n = s.start[t + 1] - from;
        for (int64_t p = 0; p < n; p++) sum += ((uint64_t)bytes[from + p] + 1) * mixed[p];
        out[t] = sum;
    }
}

/* --- from Python: kernel(start, worker, label, own arrays ..., own numbers ...) --- */

#define MAX_OWN 6 /* arrays of a kernel in addition to those of the block; also its numbers */
typedef struct {
    Py_buffer view[3 + MAX_OWN];
    int held;
    Span span;
    const void *label;
    int wide;
    void *own[3 + MAX_OWN]; /* the arrays, including those of the block */
    int64_t number[MAX_OWN];
} Call;

static void release(Call *call)
{
    while (call->held > 0) {
        Py_buffer *view = &call->view[--call->held];
        if (view->obj) PyBuffer_Release(view);
    }
}

/* Get the buffers of the arrays; None gives a null pointer. */
static int hold_call(Call *call, PyObject *args, int arrays, int numbers)
{
    call->held = 0;
    if (PyTuple_Size(args) != arrays + numbers) {
        PyErr_Format(PyExc_TypeError, "this pass takes %d arguments", arrays + numbers);
        return 0;
    }
    for (int k = 0; k < arrays; k++) {
        PyObject *array = PyTuple_GetItem(args, k);
        Py_buffer *view = &call->view[k];
        memset(view, 0, sizeof *view);
        if (array != Py_None && PyObject_GetBuffer(array, view, PyBUF_C_CONTIGUOUS) < 0) {
            release(call);
            return 0;
        }
        call->held++;
        call->own[k] = view->buf;
    }
    for (int k = 0; k < numbers; k++) {
        call->number[k] = PyLong_AsLongLong(PyTuple_GetItem(args, arrays + k));
        if (PyErr_Occurred()) {
            release(call);
            return 0;
        }
    }
    return 1;
}

/* Get the buffers of the arrays of a block and of the kernel's own arrays. */
static int hold(Call *call, PyObject *args, int arrays, int numbers)
{
    if (!hold_call(call, args, 3 + arrays, numbers)) return 0;
    call->span.start = call->view[0].buf;
    call->span.n_tasks = call->view[0].len / (Py_ssize_t)sizeof(int64_t) - 1;
    call->span.worker = call->view[1].buf;
    call->span.n_answers = call->view[1].len / (Py_ssize_t)sizeof(int32_t);
    call->label = call->view[2].buf;
    call->wide = call->view[2].itemsize == 4;
    return 1;
}

static PyObject *done(Call *call, void *scratch, int failed)
{
    free(scratch);
    release(call);
    return failed ? PyErr_NoMemory() : Py_NewRef(Py_None);
}

/* A kernel from Python: WORK runs without the interpreter's lock, with `room` doubles of scratch. */
#define KERNEL(name, arrays, numbers, room, narrow, wide_)                     \
    static PyObject *py_##name(PyObject *self, PyObject *args)                 \
    {                                                                          \
        Call call;                                                             \
        (void)self;                                                            \
        if (!hold(&call, args, arrays, numbers)) return NULL;                  \
        double *scratch = malloc((size_t)((room) + 1) * sizeof(double));       \
        if (!scratch) return done(&call, NULL, 1);                             \
        const Span s = call.span;                                              \
        void **own = call.own + 3;                                              \
        const int64_t *number = call.number;                                   \
        (void)number;                                                          \
        PyThreadState *others = PyEval_SaveThread();                           \
        if (call.wide) {                                                       \
            const int32_t *label = call.label;                                 \
            (void)label;                                                       \
            wide_;                                                             \
        } else {                                                               \
            const uint8_t *label = call.label;                                 \
            (void)label;                                                       \
            narrow;                                                            \
        }                                                                      \
        PyEval_RestoreThread(others);                                          \
        return done(&call, scratch, 0);                                        \
    }
#define EITHER(name, arrays, numbers, room, ...) \
    KERNEL(name, arrays, numbers, room, name##_narrow(s, label, __VA_ARGS__), name##_wide(s, label, __VA_ARGS__))

EITHER(centred, 1, 2, call.number[1] * (call.number[1] <= MAX_UNITS ? call.number[1] + 1 : 1), own[0], number[0], (int)number[1], scratch)
EITHER(agreement, 1, 1, call.number[0] + 64, own[0], (int)number[0], scratch)
EITHER(powers, 1, 1, 0, own[0], (int)number[0])
EITHER(em, 4, 1, tasks_at_once(call.number[0]) * (call.number[0] + 2), own[0], own[1], own[2], (int)number[0], scratch, own[3])
EITHER(one_coin, 4, 1, tasks_at_once(call.number[0]) * (call.number[0] + 3), own[0], own[1], own[2], own[3], (int)number[0], scratch)
EITHER(equal, 2, 0, 0, own[0], own[1])
EITHER(chances, 2, 1, 0, own[0], (int)number[0], own[1])
EITHER(scores, 3, 1, 0, own[0], own[1], (int)number[0], own[2])
EITHER(expected, 2, 1, 0, own[0], own[1], (int)number[0])
EITHER(tally, 2, 1, 0, own[0], (int)number[0], own[1])
EITHER(responses, 2, 1, call.number[0], own[0], own[1], (int)number[0], scratch)
EITHER(coincidences, 1, 1, call.number[0], own[0], (int)number[0], scratch)
EITHER(residuals, 4, 1, call.number[0], own[0], own[1], own[2], own[3], (int)number[0], scratch)
EITHER(tetrads, 3, 1, 2 * call.number[0], own[0], own[1], own[2], (int)number[0], scratch)
EITHER(rating, 6, 3, 10 * call.number[1] + 2 * call.number[2], own[0], own[1], own[2], own[3], own[4], own[5],
       (int)number[0], number[1], number[2], scratch)
EITHER(pulls, 3, 2, call.number[0], own[0], own[1], own[2], (int)number[0], (int)number[1], scratch)
EITHER(signed_sums, 3, 1, 0, own[0], own[1], own[2], number[0])
EITHER(peers, 4, 3, (call.number[0] + 1) * call.number[1], own[0], own[1], own[2], own[3], (int)number[0], number[1],
       (int)number[2], scratch)
EITHER(peer_pairs, 3, 3, 0, own[0], own[1], own[2], (int)number[0], (int)number[1], number[2])
EITHER(pair_counts, 1, 3, 0, own[0], number[0], number[1], number[2])
KERNEL(count_peers, 4, 1, 0, count_peers(s, own[0], own[1], own[2], own[3], (int32_t)number[0]),
       count_peers(s, own[0], own[1], own[2], own[3], (int32_t)number[0]))
KERNEL(hash_texts, 2, 0, 0, hash_texts(s, label, own[0], own[1]), (void)0)
KERNEL(joined, 2, 1, 0, joined(s, own[0], own[1], (int32_t)number[0]), joined(s, own[0], own[1], (int32_t)number[0]))
KERNEL(mark_peers, 1, 3, call.number[2], mark_peers(s, own[0], number[0], number[1], number[2], (uint64_t *)scratch),
       mark_peers(s, own[0], number[0], number[1], number[2], (uint64_t *)scratch))

#include "encode.h"
#include "order.h"
#include "format.h"
#include "quotes.h"
#include "tables.h"

#define ENTRY(name) {#name, py_##name, METH_VARARGS, NULL}
static PyMethodDef kernels[] = {
    ENTRY(centred), ENTRY(agreement), ENTRY(powers), ENTRY(em), ENTRY(one_coin), ENTRY(equal), ENTRY(chances), ENTRY(scores), ENTRY(expected),
    ENTRY(tally),   ENTRY(responses),    ENTRY(joined), ENTRY(mark_peers), ENTRY(hash_texts), ENTRY(count_peers), ENTRY(rating),
    ENTRY(coincidences), ENTRY(residuals), ENTRY(tetrads), ENTRY(pulls),   ENTRY(signed_sums),    ENTRY(peers),  ENTRY(peer_pairs), ENTRY(pair_counts),
    ENTRY(encoder), ENTRY(encode), {"encoded", py_encoded, METH_O, NULL}, ENTRY(recode),
    ENTRY(rows_in_order), ENTRY(order_count), ENTRY(order_scatter), ENTRY(order_sort), ENTRY(order_unpack),
    ENTRY(quotes_close), ENTRY(csv_rows), ENTRY(needs_quotes), ENTRY(six_digits),
    ENTRY(softmax_rows), ENTRY(calibrate_rows), ENTRY(lead_rows), ENTRY(chosen_rows), ENTRY(matrix_moments), ENTRY(log_matrices),
    ENTRY(set_columns), ENTRY(get_columns), ENTRY(mirror_upper), ENTRY(exp_rows), ENTRY(log_rows),
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", "The kernels in C.", 0, kernels, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&module);
}
