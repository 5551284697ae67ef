/* guards.c - GuardTree: guards over the sources of a part, each source fetched once a check.
 *
 * Guards are checked in their order and sources are fetched when the first guard needs them; since
 * a check ends at the first failure, what is fetched when is known beforehand, and the tree is a
 * straight line of rows.
 */
#include "guards.h"

#define SMALL_SLOTS 48

typedef struct {
    PyObject_HEAD
    PyObject *specification;    /* owns every object in the rows; NULL once cleared */
    int n_sources;
    SourceRow *sources;
    Py_ssize_t n_guards;
    GuardRow *guards;
    bool measures;              /* largest is kept */
    Py_ssize_t largest;         /* elements of the largest array guarded, when all held last */
} GuardTree;

/* ---- the check ------------------------------------------------------------------------------ */

static bool is_expected_object(const GuardRow *row, PyObject *object)
{
    if (row->number == 0) {
        return object == row->payload;
    }
    /* A dead reference refers to None, to which there are no weak references. */
    return ((PyWeakReference *)row->payload)->wr_object == object && object != Py_None;
}

static bool equals(const GuardRow *row, Slot *slot)
{
    if ((slot->flags & SLOT_NUMBER) && slot->object == NULL) {
        return row->has_integer && row->integer == slot->number;
    }
    return bcjit_equals_exactly(slot->object, row->payload);
}

static void drop(Slot *slot)
{
    if (slot->flags & SLOT_OWNED) {
        Py_XDECREF(slot->object);
    }
}

static bool absent(Check *check, const GuardRow *row, PyObject *value)
{
    if (PyModule_CheckExact(value)) {
        value = PyModule_GetDict(value);
    }
    if (PyDict_CheckExact(value)) {
        Slot found = {NULL, 0, 0};
        int present = bcjit_check_dict_get(check, value, row->payload, row->hash, &found);
        drop(&found);
        return present == 0;
    }
    return PyType_Check(value) && PyUnicode_CheckExact(row->payload) &&
           _PyType_Lookup((PyTypeObject *)value, row->payload) == NULL;
}

static bool no_instance_attr(Check *check, GuardRow *row, PyObject *value)
{
    Slot found = {NULL, 0, 0};
    Py_ssize_t hint = 0;
    enum attribute answer =
        bcjit_instance_attribute(check, value, row->payload, row->hash, &hint, &found);
    if (answer == ATTRIBUTE_COMPUTED) {
        /* The class answers first; the instance must not have the name all the same. */
        int present = bcjit_instance_dict_get(check, value, row->payload, row->hash, &hint, &found);
        answer = present == 0 ? ATTRIBUTE_ABSENT : ATTRIBUTE_OPAQUE;
    }
    drop(&found);
    return answer == ATTRIBUTE_ABSENT;
}

static bool unbound_cell(Check *check, const GuardRow *row)
{
    PyObject *cells = row->source < 0 ? bcjit_check_cells(check)
                                      : bcjit_slot_object(check, &check->slots[row->source]);
    PyObject *cell = bcjit_cell_at(cells, row->number);
    return cell != NULL && PyCell_GET(cell) == NULL;
}

static bool guard_holds(Check *check, GuardRow *row)
{
    switch (row->kind) {
    case GUARD_UNBOUND_CELL: return unbound_cell(check, row);
    case GUARD_EQUALS: return equals(row, &check->slots[row->source]);
    case GUARD_PRESENT: return true;        /* its source has been fetched */
    default: break;
    }
    PyObject *value = bcjit_slot_object(check, &check->slots[row->source]);
    if (value == NULL) {
        return false;
    }
    if (row->kind == GUARD_IDENTITY) {
        return is_expected_object(row, value);
    }
    if (row->kind == GUARD_TYPE) {
        return is_expected_object(row, (PyObject *)Py_TYPE(value));
    }
    switch (row->kind) {
    case GUARD_ABSENT: return absent(check, row, value);
    case GUARD_NO_INSTANCE_ATTR: return no_instance_attr(check, row, value);
    case GUARD_KEYS: return bcjit_keys_hold(value, row->payload);
    case GUARD_OTHER_ARRAY: return bcjit_is_other_array(value);
    default: break;
    }
    PyObject *other = bcjit_slot_object(check, &check->slots[row->other]);
    if (row->kind == GUARD_OVERLAP) {
        return other != NULL && bcjit_arrays_overlap(value, other, row->number != 0);
    }
    return other != NULL && (value == other) == (row->number != 0);
}

/* The kinds that almost every check has come first and by comparison: one indirect jump for all
 * kinds, as of a switch, is mispredicted at nearly every row. */
