/* part.c - Entry (guards and residual code) and Part (plain code and its entries). */
#include "core.h"

/* ---- Entry ----------------------------------------------------------------------------------- */

/* The graphs that residual code calls are constants of it: they tell how long a run must keep its
 * values for a bail-out (not at all; until the one graph has succeeded; to the end). */
static void find_graph_calls(Entry *self)
{
    PyObject *constants = self->code->co_consts;
    self->graph_call = NULL;
    self->bails = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); i++) {
        PyObject *constant = PyTuple_GET_ITEM(constants, i);
        if (Py_IS_TYPE(constant, &BcjitGraphCall_Type)) {
            self->graph_call = self->bails ? NULL : constant;
            self->bails = 1;
        }
    }
}

/* direct: the places of the values that the only graph is called with. */
static int parse_direct(Entry *self, PyObject *direct)
{
    PyCodeObject *code = self->code;
    Py_ssize_t n = PyTuple_GET_SIZE(direct);
    if (self->graph_call == NULL || !self->returns || n > BCJIT_SMALL_VALUES) {
        PyErr_SetString(PyExc_ValueError, "direct is for code that returns what its graph gives");
        return -1;
    }
    self->direct = PyMem_New(Py_ssize_t, n + 1);
    if (self->direct == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    bool in_order = true;
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_ssize_t place = PyLong_AsSsize_t(PyTuple_GET_ITEM(direct, i));
        if (place < 0 || place >= code->co_argcount) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "direct: places of the code's arguments");
            }
            return -1;
        }
        self->direct[i] = place;
        in_order = in_order && place == i;
    }
    if (in_order) {
        PyMem_Free(self->direct);
        self->direct = NULL;
    }
    self->n_direct = n;
    return 0;
}

static bool parse_places(PyObject *tuple, Py_ssize_t low, Py_ssize_t high, Py_ssize_t *n,
                         Py_ssize_t *places)
{
    if (!PyTuple_CheckExact(tuple) || PyTuple_GET_SIZE(tuple) > BCJIT_SMALL_VALUES) {
        return false;
    }
    *n = PyTuple_GET_SIZE(tuple);
    for (Py_ssize_t i = 0; i < *n; i++) {
        places[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, i));
        if (places[i] < low || places[i] >= high || PyErr_Occurred()) {
            return false;
        }
    }
    return true;
}

static bool parse_side(Side *side, PyObject *given, Py_ssize_t low, Py_ssize_t high)
{
    PyObject *places;
    return PyTuple_CheckExact(given) &&
           PyArg_ParseTuple(given, "O!O", &BcjitPart_Type, &side->part, &places) &&
           parse_places(places, low, high, &side->n, side->places);
}

static bool parse_hand_over_spec(HandOver *to, PyObject *spec, Py_ssize_t n_values)
{
    PyObject *arguments, *sides;
    if (!PyTuple_CheckExact(spec) ||
        !PyArg_ParseTuple(spec, "OnnO!O!", &arguments, &to->n_outputs, &to->test, &PyTuple_Type,
                          &sides, &PyTuple_Type, &to->literals)) {
        return false;
    }
    Py_ssize_t low = -to->n_outputs - PyTuple_GET_SIZE(to->literals);
    if (to->n_outputs < 1 || to->test < -1 || to->test >= to->n_outputs ||
        PyTuple_GET_SIZE(sides) != (to->test < 0 ? 1 : 2) ||
        !parse_places(arguments, 0, n_values, &to->n_arguments, to->arguments)) {
        return false;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sides); i++) {
        if (!parse_side(&to->sides[i], PyTuple_GET_ITEM(sides, i), low, n_values)) {
            return false;
        }
    }
    return true;
}

static int parse_hand_over(Entry *self, PyObject *spec)
{
    self->hand_over = PyMem_Calloc(1, sizeof(HandOver));
    if (self->hand_over == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    self->hand_over_spec = Py_NewRef(spec);
    if (self->graph_call == NULL || self->returns ||
        !parse_hand_over_spec(self->hand_over, spec, self->code->co_argcount)) {
        if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_SetString(PyExc_ValueError,
                            "hand_over: (arguments, outputs, test, sides, literals) of code with "
                            "one graph that does not return");
        }
        return -1;
    }
    return 0;
}

