/* Rows of CSV from Arrow's buffers, and numbers with six significant digits. quorate/io/write_csv.py documents the format.
 *
 * A number x has six significant digits if it is the quotient, or the product, of a whole number of at most seven digits
 * and a power of ten; its shortest text then has these digits. Powers of ten up to 10^22 are exact.
 */

enum { TEXT_32, TEXT_64, NUMBER, INTEGER, TRUTH, N_KINDS };
#define MAX_COLUMNS 64
#define MAX_DIGITS 24 /* characters of a number: sign, 10 digits of an integer part, point, 6 + 6 digits; or of an int64 */
#define SIX 6

static const double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

typedef struct {
    int kind;
    int64_t first;        /* the row of the buffers at which the batch begins */
    const uint8_t *valid; /* bits; a null pointer if every row has a value */
    const void *values;   /* numbers or bits; for text, the offsets */
    const uint8_t *bytes; /* the text */
    int64_t n_values, n_bytes;
} Column;

/* The decimal exponent of x > 0; it may be off by one, which gives the same digits. */
static int magnitude_of(double x)
{
    if (x >= 1.0) {
        int m = 0;
        while (m < 16 && x >= powers_of_ten[m + 1]) m++;
        return m;
    }
    int m = -1;
    while (m > -17 && x * powers_of_ten[-m] < 1.0) m--;
    return m;
}

/* The six digits of x as a whole number, and the power of ten that it is divided by. Returns 0 if x is out of range. */
static int digits_of(double x, double *digits, int *places)
{
    const double size = fabs(x);
    if (!(size < 1e15)) return 0; /* NaN, too */
    if (size == 0.0) {
        *digits = 0.0, *places = 0;
        return 1;
    }
    if (size < 1e-15) return 0;
    const int p = SIX - 1 - magnitude_of(size);
    *digits = p >= 0 ? rint(size * powers_of_ten[p]) : rint(size / powers_of_ten[-p]);
    *places = p;
    return 1;
}

static double from_digits(double digits, int places)
{
    return places >= 0 ? digits / powers_of_ten[places] : digits * powers_of_ten[-places];
}

/* Write a number as Arrow does: without an exponent from 1e-6 to 1e10. Returns the end; null if it has more digits. */
static uint8_t *write_number(uint8_t *out, double x)
{
    double whole;
    int places;
    if (!digits_of(x, &whole, &places) || from_digits(whole, places) != fabs(x)) return NULL;
    uint8_t text[8];
    int n = 0;
    uint32_t rest = (uint32_t)whole;
    if (signbit(x)) *out++ = '-';
    if (rest == 0) {
        *out++ = '0';
        return out;
    }
    while (rest % 10 == 0) rest /= 10, places--;
    for (; rest; rest /= 10) text[n++] = (uint8_t)('0' + rest % 10); /* the last digit first */
    const int point = n - places; /* the value is 0.DIGITS times ten to this */
    if (point > 10 || point <= -6) {
        int power = point - 1;
        *out++ = text[--n];
        if (n) *out++ = '.';
        while (n) *out++ = text[--n];
        *out++ = 'e';
        *out++ = power < 0 ? '-' : '+';
        power = abs(power);
        if (power >= 10) *out++ = (uint8_t)('0' + power / 10);
        *out++ = (uint8_t)('0' + power % 10);
        return out;
    }
    if (point <= 0) {
        *out++ = '0', *out++ = '.';
        for (int k = point; k < 0; k++) *out++ = '0';
    }
    for (int k = 0; k < n || k < point; k++) {
        if (k == point && k > 0) *out++ = '.';
        *out++ = k < n ? text[n - 1 - k] : '0';
    }
    return out;
}

static uint8_t *write_integer(uint8_t *out, int64_t value)
{
    uint8_t text[20];
    int n = 0;
    uint64_t rest = value < 0 ? UINT64_C(0) - (uint64_t)value : (uint64_t)value;
    if (value < 0) *out++ = '-';
    do text[n++] = (uint8_t)('0' + rest % 10);
    while (rest /= 10);
    while (n) *out++ = text[--n];
    return out;
}

static int64_t text_end(const Column *c, int64_t k) /* end of the texts before row k */
{
    return offset_at(c->values, c->kind == TEXT_64, c->first + k);
}