static inline bool fetch(Check *check, SourceRow *row)
{
    if (BCJIT_LIKELY(row->kind == SOURCE_LOCAL)) {
        return bcjit_fetch_local(check, row);
    }
    Slot *slot = &check->slots[check->fetched];
    if (row->kind == SOURCE_GLOBAL) {
        PyObject *globals = ((PyFunctionObject *)check->func)->func_globals;
        return bcjit_fetch_from_dict(check, globals, row, slot);
    }
    if (row->base < 0) {
        return bcjit_fetch_root(check, row, slot);
    }
    PyObject *base = bcjit_slot_object(check, &check->slots[row->base]);
    if (base == NULL) {
        return false;
    }
    if (row->kind == SOURCE_SHAPE) {
        Py_ssize_t size = bcjit_array_size(base, row->number);
        bcjit_slot_number(slot, size);
        return size >= 0;
    }
    if (row->kind == SOURCE_MODULE_ATTR) {
        return PyModule_CheckExact(base) &&
               bcjit_fetch_from_dict(check, PyModule_GetDict(base), row, slot);
    }
    return bcjit_fetch_step(check, row, base, slot);
}

/* A size compared with a constant or another size, as most facts are. */
static inline bool relation_holds(Check *check, const RelationProgram *program)
{
    if (BCJIT_LIKELY(program->simple)) {
        const Instruction *second = &program->instructions[1];
        const Slot *left = &check->slots[program->symbols[program->instructions[0].operand]];
        if (second->operation == OP_CONSTANT) {
            if (left->flags & SLOT_NUMBER) {
                return bcjit_compare(program->comparison, left->number, second->operand);
            }
        }
        else {
            const Slot *right = &check->slots[program->symbols[second->operand]];
            if (left->flags & right->flags & SLOT_NUMBER) {
                return bcjit_compare(program->comparison, left->number, right->number);
            }
        }
    }
    return bcjit_relation_holds(check, program);
}

static inline bool holds(Check *check, GuardRow *row)
{
    if (BCJIT_LIKELY(row->kind == GUARD_ARRAY)) {
        /* No number is an array: the slot holds an object, or nothing as yet. */
        PyObject *value = check->slots[row->source].object;
        return value != NULL && bcjit_array_holds(row, value);
    }
    if (row->kind == GUARD_RELATION) {
        return relation_holds(check, row->relation);
    }
    return guard_holds(check, row);
}

static Py_ssize_t run(const GuardTree *tree, Check *check)
{
    for (Py_ssize_t i = 0; i < tree->n_guards; i++) {
        GuardRow *row = &tree->guards[i];
        for (; check->fetched < row->ready; check->fetched++) {
            if (!fetch(check, &tree->sources[check->fetched])) {
                return i;
            }
        }
        if (row->kind == GUARD_OVERLAP && row->pairs != NULL) {
            int n = bcjit_pairs_hold(row->pairs, row, check->slots);
            if (n < row->pairs->n_pairs) {
                return i + n;
            }
            i += n - 1;
        }
        else if (!holds(check, row)) {
            return i;
        }
    }
    return -1;
}

static Py_ssize_t largest_array(const GuardTree *tree, const Check *check)
{
    Py_ssize_t largest = 0;
    for (Py_ssize_t i = 0; i < tree->n_guards; i++) {
        if (tree->guards[i].kind == GUARD_ARRAY) {
            Py_ssize_t size = bcjit_array_elements(check->slots[tree->guards[i].source].object);
            largest = Py_MAX(largest, size);
        }
    }
    return largest;
}

void bcjit_guards_measure(PyObject *tree) { ((GuardTree *)tree)->measures = true; }

Py_ssize_t bcjit_guards_largest(PyObject *tree) { return ((GuardTree *)tree)->largest; }

Py_ssize_t bcjit_guards_check(PyObject *object, PyObject *const *values, Py_ssize_t nvalues,
                              PyObject *func, PyObject *closure)
{
    GuardTree *tree = (GuardTree *)object;
    if (tree->specification == NULL) {
        return 0;
    }
    Slot small[SMALL_SLOTS];
    Check check = {values, nvalues, func, closure == Py_None ? NULL : closure, small, 0, false};
    if (tree->n_sources > SMALL_SLOTS) {
        check.slots = PyMem_Malloc(tree->n_sources * sizeof(Slot));
        if (check.slots == NULL) {
            return 0;
        }
    }
    Py_ssize_t failed = run(tree, &check);
    if (tree->measures && failed < 0) {
        tree->largest = largest_array(tree, &check);
    }
    if (check.owned) {
        for (int i = 0; i < check.fetched; i++) {
            drop(&check.slots[i]);
        }
    }
    if (check.slots != small) {
        PyMem_Free(check.slots);
    }
    return failed;
}

/* ---- from the specification ----------------------------------------------------------------- */

