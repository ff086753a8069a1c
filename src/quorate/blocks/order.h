/* Answers in the order of tasks and, within a task, of workers and labels: a counting sort by task, then short sorts.
 *
 * An answer is one key, worker << bits | label, of 32 bits if that is enough. Each call after the count handles the
 * tasks from `low` to `high`, so that several threads can share the work. quorate.blocks.ordering calls these; numpy's
 * sort, which is used without the extension, gives the same order.
 */

#define MAX_INSERTED 24 /* answers of a task that are sorted by insertion; 16 to 32 take the same time */

/* Count the answers of each task; returns 0 if a code is out of range. */
static int count_tasks(const int32_t *task, int64_t n, int32_t *count, int64_t n_tasks)
{
    uint32_t wrong = n_tasks < 1;
    for (int64_t a = 0; a < n && n_tasks > 0; a++) {
        const uint32_t is_wrong = (uint32_t)task[a] >= (uint64_t)n_tasks;
        wrong |= is_wrong;
        count[is_wrong ? 0 : task[a]]++;
    }
    return !wrong;
}

/* The present order of the rows: 0 none, 1 ascending by task and worker, 2 the same with a worker twice on a task. */
static int order_of_rows(const int32_t *task, const int32_t *worker, int64_t n)
{
    int order = 1;
    for (int64_t a = 1; a < n; a++) {
        if (task[a] > task[a - 1]) continue;
        if (task[a] < task[a - 1] || worker[a] < worker[a - 1]) return 0;
        if (worker[a] == worker[a - 1]) order = 2;
    }
    return order;
}

#define ORDER(KEY, NAME)                                                                                              \
    static int compare_##NAME(const void *one, const void *two)                                                       \
    {                                                                                                                 \
        const KEY a = *(const KEY *)one, b = *(const KEY *)two;                                                       \
        return (a > b) - (a < b);                                                                                     \
    }                                                                                                                 \
                                                                                                                      \
    /* Put each answer to a task from low to high at the next free row of its task. */                                \
    static void scatter_##NAME(const int32_t *task, const int32_t *worker, const int32_t *label, int64_t n, int bits, \
                               int64_t low, int64_t high, int all, int32_t *next, KEY *key)                           \
    {                                                                                                                 \
        KEY elsewhere; /* for answers to other tasks: a branch would be mispredicted every other time */              \
        int32_t no_task = 0;                                                                                          \
        for (int64_t a = 0; a < n; a++) {                                                                             \
            if (a + 2 * AHEAD < n) PREFETCH(next + task[a + 2 * AHEAD]);                                              \
            if (a + AHEAD < n) PREFETCH(key + next[task[a + AHEAD]]);                                                 \
            const int inside = all || (task[a] >= low && task[a] < high);                                             \
            int32_t *const row = inside ? next + task[a] : &no_task;                                                  \
            *(inside ? key + *row : &elsewhere) = (KEY)((KEY)worker[a] << bits | (KEY)label[a]);                      \
            *row += inside;                                                                                           \
        }                                                                                                             \
        (void)elsewhere;                                                                                              \
    }                                                                                                                 \
                                                                                                                      \
    /* Sort the keys of each task from low to high; returns whether a worker answered one of them twice. */           \
    static int sort_##NAME(const int64_t *start, int64_t low, int64_t high, int bits, KEY *keys)                      \
    {                                                                                                                 \
        int repeats = 0;                                                                                              \
        for (int64_t t = low; t < high; t++) {                                                                        \
            KEY *const key = keys + start[t];                                                                         \
            const int64_t n = start[t + 1] - start[t];                                                                \
            if (n > MAX_INSERTED) qsort(key, (size_t)n, sizeof *key, compare_##NAME);                                 \
            else                                                                                                      \
                for (int64_t k = 1; k < n; k++) {                                                                     \
                    const KEY x = key[k];                                                                             \
                    int64_t j = k;                                                                                    \
                    for (; j > 0 && key[j - 1] > x; j--) key[j] = key[j - 1];                                         \
                    key[j] = x;                                                                                       \
                }                                                                                                     \
            for (int64_t k = 1; k < n; k++) repeats |= key[k] >> bits == key[k - 1] >> bits;                          \
        }                                                                                                             \
        return repeats;                                                                                               \
    }                                                                                                                 \
                                                                                                                      \
    static void unpack_##NAME(const int64_t *start, int64_t low, int64_t high, int bits, const KEY *key,              \
                              int32_t *task, int32_t *worker, int32_t *label)                                         \
    {                                                                                                                 \
        const KEY labels = ((KEY)1 << bits) - 1;                                                                      \
        for (int64_t t = low; t < high; t++)                                                                          \
            for (int64_t a = start[t]; a < start[t + 1]; a++) {                                                       \
                task[a] = (int32_t)t;                                                                                 \
                worker[a] = (int32_t)(key[a] >> bits);                                                                \
                label[a] = (int32_t)(key[a] & labels);                                                                \
            }                                                                                                         \
    }
