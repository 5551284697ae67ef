/* codeslot.c - what is remembered for a code object, in its extra slot: one object of the owner's
 * choice, and what residual code calls instead of the function. All of it dies with the code, and
 * none of it keeps the function or a compiled function alive. */
#include "core.h"

typedef struct {                            /* weak where the object allows it */
    PyObject *object;
    bool weak;
} Ref;

typedef struct {
    Ref tag;
    Ref callable;                           /* object NULL: call the function itself */
    Ref part;                               /* of a dispatcher: with it, another is soon made */
} Callee;

typedef struct {
    Ref owner;
    Callee *callees;
    Py_ssize_t n_callees;
    Watch watch;
} Slot;

static Py_ssize_t extra_index = -1;
static PyObject *callee_factory;
static PyObject *call_name;                 /* "__call__" */

static int ref_init(Ref *ref, PyObject *object)
{
    ref->weak = true;
    ref->object = PyWeakref_NewRef(object, NULL);
    if (ref->object == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) {
            return -1;
        }
        PyErr_Clear();
        ref->weak = false;
        ref->object = Py_NewRef(object);
    }
    return 0;
}

/* The object (new reference), or NULL when it is dead or was never there; no error. */
static PyObject *ref_get(Ref *ref)
{
    if (ref->object == NULL || !ref->weak) {
        return Py_XNewRef(ref->object);
    }
    PyObject *object = PyObject_CallNoArgs(ref->object);
    if (object == Py_None) {
        Py_CLEAR(object);
    }
    return object;
}

static void callee_drop(Callee *callee)
{
    Callee dropped = *callee;
    *callee = (Callee){{NULL, false}, {NULL, false}, {NULL, false}};
    Py_XDECREF(dropped.tag.object);
    Py_XDECREF(dropped.callable.object);
    Py_XDECREF(dropped.part.object);
}

static void slot_free(void *memory)
{
    Slot *slot = memory;
    if (slot == NULL) {
        return;
    }
    Py_XDECREF(slot->owner.object);
    for (Py_ssize_t i = 0; i < slot->n_callees; i++) {
        callee_drop(&slot->callees[i]);
    }
    PyMem_Free(slot->callees);
    Py_XDECREF(slot->watch.part);
    PyMem_Free(slot);
}

int bcjit_codeslot_init(void)
{
    if (call_name == NULL && (call_name = PyUnicode_InternFromString("__call__")) == NULL) {
        return -1;
    }
    if (extra_index < 0) {
        extra_index = bcjit_request_extra_index(slot_free);
    }
    if (extra_index < 0) {
        PyErr_SetString(PyExc_ImportError, "bcjit: no extra slot of code objects is left");
        return -1;
    }
    return 0;
}

static Slot *slot_of(PyObject *code)
{
    void *memory = NULL;
    if (bcjit_code_get_extra(code, extra_index, &memory) < 0) {
        PyErr_Clear();
    }
    return memory;
}

static Slot *slot_made(PyObject *code)
{
    Slot *slot = slot_of(code);
    if (slot == NULL) {
        slot = PyMem_Calloc(1, sizeof(Slot));
        if (slot == NULL) {
            PyErr_NoMemory();
        }
        else if (bcjit_code_set_extra(code, extra_index, slot) < 0) {
            PyMem_Free(slot);
            slot = NULL;
        }
    }
    return slot;
}

Watch *bcjit_code_watch(PyCodeObject *code)
{
    Slot *slot = slot_of((PyObject *)code);
    return slot == NULL ? NULL : &slot->watch;
}

Watch *bcjit_code_watch_made(PyCodeObject *code)
{
    Slot *slot = slot_made((PyObject *)code);
    return slot == NULL ? NULL : &slot->watch;
}

static int check_code(PyObject *code)
{
    if (PyCode_Check(code)) {
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "a code object was expected, not %.100s", Py_TYPE(code)->tp_name);
    return -1;
}

PyObject *bcjit_get_code_slot(PyObject *Py_UNUSED(module), PyObject *code)
{
    if (check_code(code) < 0) {
        return NULL;
    }
    Slot *slot = slot_of(code);
    PyObject *object = slot == NULL ? NULL : ref_get(&slot->owner);
    return object == NULL ? Py_NewRef(Py_None) : object;
}