static bool parse_source(SourceRow *row, PyObject *item, int place)
{
    int kind;
    if (!PyTuple_Check(item) ||
        !PyArg_ParseTuple(item, "iiOn", &kind, &row->base, &row->key, &row->number)) {
        return false;
    }
    bool is_root = kind == SOURCE_LOCAL || kind == SOURCE_GLOBAL || kind == SOURCE_BUILTIN ||
                   kind == SOURCE_CELL || kind == SOURCE_GLOBALS || kind == SOURCE_BUILTINS;
    if (kind < 0 || kind >= SOURCE_KINDS || row->base >= place || is_root != (row->base < 0)) {
        return false;
    }
    row->kind = (enum source_kind)kind;
    bool named = kind == SOURCE_GLOBAL || kind == SOURCE_BUILTIN || kind == SOURCE_ATTR ||
                 kind == SOURCE_MODULE_ATTR || kind == SOURCE_MRO;
    if (named && !PyUnicode_CheckExact(row->key)) {
        return false;
    }
    if (kind == SOURCE_ITEM && (PyLong_CheckExact(row->key) || PyBool_Check(row->key))) {
        row->number = PyLong_AsSsize_t(row->key);
        row->has_index = row->number != -1 || !PyErr_Occurred();
        PyErr_Clear();          /* an index that large is in no list */
    }
    row->hash = PyObject_Hash(row->key);
    return row->hash != -1 && (kind != SOURCE_MEMBER || (row->number >= 0 && row->number < MEMBERS));
}

static bool is_expected_valid(GuardRow *row)
{
    switch (row->kind) {
    case GUARD_TYPE:
    case GUARD_IDENTITY: return row->number == 0 || PyWeakref_CheckRefExact(row->payload);
    case GUARD_ARRAY:
        if (!bcjit_is_dtype(row->payload)) {
            return false;
        }
        bcjit_array_row(row);
        return true;
    case GUARD_EQUALS:
        if (PyLong_CheckExact(row->payload)) {
            int overflow;
            row->integer = PyLong_AsLongLongAndOverflow(row->payload, &overflow);
            row->has_integer = !overflow;
        }
        return true;
    case GUARD_ABSENT:
    case GUARD_NO_INSTANCE_ATTR:
        row->hash = PyObject_Hash(row->payload);
        return row->hash != -1 &&
               (row->kind == GUARD_ABSENT || PyUnicode_CheckExact(row->payload));
    case GUARD_KEYS: return PyTuple_CheckExact(row->payload);
    case GUARD_RELATION:
        row->relation = bcjit_relation_parse(row->payload, row->ready);
        return row->relation != NULL;
    case GUARD_SAME_OBJECT:
    case GUARD_OVERLAP: {
        long other = PyLong_AsLong(row->payload);
        row->other = (int)other;
        return other >= 0 && other < row->ready;
    }
    default: return true;
    }
}

static bool parse_guard(GuardRow *row, PyObject *item, int ready_before, int n_sources)
{
    int kind;
    if (!PyTuple_Check(item) || !PyArg_ParseTuple(item, "iiiOn", &kind, &row->source, &row->ready,
                                                  &row->payload, &row->number)) {
        return false;
    }
    bool may_lack_source = kind == GUARD_RELATION || kind == GUARD_UNBOUND_CELL;
    if (kind < 0 || kind >= GUARD_KINDS || row->ready < ready_before || row->ready > n_sources ||
        row->source >= row->ready || row->source < (may_lack_source ? -1 : 0)) {
        return false;
    }
    row->kind = (enum guard_kind)kind;
    return is_expected_valid(row);
}

static int place_in(Pairs *pairs, int source)
{
    for (int i = 0; i < pairs->n_sources; i++) {
        if (pairs->sources[i] == source) {
            return i;
        }
    }
    pairs->sources[pairs->n_sources] = source;
    return pairs->n_sources++;
}

/* Has rows of pairs that need the same sources to be there be checked together: the extents of an array are found once. */
static bool pair_up(GuardRow *rows, Py_ssize_t n)
{
    for (Py_ssize_t first = 0; first < n; first++) {
        Py_ssize_t last = first;
        while (last < n && rows[last].kind == GUARD_OVERLAP && rows[last].ready == rows[first].ready) {
            last++;
        }
        if (last - first < 3 || last - first > INT_MAX) {
            continue;
        }
        int n_pairs = (int)(last - first);
        Pairs *pairs = PyMem_Calloc(1, sizeof(Pairs) + (size_t)n_pairs * 4 * sizeof(int));
        if (pairs == NULL) {
            PyErr_NoMemory();
            return false;
        }
        pairs->n_pairs = n_pairs;
        pairs->places = (int (*)[2])(pairs + 1);
        pairs->sources = (int *)(pairs->places + n_pairs);
        for (int i = 0; i < n_pairs; i++) {
            pairs->places[i][0] = place_in(pairs, rows[first + i].source);
            pairs->places[i][1] = place_in(pairs, rows[first + i].other);
        }
        if (pairs->n_sources > PAIRED_SOURCES) {
            PyMem_Free(pairs);
        }
        else {
            rows[first].pairs = pairs;
        }
        first = last - 1;
    }
    return true;
}