/* Upper bound of the bytes of the column in a batch; -1 if its buffers are too short or its offsets do not ascend. */
static int64_t column_bytes(const Column *c, int64_t n, int quote)
{
    if (c->first < 0 || n > c->n_values - (c->kind < NUMBER) - c->first) return -1;
    if (c->kind >= NUMBER) return n * MAX_DIGITS;
    for (int64_t k = 0; k < n; k++)
        if (text_end(c, k) < 0 || text_end(c, k) > text_end(c, k + 1)) return -1;
    if (n && text_end(c, n) > c->n_bytes) return -1;
    const int64_t size = n ? text_end(c, n) - text_end(c, 0) : 0;
    return quote ? 2 * (size + n) : size;
}

static uint8_t *write_text(uint8_t *out, const uint8_t *text, int64_t n, int quote)
{
    if (!quote) {
        if (n) memcpy(out, text, (size_t)n); /* if all texts are empty, the pointer may be null */
        return out + n;
    }
    *out++ = '"';
    for (int64_t k = 0; k < n; k++) {
        if (text[k] == '"') *out++ = '"';
        *out++ = text[k];
    }
    *out++ = '"';
    return out;
}

/* Write the rows of a batch; returns the end, or null if a number has more than six digits. */
static uint8_t *write_rows(uint8_t *out, const Column *columns, int n_columns, int64_t n, int quote)
{
    double number;
    int64_t integer;
    for (int64_t k = 0; k < n; k++)
        for (int j = 0; j < n_columns; j++) {
            const Column *c = columns + j;
            const int64_t row = c->first + k;
            if (is_valid(c->valid, row)) {
                switch (c->kind) {
                case NUMBER:
                    memcpy(&number, (const uint8_t *)c->values + 8 * row, sizeof number);
                    out = write_number(out, number);
                    if (!out) return NULL;
                    break;
                case INTEGER:
                    memcpy(&integer, (const uint8_t *)c->values + 8 * row, sizeof integer);
                    out = write_integer(out, integer);
                    break;
                case TRUTH:
                    if (is_valid(c->values, row)) memcpy(out, "true", 4), out += 4;
                    else memcpy(out, "false", 5), out += 5;
                    break;
                default: out = write_text(out, c->bytes + text_end(c, k), text_end(c, k + 1) - text_end(c, k), quote);
                }
            }
            *out++ = j + 1 < n_columns ? ',' : '\n';
        }
    return out;
}

/* Get the buffers of the columns: a list of (kind, first row, valid or None, values, bytes or None). */
static int hold_columns(PyObject *list, Column *columns, Py_buffer *views, int *held)
{
    const Py_ssize_t n = PyList_Size(list);
    *held = 0;
    if (n < 0) return -1;
    if (n == 0 || n > MAX_COLUMNS) {
        PyErr_Format(PyExc_ValueError, "a table of 1 to %d columns is written", MAX_COLUMNS);
        return -1;
    }
    for (Py_ssize_t j = 0; j < n; j++) {
        PyObject *array[3];
        Column *c = columns + j;
        long long first;
        if (!PyArg_ParseTuple(PyList_GetItem(list, j), "iLOOO", &c->kind, &first, &array[0], &array[1], &array[2]))
            return -1;
        c->first = first;
        if (c->kind < 0 || c->kind >= N_KINDS) {
            PyErr_SetString(PyExc_ValueError, "no such kind of column");
            return -1;
        }
        Py_buffer *view = views + *held;
        for (int k = 0; k < 3; k++) {
            memset(view + k, 0, sizeof *view);
            if (array[k] != Py_None && PyObject_GetBuffer(array[k], view + k, PyBUF_SIMPLE) < 0) return -1;
            ++*held;
        }
        c->valid = view[0].buf, c->values = view[1].buf, c->bytes = view[2].buf, c->n_bytes = view[2].len;
        const int64_t width = c->kind == TEXT_32 ? 4 : 8;
        c->n_values = c->kind == TRUTH ? view[1].len * 8 : view[1].len / width;
        if (c->valid && view[0].len * 8 < c->n_values && c->kind == TRUTH) c->n_values = view[0].len * 8;
        else if (c->valid && view[0].len * 8 + (c->kind < NUMBER) < c->n_values)
            c->n_values = view[0].len * 8 + (c->kind < NUMBER);
    }
    return (int)n;
}

