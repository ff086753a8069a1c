/* Codes of values in order of first appearance, over Arrow's buffers of text and integers.
 *
 * An encoder is a hash table that stays between calls, so that the chunks of a column, or the dictionaries of several
 * spans, have one numbering. It copies each distinct value, so the chunks may be freed.
 * quorate.blocks.encoding calls it; Arrow's dictionary_encode, which is used without the extension, gives the same codes.
 *
 * The slot of a value depends on a seed that is random in every process: with a fixed hash, ids could be chosen that all
 * have the same slot, and the time would grow with the square of their number. The codes do not depend on the seed.
 */

#define BATCH 32     /* rows whose slots are prefetched before the first is searched; 16 to 64 take the same time */
#define HUGE_PAGE ((size_t)1 << 21) /* bytes, on x86 and most others */
#define SHORT_TEXT 8 /* bytes; a slot holds texts up to this length itself */

typedef struct {
    uint64_t key;  /* an integer, the bytes of a short text, or the hash of a longer one */
    int32_t code;  /* -1 where the slot is empty */
    uint32_t size; /* bytes of a text, at most UINT32_MAX; together with the key of a short text it is the text */
} Slot;

typedef struct {
    Slot *slot;
    uint64_t mask;   /* number of slots minus one; the number is a power of two */
    int shift;       /* 64 minus the binary logarithm of the number of slots */
    uint64_t seed;   /* of the hash of a longer text */
    uint64_t factor; /* odd: the upper bits of its product with a key are a universal hash */
    int64_t n;       /* distinct values */
    int64_t room;    /* allocated entries of `end` */
    int64_t *end;    /* end of each value within `bytes` */
    uint8_t *bytes;  /* the values, one after another */
    int64_t n_bytes, bytes_room;
} Encoder;

/* Memory for the slots of a large table: in huge pages where Linux has them, because each row looks up a random slot. */
static Slot *slots_of(uint64_t n)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const size_t bytes = n * sizeof(Slot);
    void *aligned = NULL;
    if (bytes >= 2 * HUGE_PAGE && !posix_memalign(&aligned, HUGE_PAGE, bytes)) {
        madvise(aligned, bytes, MADV_HUGEPAGE);
        return aligned;
    }
#endif
    return malloc(n * sizeof(Slot));
}

static const char encoder_name[] = "quorate.encoder";

static void encoder_free(Encoder *e)
{
    if (!e) return;
    free(e->slot);
    free(e->end);
    free(e->bytes);
    free(e);
}

static void encoder_destroy(PyObject *capsule)
{
    encoder_free(PyCapsule_GetPointer(capsule, encoder_name));
}

static uint64_t mixed_bits(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0x9E3779B97F4A7C15);
    x ^= x >> 29;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    return x;
}

static uint64_t slot_of(const Encoder *e, uint64_t key, uint32_t size)
{
    return mixed_bits(key + size * UINT64_C(0xD6E8FEB86659FD93)) * e->factor >> e->shift;
}

/* The bytes of a text of at most eight as an integer; `left` is the number of bytes of the buffer from its start on. */
static uint64_t short_key(const uint8_t *text, int64_t size, int64_t left)
{
    uint64_t key = 0;
#if defined(_WIN32) || (defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
    if (left >= 8) { /* one load instead of a loop, with the same key */
        memcpy(&key, text, 8);
        return size == 8 ? key : key & ((UINT64_C(1) << (8 * size)) - 1);
    }
#else
    (void)left;
#endif
    for (int64_t k = 0; k < size; k++) key |= (uint64_t)text[k] << (8 * k);
    return key;
}

static uint64_t long_key(const uint8_t *text, int64_t size, uint64_t seed)
{
    uint64_t hash = (uint64_t)size ^ seed, word;
    int64_t k = 0;
    for (; k + 8 <= size; k += 8) {
        memcpy(&word, text + k, 8);
        hash = mixed_bits(hash ^ word);
    }
    memcpy(&word, text + size - 8, 8); /* the last eight bytes, which may overlap the previous word */
    return mixed_bits(hash ^ word);
}