static int Entry_init(Entry *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"guards", "code", "returns", "on_bailout", "tag", "direct",
                            "judged", "hand_over", NULL};
    PyObject *guards, *code, *on_bailout, *tag, *direct = Py_None, *hand_over = Py_None;
    int returns, judged = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!pOO|OpO:Entry", names, &BcjitGuardTree_Type,
                                     &guards, &PyCode_Type, &code, &returns, &on_bailout, &tag,
                                     &direct, &judged, &hand_over)) {
        return -1;
    }
    if (direct != Py_None && !PyTuple_CheckExact(direct)) {
        PyErr_SetString(PyExc_TypeError, "direct must be a tuple of ints or None");
        return -1;
    }
    if (self->code != NULL) {
        PyErr_SetString(PyExc_TypeError, "an Entry cannot be initialised twice");
        return -1;
    }
    self->guards = Py_NewRef(guards);
    self->code = (PyCodeObject *)Py_NewRef(code);
    self->returns = (char)returns;
    self->on_bailout = on_bailout == Py_None ? NULL : Py_NewRef(on_bailout);
    find_graph_calls(self);
    self->tag = Py_NewRef(tag);
    self->n_direct = -1;
    self->trial = judged ? bcjit_trial_new() : NULL;
    if (self->trial != NULL) {
        bcjit_guards_measure(guards);
    }
    if (hand_over != Py_None && parse_hand_over(self, hand_over) < 0) {
        return -1;
    }
    return direct == Py_None ? 0 : parse_direct(self, direct);
}

/* Residual code names parts and graph calls in its constants, and those lead back to the entry; but
 * code objects are invisible to the cycle collector. So an entry that is the only owner of its code
 * answers for the code's constants itself. Whoever else holds the code keeps all of it alive. */
static int Entry_visit_constants(Entry *self, visitproc visit, void *arg)
{
    Py_ssize_t owned = 1;
    if (self->function != NULL && Py_REFCNT(self->function) == 1) {
        owned++;
    }
    if (self->code != NULL && Py_REFCNT(self->code) == owned) {
        Py_VISIT(self->code->co_consts);
    }
    return 0;
}

static int Entry_traverse(Entry *self, visitproc visit, void *arg)
{
    Py_VISIT(self->guards);
    Py_VISIT(self->on_bailout);
    Py_VISIT(self->tag);
    Py_VISIT(self->function);
    Py_VISIT(self->hand_over_spec);
    return Entry_visit_constants(self, visit, arg);
}

static int Entry_clear(Entry *self)
{
    Py_CLEAR(self->function);
    Py_CLEAR(self->code);
    Py_CLEAR(self->guards);
    Py_CLEAR(self->on_bailout);
    Py_CLEAR(self->tag);
    HandOver *hand_over = self->hand_over;
    self->hand_over = NULL;                 /* what it borrows goes */
    PyMem_Free(hand_over);
    Py_CLEAR(self->hand_over_spec);
    return 0;
}

static void Entry_dealloc(Entry *self)
{
    PyObject_GC_UnTrack(self);
    if (self->weakrefs != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    Entry_clear(self);
    PyMem_Free(self->direct);
    bcjit_trial_free(self->trial);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef Entry_members[] = {
    {"guards", T_OBJECT_EX, offsetof(Entry, guards), READONLY, "The GuardTree."},
    {"code", T_OBJECT_EX, offsetof(Entry, code), READONLY, "The residual code."},
    {"on_bailout", T_OBJECT, offsetof(Entry, on_bailout), READONLY,
     "Asked where to resume when a graph fails."},
    {"tag", T_OBJECT_EX, offsetof(Entry, tag), READONLY, "The owner's."},
    {"hand_over", T_OBJECT, offsetof(Entry, hand_over_spec), READONLY,
     "What the code does, where that is no more than to hand over to the next part; or None."},
    {"returns", T_BOOL, offsetof(Entry, returns), READONLY,
     "Whether the code returns the function's value."},
    {"hits", T_PYSSIZET, offsetof(Entry, hits), 0, "How often the guards held."},
    {"plain_hits", T_PYSSIZET, offsetof(Entry, plain_hits), READONLY,
     "How many of those calls ran plain, as the cost model wanted."},
    {"unchecked", T_PYSSIZET, offsetof(Entry, unchecked), READONLY,
     "How many more calls it let run plain without a look at the guards, about."},
    {"bailouts", T_PYSSIZET, offsetof(Entry, bailouts), 0, "How often the graph failed."},
    {"plain", T_BOOL, offsetof(Entry, plain), 0, "Run the plain code when the guards hold."},
    {NULL}};

static PyObject *Entry_get_verdicts(Entry *self, void *Py_UNUSED(unused))
{
    return bcjit_trial_verdicts(self->trial);
}

static PyGetSetDef Entry_getset[] = {
    {"verdicts", (getter)Entry_get_verdicts, NULL,
     "For each range of sizes that was judged: (lowest, highest or -1, plain?, seconds plain, compiled, samples of "
     "plain, compiled).",
     NULL},
    {NULL}};

PyTypeObject BcjitEntry_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "bcjit._core.Entry",
    .tp_doc = "Guards, and the residual code that is right while they hold.",
    .tp_basicsize = sizeof(Entry),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)Entry_init,
    .tp_dealloc = (destructor)Entry_dealloc,
    .tp_traverse = (traverseproc)Entry_traverse,
    .tp_clear = (inquiry)Entry_clear,
    .tp_members = Entry_members,
    .tp_getset = Entry_getset,
    .tp_weaklistoffset = offsetof(Entry, weakrefs),
};