ORDER(uint32_t, narrow)
ORDER(uint64_t, wide)
#undef ORDER

/* --- from Python; sizes are checked here, codes by order_count, whose counts become `start` and `next` --- */

/* Get the buffers of int32, int64 or key arrays; `writable` has a bit for each array that is written to. */
static int hold_arrays(Py_buffer *view, PyObject *const *array, int n, unsigned writable)
{
    for (int k = 0; k < n; k++)
        if (PyObject_GetBuffer(array[k], &view[k], writable >> k & 1 ? PyBUF_WRITABLE : PyBUF_SIMPLE) < 0) {
            while (k > 0) PyBuffer_Release(&view[--k]);
            return 0;
        }
    return 1;
}

static void release_arrays(Py_buffer *view, int n)
{
    while (n > 0) PyBuffer_Release(&view[--n]);
}

#define ROWS(view) ((view).len / (Py_ssize_t)sizeof(int32_t))

/* rows_in_order(task, worker) */
static PyObject *py_rows_in_order(PyObject *self, PyObject *args)
{
    PyObject *array[2];
    Py_buffer view[2];
    int order = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "OO", &array[0], &array[1]) || !hold_arrays(view, array, 2, 0)) return NULL;
    const int is_sized = view[0].len == view[1].len;
    if (is_sized) {
        PyThreadState *others = PyEval_SaveThread();
        order = order_of_rows(view[0].buf, view[1].buf, ROWS(view[0]));
        PyEval_RestoreThread(others);
    }
    release_arrays(view, 2);
    if (!is_sized) return PyErr_Format(PyExc_ValueError, "the columns of answers differ in length");
    return PyLong_FromLong(order);
}

/* order_count(task, count) */
static PyObject *py_order_count(PyObject *self, PyObject *args)
{
    PyObject *array[2];
    Py_buffer view[2];
    (void)self;
    if (!PyArg_ParseTuple(args, "OO", &array[0], &array[1]) || !hold_arrays(view, array, 2, 2)) return NULL;
    PyThreadState *others = PyEval_SaveThread();
    const int is_within = count_tasks(view[0].buf, ROWS(view[0]), view[1].buf, ROWS(view[1]));
    PyEval_RestoreThread(others);
    release_arrays(view, 2);
    if (!is_within) return PyErr_Format(PyExc_ValueError, "the code of a task is out of range");
    return Py_NewRef(Py_None);
}