PyObject *bcjit_set_code_slot(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *code, *object;
    if (!PyArg_ParseTuple(args, "OO:set_code_slot", &code, &object) || check_code(code) < 0) {
        return NULL;
    }
    Ref ref = {NULL, false};
    if (object != Py_None && ref_init(&ref, object) < 0) {
        return NULL;
    }
    Slot *slot = object == Py_None ? slot_of(code) : slot_made(code);
    if (slot == NULL) {
        Py_XDECREF(ref.object);
        if (PyErr_Occurred()) {
            return NULL;
        }
        Py_RETURN_NONE;
    }
    PyObject *old = slot->owner.object;
    slot->owner = ref;
    Py_XDECREF(old);
    Py_RETURN_NONE;
}

PyObject *bcjit_leave_alone(PyObject *Py_UNUSED(module), PyObject *code)
{
    Watch *watch = check_code(code) < 0 ? NULL : bcjit_code_watch_made((PyCodeObject *)code);
    if (watch == NULL) {
        return NULL;
    }
    watch->leave = true;
    Py_CLEAR(watch->part);
    Py_RETURN_NONE;
}

/* ---- callees ---------------------------------------------------------------------------------------- */

PyObject *bcjit_set_callee_factory(PyObject *Py_UNUSED(module), PyObject *factory)
{
    if (factory != Py_None && !PyCallable_Check(factory)) {
        PyErr_SetString(PyExc_TypeError, "factory must be callable or None");
        return NULL;
    }
    PyObject *old = callee_factory;
    callee_factory = factory == Py_None ? NULL : Py_NewRef(factory);
    Py_XDECREF(old);
    Py_RETURN_NONE;
}

static bool ref_is(Ref *ref, PyObject *object)
{
    PyObject *present = ref_get(ref);
    Py_XDECREF(present);                    /* the caller holds object: nothing dies here */
    return present == object;
}

static Callee *find_callee(Slot *slot, PyObject *tag)
{
    for (Py_ssize_t i = 0; slot != NULL && i < slot->n_callees; i++) {
        if (ref_is(&slot->callees[i].tag, tag)) {
            return &slot->callees[i];
        }
    }
    return NULL;
}

static bool callee_is_dead(Callee *callee)
{
    PyObject *tag = ref_get(&callee->tag), *callable = ref_get(&callee->callable);
    PyObject *part = ref_get(&callee->part);
    bool plain = callee->callable.object == NULL;
    bool dead = tag == NULL || !(plain || callable != NULL || part != NULL);
    Py_XDECREF(tag);
    Py_XDECREF(callable);
    Py_XDECREF(part);
    return dead;
}

static void drop_dead_callees(Slot *slot)
{
    for (Py_ssize_t i = slot->n_callees - 1; i >= 0; i--) {
        /* What is dropped may run finalizers, and these may come here too. */
        if (i < slot->n_callees && callee_is_dead(&slot->callees[i])) {
            Callee dead = slot->callees[i];
            slot->callees[i] = slot->callees[--slot->n_callees];
            callee_drop(&dead);
        }
    }
}

static int remember(PyObject *code, PyObject *fn, PyObject *tag, PyObject *callable)
{
    Slot *slot = slot_made(code);
    if (slot == NULL) {
        return -1;
    }
    Callee made = {{NULL, false}, {NULL, false}, {NULL, false}};
    bool dispatches = PyObject_TypeCheck(callable, &BcjitDispatcher_Type) &&
                      ((Dispatcher *)callable)->part != NULL;
    if (ref_init(&made.tag, tag) < 0 ||
        (callable != fn && ref_init(&made.callable, callable) < 0) ||
        (dispatches && ref_init(&made.part, (PyObject *)((Dispatcher *)callable)->part) < 0)) {
        callee_drop(&made);
        return -1;
    }
    drop_dead_callees(slot);
    if (find_callee(slot, tag) != NULL) {   /* another thread was first: its own is as good */
        callee_drop(&made);
        return 0;
    }
    Callee *grown =
        PyMem_Realloc(slot->callees, (size_t)(slot->n_callees + 1) * sizeof(Callee));
    if (grown == NULL) {
        callee_drop(&made);
        PyErr_NoMemory();
        return -1;
    }
    slot->callees = grown;
    slot->callees[slot->n_callees++] = made;
    return 0;
}