/* ---- Part: what the dispatcher and the driver ask -------------------------------------------- */

Py_ssize_t bcjit_process_number = 1;

PyObject *bcjit_after_fork(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    bcjit_process_number++;
    Py_RETURN_NONE;
}

Entry *bcjit_part_find(Part *part, PyObject *const *values, Py_ssize_t n, PyObject *func,
                       PyObject *closure)
{
    for (Py_ssize_t i = 0; i < part->n_entries; i++) {
        Entry *entry = (Entry *)Py_NewRef((PyObject *)part->entries[i]);
        if (bcjit_guards_check(entry->guards, values, n, func, closure) < 0) {
            return entry;
        }
        Py_DECREF(entry);
    }
    return NULL;
}

static void to_front(Part *part, Entry *entry, Py_ssize_t place)
{
    memmove(part->entries + 1, part->entries, (size_t)place * sizeof(Entry *));
    part->entries[0] = entry;
}

static Py_ssize_t place_of(Part *self, PyObject *entry)
{
    for (Py_ssize_t i = 0; i < self->n_entries; i++) {
        if ((PyObject *)self->entries[i] == entry) {
            return i;
        }
    }
    return -1;
}

Entry *bcjit_part_hit(Part *part, PyObject *const *values, Py_ssize_t n, PyObject *func,
                      PyObject *closure)
{
    Entry *entry = bcjit_part_find(part, values, n, func, closure);
    if (entry != NULL) {
        entry->hits++;
        if (BCJIT_UNLIKELY(part->n_entries > 0 && part->entries[0] != entry)) {
            Py_ssize_t place = place_of(part, (PyObject *)entry);
            if (place > 0) {
                to_front(part, entry, place);
            }
        }
    }
    return entry;
}

static PyObject *replaced_code(PyCodeObject *code, PyObject *changes)
{
    PyObject *replace = PyObject_GetAttrString((PyObject *)code, "replace");
    PyObject *none = replace == NULL || changes == NULL ? NULL : PyTuple_New(0);
    PyObject *result = none == NULL ? NULL : PyObject_Call(replace, none, changes);
    Py_XDECREF(none);
    Py_XDECREF(replace);
    Py_XDECREF(changes);
    return result;
}

/* Making code may collect garbage, and finalizers let other threads make the same: the first stays. */
static void keep_first(PyCodeObject **place, PyObject *made)
{
    if (*place == NULL) {
        *place = (PyCodeObject *)made;
    }
    else {
        Py_XDECREF(made);
    }
}

static int argument_count(PyCodeObject *code)
{
    return code->co_argcount + code->co_kwonlyargcount + !!(code->co_flags & CO_VARARGS) +
           !!(code->co_flags & CO_VARKEYWORDS);
}

/* The plain code taking its bound arguments, *args tuple and **kwargs dict too, positionally. */
PyCodeObject *bcjit_part_positional_code(Part *part)
{
    PyCodeObject *code = part->plain_code;
    int total = argument_count(code);
    if (total == code->co_argcount) {
        return code;
    }
    if (part->positional_code == NULL) {
        keep_first(&part->positional_code,
                   replaced_code(code, Py_BuildValue("{s:i,s:i,s:i,s:i}", "co_argcount", total,
                                                     "co_posonlyargcount", 0, "co_kwonlyargcount",
                                                     0, "co_flags",
                                                     code->co_flags &
                                                         ~(CO_VARARGS | CO_VARKEYWORDS))));
    }
    return part->positional_code;
}