static bool parse(GuardTree *tree, PyObject *sources, PyObject *guards)
{
    tree->n_sources = (int)PyTuple_GET_SIZE(sources);
    tree->sources = PyMem_Calloc(tree->n_sources + 1, sizeof(SourceRow));
    tree->guards = PyMem_Calloc(PyTuple_GET_SIZE(guards) + 1, sizeof(GuardRow));
    if (tree->sources == NULL || tree->guards == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (int i = 0; i < tree->n_sources; i++) {
        if (!parse_source(&tree->sources[i], PyTuple_GET_ITEM(sources, i), i)) {
            return false;
        }
    }
    int ready = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(guards); i++) {
        tree->n_guards = i + 1; /* what is half made is freed */
        if (!parse_guard(&tree->guards[i], PyTuple_GET_ITEM(guards, i), ready, tree->n_sources)) {
            return false;
        }
        ready = tree->guards[i].ready;
    }
    return pair_up(tree->guards, tree->n_guards);
}

/* ---- the type ------------------------------------------------------------------------------- */

static PyObject *tree_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"spec", NULL};
    PyObject *specification, *sources, *guards;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!:GuardTree", names, &PyTuple_Type,
                                     &specification) ||
        !PyArg_ParseTuple(specification, "O!O!;spec: (sources, guards) is expected", &PyTuple_Type,
                          &sources, &PyTuple_Type, &guards)) {
        return NULL;
    }
    GuardTree *tree = (GuardTree *)type->tp_alloc(type, 0);
    if (tree == NULL) {
        return NULL;
    }
    tree->specification = Py_NewRef(specification);
    if (!parse(tree, sources, guards)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "spec: rows as bcjit.guards.compile makes them are expected");
        }
        Py_DECREF(tree);
        return NULL;
    }
    return (PyObject *)tree;
}

static int tree_traverse(GuardTree *tree, visitproc visit, void *arg)
{
    Py_VISIT(tree->specification);
    return 0;
}

static int tree_clear(GuardTree *tree)
{
    Py_CLEAR(tree->specification);
    return 0;
}

static void tree_dealloc(GuardTree *tree)
{
    PyObject_GC_UnTrack(tree);
    tree_clear(tree);
    for (Py_ssize_t i = 0; i < tree->n_guards; i++) {
        bcjit_relation_free(tree->guards[i].relation);
        PyMem_Free(tree->guards[i].pairs);
    }
    PyMem_Free(tree->guards);
    PyMem_Free(tree->sources);
    Py_TYPE(tree)->tp_free((PyObject *)tree);
}

static PyObject *tree_check(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs < 2 || nargs > 3 || !PyTuple_Check(args[0]) || !PyFunction_Check(args[1]) ||
        (nargs == 3 && args[2] != Py_None && !PyTuple_CheckExact(args[2]))) {
        PyErr_SetString(PyExc_TypeError, "check(values: tuple, func: function, closure: tuple | None = None)");
        return NULL;
    }
    Py_INCREF(self);            /* foreign code may run: see bcjit_check_pin */
    Py_ssize_t failed = bcjit_guards_check(self, &PyTuple_GET_ITEM(args[0], 0),
                                           PyTuple_GET_SIZE(args[0]), args[1],
                                           nargs == 3 ? args[2] : NULL);
    Py_DECREF(self);
    return PyLong_FromSsize_t(failed);
}

static PyMethodDef tree_methods[] = {
    {"check", (PyCFunction)(void (*)(void))tree_check, METH_FASTCALL,
     "check(values, func, closure=None)\n--\n\n"
     "Return -1 if every guard holds, else the index of the first that fails."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject BcjitGuardTree_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "bcjit._core.GuardTree",
    .tp_doc = "GuardTree(spec)\n--\n\nGuards as bcjit.guards.compile.specification gives them.",
    .tp_basicsize = sizeof(GuardTree),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = tree_new,
    .tp_dealloc = (destructor)tree_dealloc,
    .tp_traverse = (traverseproc)tree_traverse,
    .tp_clear = (inquiry)tree_clear,
    .tp_methods = tree_methods,
};

int bcjit_guards_init(PyObject *module)
{
    if (bcjit_guard_values_init() < 0 || bcjit_sources_init() < 0) {
        return -1;
    }
    return PyModule_AddType(module, &BcjitGuardTree_Type);
}