/* Make room for `more` further values: double the slots until at most half of them are in use. */
static int encoder_grow(Encoder *e, int64_t more)
{
    uint64_t slots = e->mask + 1;
    while ((uint64_t)(e->n + more) * 2 > slots) slots *= 2;
    if (slots > e->mask + 1 || !e->slot) {
        Slot *old = e->slot, *grown = slots_of(slots);
        const uint64_t before = e->mask + 1;
        if (!grown) return 0;
        memset(grown, 0xff, slots * sizeof *grown); /* code -1 */
        e->slot = grown;
        e->mask = slots - 1;
        for (e->shift = 64; slots > 1; slots >>= 1) e->shift--;
        for (uint64_t k = 0; old && k < before; k++) {
            if (old[k].code < 0) continue;
            uint64_t at = slot_of(e, old[k].key, old[k].size);
            while (grown[at].code >= 0) at = (at + 1) & e->mask;
            grown[at] = old[k];
        }
        free(old);
    }
    if (e->n + more > e->room) {
        const int64_t room = 2 * e->room + more;
        int64_t *end = realloc(e->end, (size_t)room * sizeof *end);
        if (!end) return 0;
        e->end = end;
        e->room = room;
    }
    return 1;
}

static int encoder_keep(Encoder *e, const uint8_t *value, int64_t size)
{
    if (e->n_bytes + size > e->bytes_room) {
        const int64_t room = 2 * e->bytes_room + size;
        uint8_t *bytes = realloc(e->bytes, (size_t)room);
        if (!bytes) return 0;
        e->bytes = bytes;
        e->bytes_room = room;
    }
    if (size) memcpy(e->bytes + e->n_bytes, value, (size_t)size);
    e->n_bytes += size;
    e->end[e->n++] = e->n_bytes;
    return 1;
}

/* Whether a slot holds this text; a text of more than eight bytes is compared with the copy. */
static int holds_text(const Encoder *e, const Slot *slot, uint64_t key, const uint8_t *text, int64_t size)
{
    if (slot->key != key || slot->size != (uint32_t)size) return 0;
    if (size <= SHORT_TEXT) return 1;
    const int64_t from = slot->code ? e->end[slot->code - 1] : 0;
    return e->end[slot->code] - from == size && memcmp(e->bytes + from, text, (size_t)size) == 0;
}

typedef enum { ENCODED, NO_MEMORY, BAD_OFFSETS, TOO_MANY } Outcome;

static int is_valid(const uint8_t *valid, int64_t row)
{
    return !valid || (valid[row >> 3] >> (row & 7) & 1);
}

/* An offset of Arrow, of 8 or 4 bytes; it may be unaligned. */
static int64_t offset_at(const void *offsets, int wide, int64_t k)
{
    int64_t long_offset;
    int32_t offset;
    if (wide) {
        memcpy(&long_offset, (const uint8_t *)offsets + 8 * k, sizeof long_offset);
        return long_offset;
    }
    memcpy(&offset, (const uint8_t *)offsets + 4 * k, sizeof offset);
    return offset;
}