static void release_views(Py_buffer *views, int held)
{
    while (held > 0)
        if (views[--held].obj) PyBuffer_Release(&views[held]);
}

/* csv_rows(columns, number of rows, quote text): return the bytes; None if a number has more than six digits. */
static PyObject *py_csv_rows(PyObject *self, PyObject *args)
{
    PyObject *list, *result = NULL;
    Column columns[MAX_COLUMNS];
    Py_buffer views[3 * MAX_COLUMNS];
    long long n;
    int quote, held = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "OLi", &list, &n, &quote)) return NULL;
    const int n_columns = hold_columns(list, columns, views, &held);
    if (n_columns < 0) goto done;
    int64_t size = 0;
    for (int j = 0; j < n_columns; j++) {
        const int64_t bytes = n < 0 ? -1 : column_bytes(columns + j, n, quote);
        if (bytes < 0) {
            PyErr_SetString(PyExc_ValueError, "a column is shorter than the batch, or its offsets are out of range");
            goto done;
        }
        size += bytes + n; /* with the comma or line end after each field */
    }
    uint8_t *out = malloc((size_t)size + 1);
    if (!out) {
        PyErr_NoMemory();
        goto done;
    }
    PyThreadState *others = PyEval_SaveThread();
    const uint8_t *end = write_rows(out, columns, n_columns, n, quote);
    PyEval_RestoreThread(others);
    result = end ? PyBytes_FromStringAndSize((const char *)out, end - out) : Py_NewRef(Py_None);
    free(out);
done:
    release_views(views, held);
    return result;
}

/* needs_quotes(columns, number of rows): whether a text has a quote, a comma or a line end. */
static PyObject *py_needs_quotes(PyObject *self, PyObject *args)
{
    PyObject *list, *result = NULL;
    Column columns[MAX_COLUMNS];
    Py_buffer views[3 * MAX_COLUMNS];
    long long n;
    int held = 0, needed = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "OL", &list, &n)) return NULL;
    const int n_columns = hold_columns(list, columns, views, &held);
    if (n_columns < 0) goto done;
    for (int j = 0; j < n_columns && !needed; j++) {
        const Column *c = columns + j;
        if (c->kind >= NUMBER) continue;
        if (n < 0 || column_bytes(c, n, 0) < 0) {
            PyErr_SetString(PyExc_ValueError, "a column is shorter than the batch, or its offsets are out of range");
            goto done;
        }
        const int64_t low = n ? text_end(c, 0) : 0, high = n ? text_end(c, n) : 0;
        int found = 0;
        for (int64_t k = low; k < high; k++) {
            const uint8_t b = c->bytes[k];
            found |= (b == '"') | (b == ',') | (b == '\r') | (b == '\n');
        }
        needed |= found;
    }
    result = PyBool_FromLong(needed);
done:
    release_views(views, held);
    return result;
}

/* six_digits(numbers, out): write the rounded numbers; False if one is out of range, and `out` is then incomplete. */
static PyObject *py_six_digits(PyObject *self, PyObject *args)
{
    PyObject *array[2];
    Py_buffer view[2];
    (void)self;
    if (!PyArg_ParseTuple(args, "OO", &array[0], &array[1])) return NULL;
    if (PyObject_GetBuffer(array[0], &view[0], PyBUF_SIMPLE) < 0) return NULL;
    if (PyObject_GetBuffer(array[1], &view[1], PyBUF_WRITABLE) < 0) {
        PyBuffer_Release(&view[0]);
        return NULL;
    }
    const double *numbers = view[0].buf;
    double *out = view[1].buf;
    const int64_t n = view[0].len / (Py_ssize_t)sizeof(double);
    int within = view[1].len >= view[0].len;
    PyThreadState *others = PyEval_SaveThread();
    for (int64_t k = 0; k < n && within; k++) {
        double digits;
        int places;
        within = digits_of(numbers[k], &digits, &places);
        if (within) out[k] = copysign(from_digits(digits, places), numbers[k]);
    }
    PyEval_RestoreThread(others);
    PyBuffer_Release(&view[0]);
    PyBuffer_Release(&view[1]);
    return PyBool_FromLong(within);
}