/* A code object's dispatcher belongs to one function; another function of the same code (another
 * closure, other defaults) shares its part. Steals callable. */
static PyObject *fitted(PyObject *callable, PyObject *fn)
{
    if (!PyObject_TypeCheck(callable, &BcjitDispatcher_Type)) {
        return callable;
    }
    Dispatcher *dispatcher = (Dispatcher *)callable;
    if (dispatcher->fn == fn || dispatcher->fn == NULL) {
        return callable;
    }
    PyObject *own = ((PyFunctionObject *)fn)->func_code == (PyObject *)dispatcher->code
                        ? bcjit_dispatcher_new(fn, dispatcher->part)
                        : Py_NewRef(fn);
    if (own != NULL && Py_IS_TYPE(own, &BcjitDispatcher_Type)) {
        ((Dispatcher *)own)->enabled = dispatcher->enabled;
    }
    Py_DECREF(callable);
    return own;
}

/* A bound method of a Python function: the same method of what is called instead of the function. */
static PyObject *callee_method(PyObject *method, PyObject *tag)
{
    PyObject *const pair[] = {PyMethod_GET_FUNCTION(method), tag};
    if (!PyFunction_Check(pair[0])) {
        return Py_NewRef(method);
    }
    PyObject *function = bcjit_callee(NULL, pair, 2);
    if (function == NULL) {
        return NULL;
    }
    PyObject *bound = function == pair[0]
                          ? Py_NewRef(method)
                          : PyMethod_New(function, PyMethod_GET_SELF(method));
    Py_DECREF(function);
    return bound;
}

/* An instance whose class has a Python function for __call__: what is called instead of that, bound to it. */
static PyObject *callee_instance(PyObject *object, PyObject *tag)
{
    PyObject *call = _PyType_Lookup(Py_TYPE(object), call_name);
    if (call == NULL || !Py_IS_TYPE(call, &PyFunction_Type)) {
        return Py_NewRef(object);
    }
    PyObject *const pair[] = {Py_NewRef(call), tag};
    PyObject *function = bcjit_callee(NULL, pair, 2);
    PyObject *bound = NULL;
    if (function != NULL) {
        bound = function == call ? Py_NewRef(object) : PyMethod_New(function, object);
        Py_DECREF(function);
    }
    Py_DECREF(call);
    return bound;
}

PyObject *bcjit_callee(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 2) {
        PyErr_Format(PyExc_TypeError, "callee takes 2 arguments, got %zd", nargs);
        return NULL;
    }
    PyObject *fn = args[0], *tag = args[1];
    if (PyMethod_Check(fn)) {
        return callee_method(fn, tag);
    }
    if (!PyFunction_Check(fn)) {
        return callee_instance(fn, tag);
    }
    PyObject *code = ((PyFunctionObject *)fn)->func_code;
    Callee *callee = find_callee(slot_of(code), tag);
    if (callee != NULL && callee->callable.object == NULL) {
        return Py_NewRef(fn);
    }
    PyObject *callable = callee == NULL ? NULL : ref_get(&callee->callable);
    if (callable != NULL) {
        return fitted(callable, fn);
    }
    PyObject *part = callee == NULL ? NULL : ref_get(&callee->part);
    if (part != NULL) {
        PyObject *made = bcjit_dispatcher_new(fn, (Part *)part);
        Py_DECREF(part);
        return made;
    }
    if (callee_factory == NULL) {
        return Py_NewRef(fn);
    }
    PyObject *factory = Py_NewRef(callee_factory);
    Py_INCREF(code);                        /* the factory may give fn other code */
    PyObject *const pair[] = {fn, tag};
    callable = bcjit_call_back(factory, pair, 2, true);
    if (callable == NULL && !PyErr_Occurred()) {
        callable = Py_NewRef(fn);           /* plain this time: not remembered */
        Py_DECREF(factory);
        Py_DECREF(code);
        return callable;
    }
    Py_DECREF(factory);
    if (callable != NULL && remember(code, fn, tag, callable) < 0) {
        Py_CLEAR(callable);
    }
    Py_DECREF(code);
    return callable;
}