/* Code with the variables of another that only returns None: it has no RESUME, so nothing
 * can observe it, and the evaluator that runs it in place of a frame's own code clears the frame.
 * Its frame has the size of the other's, so it fits where that one is. */
PyCodeObject *bcjit_cleanup_code(PyCodeObject *code)
{
    static const unsigned char bytes[] = {BCJIT_RETURN_NONE};
    return (PyCodeObject *)replaced_code(
        code, Py_BuildValue("{s:y#,s:(O),s:(),s:y#,s:y#}", "co_code", (const char *)bytes,
                            (Py_ssize_t)sizeof bytes, "co_consts", Py_None, "co_names",
                            "co_exceptiontable", "", (Py_ssize_t)0, "co_linetable", "",
                            (Py_ssize_t)0));
}

PyCodeObject *bcjit_part_cleanup_code(Part *part)
{
    if (part->cleanup_code == NULL) {
        keep_first(&part->cleanup_code, (PyObject *)bcjit_cleanup_code(part->plain_code));
    }
    return part->cleanup_code;
}

/* ---- Part: the Python type ------------------------------------------------------------------- */

static int Part_init(Part *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"plain_code", "on_miss", "tag", NULL};
    PyObject *code, *on_miss, *tag;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OO:Part", names, &PyCode_Type, &code,
                                     &on_miss, &tag)) {
        return -1;
    }
    if (self->plain_code != NULL) {
        PyErr_SetString(PyExc_TypeError, "a Part cannot be initialised twice");
        return -1;
    }
    self->plain_code = (PyCodeObject *)Py_NewRef(code);
    self->on_miss = on_miss == Py_None ? NULL : Py_NewRef(on_miss);
    self->tag = Py_NewRef(tag);
    return 0;
}

static int Part_traverse(Part *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    Py_VISIT(self->on_miss);
    Py_VISIT(self->tag);
    for (Py_ssize_t i = 0; i < self->n_entries; i++) {
        Py_VISIT(self->entries[i]);
    }
    return 0;
}

static void drop_entries(Part *self)
{
    Entry **entries = self->entries;
    Py_ssize_t n = self->n_entries;
    self->entries = NULL;
    self->n_entries = 0;
    self->plain_streak = self->unchecked = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_DECREF(entries[i]);
    }
    PyMem_Free(entries);
}

static int Part_clear_references(Part *self)
{
    drop_entries(self);
    Py_CLEAR(self->function);
    Py_CLEAR(self->on_miss);
    Py_CLEAR(self->tag);
    return 0;
}