/* Codes of the texts from row `first` on, whose offsets have `wide` ? 8 : 4 bytes; -1 where a row is null. */
static Outcome encode_text(Encoder *e, const void *offsets, int wide, const uint8_t *data, int64_t n_data,
                           const uint8_t *valid, int64_t first, int64_t n, int32_t *codes)
{
    uint64_t key[BATCH], at[BATCH];
    int64_t from[BATCH], size[BATCH];
    for (int64_t low = 0; low < n; low += BATCH) {
        const int rows = n - low < BATCH ? (int)(n - low) : BATCH;
        if (e->n > INT32_MAX - BATCH) return TOO_MANY;
        if (!encoder_grow(e, BATCH)) return NO_MEMORY;
        for (int k = 0; k < rows; k++) {
            const int64_t row = first + low + k;
            if (!is_valid(valid, row)) {
                size[k] = -1;
                continue;
            }
            const int64_t to = offset_at(offsets, wide, row + 1);
            from[k] = offset_at(offsets, wide, row);
            if (from[k] < 0 || to < from[k] || to > n_data || to - from[k] > INT32_MAX) return BAD_OFFSETS;
            size[k] = to - from[k];
            key[k] = size[k] <= SHORT_TEXT ? short_key(data + from[k], size[k], n_data - from[k])
                                           : long_key(data + from[k], size[k], e->seed);
            at[k] = slot_of(e, key[k], (uint32_t)size[k]);
            PREFETCH(e->slot + at[k]);
        }
        for (int k = 0; k < rows; k++) {
            if (size[k] < 0) {
                codes[low + k] = -1;
                continue;
            }
            const uint8_t *text = data + from[k];
            Slot *slot = e->slot + at[k];
            while (slot->code >= 0 && !holds_text(e, slot, key[k], text, size[k]))
                slot = e->slot + (at[k] = (at[k] + 1) & e->mask);
            if (slot->code < 0) {
                if (!encoder_keep(e, text, size[k])) return NO_MEMORY;
                slot->key = key[k];
                slot->size = (uint32_t)size[k];
                slot->code = (int32_t)(e->n - 1);
            }
            codes[low + k] = slot->code;
        }
    }
    return ENCODED;
}

/* Codes of the integers of `width` bytes from row `first` on; -1 where a row is null. */
static Outcome encode_integers(Encoder *e, const uint8_t *values, int64_t width, const uint8_t *valid, int64_t first,
                               int64_t n, int32_t *codes)
{
    uint64_t key[BATCH], at[BATCH];
    for (int64_t low = 0; low < n; low += BATCH) {
        const int rows = n - low < BATCH ? (int)(n - low) : BATCH;
        if (e->n > INT32_MAX - BATCH) return TOO_MANY;
        if (!encoder_grow(e, BATCH)) return NO_MEMORY;
        for (int k = 0; k < rows; k++) {
            key[k] = 0;
            memcpy(&key[k], values + (first + low + k) * width, (size_t)width);
            at[k] = slot_of(e, key[k], 0);
            PREFETCH(e->slot + at[k]);
        }
        for (int k = 0; k < rows; k++) {
            if (!is_valid(valid, first + low + k)) {
                codes[low + k] = -1;
                continue;
            }
            Slot *slot = e->slot + at[k];
            while (slot->code >= 0 && slot->key != key[k]) slot = e->slot + (at[k] = (at[k] + 1) & e->mask);
            if (slot->code < 0) {
                if (!encoder_keep(e, values + (first + low + k) * width, width)) return NO_MEMORY;
                slot->key = key[k];
                slot->size = 0;
                slot->code = (int32_t)(e->n - 1);
            }
            codes[low + k] = slot->code;
        }
    }
    return ENCODED;
}

/* --- from Python --- */

