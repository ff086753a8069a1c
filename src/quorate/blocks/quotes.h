/* Whether every quoted field of a CSV file is closed, with nothing after its closing quote. The function _check_each_quote
 * of quorate/io/csv_files.py has the same rules, and the message for a file that breaks them.
 */

static int ends_field(uint8_t byte, uint8_t delimiter)
{
    return byte == delimiter || byte == '\n' || byte == '\r';
}

static int quotes_close(const uint8_t *data, int64_t start, int64_t n, uint8_t delimiter)
{
    int is_open = 0;
    for (int64_t q = start; q < n; q++) {
        const uint8_t *quote = memchr(data + q, '"', (size_t)(n - q));
        if (!quote) break;
        q = quote - data;
        if (!is_open)
            is_open = q == start || ends_field(data[q - 1], delimiter); /* elsewhere, a quote is ordinary text */
        else if (q + 1 < n && data[q + 1] == '"')
            q++; /* a quote within the field, written twice */
        else if (q + 1 == n || ends_field(data[q + 1], delimiter))
            is_open = 0;
        else
            return 0;
    }
    return !is_open;
}

/* quotes_close(data, start, delimiter) */
static PyObject *py_quotes_close(PyObject *self, PyObject *args)
{
    PyObject *data;
    Py_buffer view;
    long long start;
    unsigned char delimiter;
    (void)self;
    if (!PyArg_ParseTuple(args, "OLb", &data, &start, &delimiter)) return NULL;
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0) return NULL;
    int closed = 0;
    if (start >= 0) {
        PyThreadState *others = PyEval_SaveThread();
        closed = quotes_close(view.buf, start, view.len, delimiter);
        PyEval_RestoreThread(others);
    }
    PyBuffer_Release(&view);
    if (start < 0) return PyErr_Format(PyExc_ValueError, "a file does not begin at a negative position");
    return PyBool_FromLong(closed);
}