static void Part_dealloc(Part *self)
{
    PyObject_GC_UnTrack(self);
    if (self->weakrefs != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    Part_clear_references(self);
    Py_CLEAR(self->plain_code);
    Py_CLEAR(self->positional_code);
    Py_CLEAR(self->cleanup_code);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *Part_add(Part *self, PyObject *entry)
{
    if (!Py_IS_TYPE(entry, &BcjitEntry_Type) || ((Entry *)entry)->code == NULL) {
        PyErr_Format(PyExc_TypeError, "Part.add takes an Entry, not %.100s",
                     Py_TYPE(entry)->tp_name);
        return NULL;
    }
    if (place_of(self, entry) >= 0) {
        PyErr_SetString(PyExc_ValueError, "the entry is already in this part");
        return NULL;
    }
    Entry **grown = PyMem_Realloc(self->entries, (size_t)(self->n_entries + 1) * sizeof(Entry *));
    if (grown == NULL) {
        return PyErr_NoMemory();
    }
    self->entries = grown;
    self->n_entries++;
    to_front(self, (Entry *)Py_NewRef(entry), self->n_entries - 1);
    Py_RETURN_NONE;
}

static PyObject *Part_remove(Part *self, PyObject *entry)
{
    Py_ssize_t i = place_of(self, entry);
    if (i < 0) {
        PyErr_SetString(PyExc_ValueError, "the entry is not in this part");
        return NULL;
    }
    self->n_entries--;
    memmove(self->entries + i, self->entries + i + 1,
            (size_t)(self->n_entries - i) * sizeof(Entry *));
    Py_DECREF(entry);
    Py_RETURN_NONE;
}

static PyObject *Part_clear(Part *self, PyObject *Py_UNUSED(ignored))
{
    drop_entries(self);
    Py_RETURN_NONE;
}

static PyObject *Part_find(Part *self, PyObject *args)
{
    PyObject *func, *closure, *values;
    if (!PyArg_ParseTuple(args, "O!OO!:find", &PyFunction_Type, &func, &closure, &PyTuple_Type,
                          &values)) {
        return NULL;
    }
    if (closure != Py_None && !PyTuple_CheckExact(closure)) {
        PyErr_SetString(PyExc_TypeError, "closure must be a tuple of cells or None");
        return NULL;
    }
    Entry *entry =
        bcjit_part_find(self, ((PyTupleObject *)values)->ob_item, PyTuple_GET_SIZE(values), func,
                        closure == Py_None ? NULL : closure);
    return entry == NULL ? Py_NewRef(Py_None) : (PyObject *)entry;
}

static PyObject *Part_get_entries(Part *self, void *Py_UNUSED(unused))
{
    for (;;) {
        /* Making a tuple may collect garbage, and finalizers may change the entries. */
        Py_ssize_t n = self->n_entries;
        PyObject *tuple = PyTuple_New(n);
        if (tuple == NULL) {
            return NULL;
        }
        if (n == self->n_entries) {
            for (Py_ssize_t i = 0; i < n; i++) {
                PyTuple_SET_ITEM(tuple, i, Py_NewRef((PyObject *)self->entries[i]));
            }
            return tuple;
        }
        Py_DECREF(tuple);
    }
}

static PyObject *Part_get_busy(Part *self, void *Py_UNUSED(unused))
{
    return PyBool_FromLong(bcjit_part_is_busy(self));
}

static PyObject *Part_get_on_miss(Part *self, void *Py_UNUSED(unused))
{
    return Py_NewRef(self->on_miss == NULL ? Py_None : self->on_miss);
}

static int Part_set_on_miss(Part *self, PyObject *value, void *Py_UNUSED(unused))
{
    if (value == NULL) {
        PyErr_SetString(PyExc_TypeError, "on_miss cannot be deleted; set it to None");
        return -1;
    }
    PyObject *old = self->on_miss;
    self->on_miss = value == Py_None ? NULL : Py_NewRef(value);
    Py_XDECREF(old);
    return 0;
}

static PyMethodDef Part_methods[] = {
    {"add", (PyCFunction)Part_add, METH_O, "Put an entry first."},
    {"remove", (PyCFunction)Part_remove, METH_O, "Take an entry out."},
    {"clear", (PyCFunction)Part_clear, METH_NOARGS, "Take all entries out."},
    {"find", (PyCFunction)Part_find, METH_VARARGS,
     "find(func, closure, values): the entry whose guards hold, or None; changes nothing."},
    {NULL}};

static PyMemberDef Part_members[] = {
    {"plain_code", T_OBJECT_EX, offsetof(Part, plain_code), READONLY, "Original or resume code."},
    {"tag", T_OBJECT, offsetof(Part, tag), 0, "The owner's."},
    {"skip", T_BOOL, offsetof(Part, skip), 0, "Always run the plain code."},
    {"misses", T_PYSSIZET, offsetof(Part, misses), 0, "How often no entry's guards held."},
    {NULL}};

static PyGetSetDef Part_getset[] = {
    {"entries", (getter)Part_get_entries, NULL, "The entries, most recently used first.", NULL},
    {"busy", (getter)Part_get_busy, NULL, "Whether on_miss is running.", NULL},
    {"on_miss", (getter)Part_get_on_miss, (setter)Part_set_on_miss,
     "on_miss(part, func, closure, values) -> Entry | None; None: never compile.", NULL},
    {NULL}};

PyTypeObject BcjitPart_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "bcjit._core.Part",
    .tp_doc = "A piece of a code object, from one position on: plain code and entries.",
    .tp_basicsize = sizeof(Part),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)Part_init,
    .tp_dealloc = (destructor)Part_dealloc,
    .tp_traverse = (traverseproc)Part_traverse,
    .tp_clear = (inquiry)Part_clear_references,
    .tp_methods = Part_methods,
    .tp_members = Part_members,
    .tp_getset = Part_getset,
    .tp_weaklistoffset = offsetof(Part, weakrefs),
};