/* encoder(seed) */
static PyObject *py_encoder(PyObject *self, PyObject *args)
{
    unsigned long long seed;
    (void)self;
    if (!PyArg_ParseTuple(args, "K", &seed)) return NULL;
    Encoder *e = calloc(1, sizeof *e);
    if (e) {
        e->mask = 1023; /* 1024 slots at first: they fit in the first-level cache */
        e->seed = seed;
        e->factor = mixed_bits(seed) | 1;
    }
    if (!e || !encoder_grow(e, BATCH)) {
        encoder_free(e);
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(e, encoder_name, encoder_destroy);
    if (!capsule) encoder_free(e);
    return capsule;
}

/* encode(encoder, offsets or None, values, validity or None, width, first, codes): write every entry of `codes`. */
static PyObject *py_encode(PyObject *self, PyObject *args)
{
    PyObject *capsule, *array[4];
    long long width, first;
    Py_buffer view[4];
    int held = 0;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOOOLLO", &capsule, &array[0], &array[1], &array[2], &width, &first, &array[3]))
        return NULL;
    Encoder *e = PyCapsule_GetPointer(capsule, encoder_name);
    if (!e) return NULL;
    memset(view, 0, sizeof view);
    for (; held < 4; held++)
        if (array[held] != Py_None &&
            PyObject_GetBuffer(array[held], &view[held], held == 3 ? PyBUF_WRITABLE : PyBUF_SIMPLE) < 0)
            goto done;
    const int64_t n = view[3].len / (Py_ssize_t)sizeof(int32_t);
    const int is_text = array[0] != Py_None;
    const int64_t room = is_text ? view[0].len / (width > 0 ? width : 1) - 1 : view[1].len / (width > 0 ? width : 1);
    const int known_width = is_text ? width == 4 || width == 8 : width == 1 || width == 2 || width == 4 || width == 8;
    if (!known_width || first < 0 || n > room - first || (view[2].buf && view[2].len < (first + n + 7) / 8)) {
        PyErr_SetString(PyExc_ValueError, "the buffers of a column are shorter than its rows");
        goto done;
    }
    Outcome outcome;
    PyThreadState *others = PyEval_SaveThread();
    if (is_text)
        outcome = encode_text(e, view[0].buf, width == 8, view[1].buf, view[1].len, view[2].buf, first, n, view[3].buf);
    else
        outcome = encode_integers(e, view[1].buf, width, view[2].buf, first, n, view[3].buf);
    PyEval_RestoreThread(others);
    if (outcome == NO_MEMORY) PyErr_NoMemory();
    else if (outcome == BAD_OFFSETS) PyErr_SetString(PyExc_ValueError, "the offsets of a column of text are out of range");
    else if (outcome == TOO_MANY) PyErr_SetString(PyExc_OverflowError, "a column has more than 2^31 distinct values");
    else result = Py_NewRef(Py_None);
done:
    while (held > 0)
        if (view[--held].obj) PyBuffer_Release(&view[held]);
    return result;
}

/* encoded(encoder): return the number of distinct values, their ends as int64, and their bytes. */
static PyObject *py_encoded(PyObject *self, PyObject *capsule)
{
    (void)self;
    Encoder *e = PyCapsule_GetPointer(capsule, encoder_name);
    if (!e) return NULL;
    return Py_BuildValue("Ly#y#", (long long)e->n, (const char *)e->end, (Py_ssize_t)(e->n * (int64_t)sizeof *e->end),
                         e->bytes ? (const char *)e->bytes : "", (Py_ssize_t)e->n_bytes); /* a null pointer would give None */
}

/* recode(codes, table): replace each code by table[code], in place; -1 stays. */
static PyObject *py_recode(PyObject *self, PyObject *args)
{
    PyObject *array[2];
    Py_buffer view[2];
    (void)self;
    if (!PyArg_ParseTuple(args, "OO", &array[0], &array[1])) return NULL;
    if (PyObject_GetBuffer(array[0], &view[0], PyBUF_WRITABLE) < 0) return NULL;
    if (PyObject_GetBuffer(array[1], &view[1], PyBUF_SIMPLE) < 0) {
        PyBuffer_Release(&view[0]);
        return NULL;
    }
    int32_t *codes = view[0].buf;
    const int32_t *table = view[1].buf;
    const int64_t n = view[0].len / (Py_ssize_t)sizeof *codes;
    const int64_t n_table = view[1].len / (Py_ssize_t)sizeof *table;
    int is_within = 1;
    PyThreadState *others = PyEval_SaveThread();
    for (int64_t k = 0; k < n; k++) {
        if (codes[k] < 0) continue;
        if (codes[k] >= n_table) {
            is_within = 0;
            break;
        }
        codes[k] = table[codes[k]];
    }
    PyEval_RestoreThread(others);
    PyBuffer_Release(&view[0]);
    PyBuffer_Release(&view[1]);
    if (!is_within) {
        PyErr_SetString(PyExc_ValueError, "a code lies beyond the table");
        return NULL;
    }
    return Py_NewRef(Py_None);
}