/* order_scatter(task, worker, label, next, key, bits, low, high) */
static PyObject *py_order_scatter(PyObject *self, PyObject *args)
{
    PyObject *array[5];
    Py_buffer view[5];
    int bits;
    long long low, high;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOOOOiLL", &array[0], &array[1], &array[2], &array[3], &array[4], &bits, &low, &high) ||
        !hold_arrays(view, array, 5, 24))
        return NULL;
    const int64_t n = ROWS(view[0]), n_tasks = ROWS(view[3]);
    const int is_wide = view[4].len == n * 8;
    const int is_sized = ROWS(view[1]) == n && ROWS(view[2]) == n && (is_wide || view[4].len == n * 4) && bits >= 0 &&
                         bits < (is_wide ? 64 : 32);
    if (is_sized) {
        const int all = low <= 0 && high >= n_tasks;
        PyThreadState *others = PyEval_SaveThread();
        if (is_wide)
            scatter_wide(view[0].buf, view[1].buf, view[2].buf, n, bits, low, high, all, view[3].buf, view[4].buf);
        else
            scatter_narrow(view[0].buf, view[1].buf, view[2].buf, n, bits, low, high, all, view[3].buf, view[4].buf);
        PyEval_RestoreThread(others);
    }
    release_arrays(view, 5);
    if (!is_sized) return PyErr_Format(PyExc_ValueError, "the columns of answers differ in length");
    return Py_NewRef(Py_None);
}

/* Whether the rows of tasks from low to high lie within n rows. */
static int is_start(const Py_buffer *start, long long low, long long high, int64_t n)
{
    const int64_t *first = start->buf;
    if (low < 0 || high < low || high >= start->len / (Py_ssize_t)sizeof *first || first[low] < 0) return 0;
    for (long long t = low; t < high; t++)
        if (first[t + 1] < first[t]) return 0;
    return first[high] <= n;
}

/* order_sort(start, key, is_wide, bits, low, high): whether a worker answered a task twice */
static PyObject *py_order_sort(PyObject *self, PyObject *args)
{
    PyObject *array[2];
    Py_buffer view[2];
    int is_wide, bits, repeats = 0;
    long long low, high;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOiiLL", &array[0], &array[1], &is_wide, &bits, &low, &high) ||
        !hold_arrays(view, array, 2, 2))
        return NULL;
    const int is_sized = bits >= 0 && bits < (is_wide ? 64 : 32) &&
                         is_start(&view[0], low, high, view[1].len / (is_wide ? 8 : 4));
    if (is_sized) {
        PyThreadState *others = PyEval_SaveThread();
        repeats = is_wide ? sort_wide(view[0].buf, low, high, bits, view[1].buf)
                          : sort_narrow(view[0].buf, low, high, bits, view[1].buf);
        PyEval_RestoreThread(others);
    }
    release_arrays(view, 2);
    if (!is_sized) return PyErr_Format(PyExc_ValueError, "the tasks do not lie one after another");
    return PyBool_FromLong(repeats);
}

/* order_unpack(start, key, bits, low, high, task, worker, label) */
static PyObject *py_order_unpack(PyObject *self, PyObject *args)
{
    PyObject *array[5];
    Py_buffer view[5];
    int bits;
    long long low, high;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOiLLOOO", &array[0], &array[1], &bits, &low, &high, &array[2], &array[3], &array[4]) ||
        !hold_arrays(view, array, 5, 28))
        return NULL;
    const int64_t n = ROWS(view[2]);
    const int is_wide = view[1].len == n * 8;
    const int is_sized = ROWS(view[3]) == n && ROWS(view[4]) == n && (is_wide || view[1].len == n * 4) && bits >= 0 &&
                         bits < (is_wide ? 64 : 32) && is_start(&view[0], low, high, n);
    if (is_sized) {
        PyThreadState *others = PyEval_SaveThread();
        if (is_wide) unpack_wide(view[0].buf, low, high, bits, view[1].buf, view[2].buf, view[3].buf, view[4].buf);
        else unpack_narrow(view[0].buf, low, high, bits, view[1].buf, view[2].buf, view[3].buf, view[4].buf);
        PyEval_RestoreThread(others);
    }
    release_arrays(view, 5);
    if (!is_sized) return PyErr_Format(PyExc_ValueError, "the columns of answers differ in length");
    return Py_NewRef(Py_None);
}
