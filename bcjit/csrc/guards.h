/* guards.h - what the files of the guard tree share: its rows, and the state of one check.
 *
 * The tree runs no user code and never raises. (A dict with keys of user classes may compare them,
 * as it does for everybody: see bcjit_check_pin.) Semantics: bcjit/guards/evaluate.py; the rows:
 * bcjit/guards/compile.py.
 */
#ifndef BCJIT_GUARDS_H
#define BCJIT_GUARDS_H

#include "core.h"
#include "compat_dict.h"

#include <stdint.h>

#ifndef NPY_NO_DEPRECATED_API
#  define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#endif
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>

/* bcjit.guards.source.SourceKind */
enum source_kind {
    SOURCE_LOCAL, SOURCE_GLOBAL, SOURCE_BUILTIN, SOURCE_CELL, SOURCE_ATTR, SOURCE_MODULE_ATTR,
    SOURCE_TYPE, SOURCE_MRO, SOURCE_ITEM, SOURCE_LENGTH, SOURCE_SHAPE, SOURCE_MEMBER,
    SOURCE_CELL_OF, SOURCE_GLOBALS, SOURCE_BUILTINS, SOURCE_KINDS
};

/* bcjit.guards.source.MEMBERS */
enum member {
    MEMBER_CODE, MEMBER_DEFAULTS, MEMBER_KWDEFAULTS, MEMBER_GLOBALS, MEMBER_CLOSURE, MEMBER_SELF,
    MEMBER_FUNC, MEMBER_FGET, MEMBER_CLASS_SELF, MEMBER_FSET, MEMBER_DICT, MEMBERS
};

/* bcjit.guards.guard.GuardKind */
enum guard_kind {
    GUARD_TYPE, GUARD_IDENTITY, GUARD_EQUALS, GUARD_ARRAY, GUARD_ABSENT, GUARD_NO_INSTANCE_ATTR,
    GUARD_UNBOUND_CELL, GUARD_KEYS, GUARD_RELATION, GUARD_SAME_OBJECT, GUARD_OVERLAP,
    GUARD_PRESENT, GUARD_OTHER_ARRAY, GUARD_KINDS
};

/* bcjit.guards.compile.Operation */
enum operation {
    OP_CONSTANT, OP_SYMBOL, OP_ADD, OP_MULTIPLY, OP_FLOOR_DIVIDE, OP_MODULO, OP_MINIMUM, OP_MAXIMUM,
    OPERATIONS
};
enum comparison { COMPARE_EQ, COMPARE_NE, COMPARE_LE, COMPARISONS };

/* Objects in rows are borrowed from the tree's specification. */
typedef struct {
    enum source_kind kind;
    int base;                   /* -1: a root */
    Py_ssize_t number;
    PyObject *key;
    Py_hash_t hash;             /* of key */
    bool has_index;             /* ITEM: number is the index in a list or tuple */
    Py_ssize_t hint;            /* where the key was last, in a dict or in a class's shared keys */
    int searches;               /* for the hint; too many, and it is given up */
} SourceRow;

typedef struct {
    enum operation operation;
    int64_t operand;
    PyObject *constant;         /* CONSTANT: the operand as an int */
} Instruction;

typedef struct {
    enum comparison comparison;
    bool fits;                  /* constants fit int64 and the stack is small */
    bool simple;                /* two instructions, the first a symbol */
    int n_symbols;
    int *symbols;               /* places of their sources */
    Py_ssize_t n_instructions;
    Py_ssize_t depth;
    Instruction *instructions;
} RelationProgram;

/* Pairs of arrays, of which each is in several. */
typedef struct Pairs {
    int n_sources, n_pairs;
    int *sources;
    int (*places)[2];           /* of each pair, in sources */
} Pairs;

enum dtype_class { DTYPE_UNIQUE, DTYPE_NUMBER, DTYPE_COMPARED };

typedef struct {
    enum guard_kind kind;
    int source;                 /* -1: none */
    int ready;                  /* sources to have been fetched */
    Py_ssize_t number;
    PyObject *payload;
    Py_hash_t hash;             /* of the payload, where it is a key */
    int other;                  /* SAME_OBJECT, OVERLAP: the other source */
    struct Pairs *pairs;        /* OVERLAP: of this row and those behind it, which are checked together; or NULL */
    bool has_integer;           /* EQUALS: the payload is an int that fits */
    int64_t integer;
    int type_num;               /* ARRAY */
    enum dtype_class dtype_class;
    bool native;
    RelationProgram *relation;
} GuardRow;

#define SLOT_OWNED 1            /* the reference is ours */
#define SLOT_NUMBER 2           /* number is the value; object may be NULL until it is asked for */

typedef struct {
    PyObject *object;
    int64_t number;
    unsigned char flags;
} Slot;

typedef struct {
    PyObject *const *values;
    Py_ssize_t n_values;
    PyObject *func;
    PyObject *closure;          /* tuple or NULL */
    Slot *slots;
    int fetched;                /* slots that are filled */
    bool owned;                 /* some slot may be SLOT_OWNED */
} Check;

static inline void bcjit_slot_borrow(Slot *slot, PyObject *object)
{
    slot->object = object;
    slot->flags = 0;
}
static inline void bcjit_slot_own(Check *check, Slot *slot, PyObject *object)
{
    check->owned = true;
    slot->object = object;
    slot->flags = SLOT_OWNED;
}
static inline void bcjit_slot_number(Slot *slot, Py_ssize_t number)
{
    slot->object = NULL;
    slot->number = number;
    slot->flags = SLOT_NUMBER;
}

/* guard_sources.c */
int bcjit_sources_init(void);
/* The value of a root, of a step from a base, into *slot; false when it cannot be had. The kinds that
 * guards.c fetches itself are not among them. */
bool bcjit_fetch_root(Check *check, SourceRow *row, Slot *slot);
bool bcjit_fetch_step(Check *check, SourceRow *row, PyObject *base, Slot *slot);
PyObject *bcjit_slot_make_object(Check *check, Slot *slot);
/* Borrowed; NULL only without memory, error cleared. */
static inline PyObject *bcjit_slot_object(Check *check, Slot *slot)
{
    return BCJIT_LIKELY(slot->object != NULL) ? slot->object : bcjit_slot_make_object(check, slot);
}
static inline bool bcjit_fetch_local(Check *check, const SourceRow *row)
{
    if (row->number < 0 || row->number >= check->n_values) {
        return false;
    }
    bcjit_slot_borrow(&check->slots[check->fetched], check->values[row->number]);
    return check->values[row->number] != NULL;
}
/* Owns every reference fetched so far: before a lookup that may run foreign code. */
void bcjit_check_pin(Check *check);
/* The value under the row's key in an exact dict, into *slot. */
bool bcjit_fetch_from_dict(Check *check, PyObject *dict, SourceRow *row, Slot *slot);
/* 1: found, in *slot; 0: absent; -1: failed. */
int bcjit_check_dict_get(Check *check, PyObject *dict, PyObject *key, Py_hash_t hash, Slot *slot);
enum attribute { ATTRIBUTE_FOUND, ATTRIBUTE_ABSENT, ATTRIBUTE_COMPUTED, ATTRIBUTE_OPAQUE };
enum attribute bcjit_instance_attribute(Check *check, PyObject *obj, PyObject *name,
                                        Py_hash_t hash, Py_ssize_t *hint, Slot *slot);
int bcjit_instance_dict_get(Check *check, PyObject *obj, PyObject *name, Py_hash_t hash,
                            Py_ssize_t *hint, Slot *slot);
/* Borrowed cell, NULL when there is none. */
PyObject *bcjit_cell_at(PyObject *cells, Py_ssize_t index);
PyObject *bcjit_check_cells(const Check *check);

/* guard_values.c */
extern PyTypeObject *bcjit_array_type;      /* numpy.ndarray */
int bcjit_guard_values_init(void);
void bcjit_array_row(GuardRow *row);
bool bcjit_is_dtype(PyObject *object);
bool bcjit_equals_exactly(PyObject *found, PyObject *expected);
/* An exact ndarray of anything but plain numbers. */
bool bcjit_is_other_array(PyObject *value);
bool bcjit_same_dtype(PyArray_Descr *found, const GuardRow *row);
static inline bool bcjit_array_holds(const GuardRow *row, PyObject *value)
{
    PyArrayObject *array = (PyArrayObject *)value;
    return BCJIT_LIKELY(Py_IS_TYPE(value, bcjit_array_type)) &&
           PyArray_NDIM(array) == row->number &&
           (BCJIT_LIKELY((PyObject *)PyArray_DESCR(array) == row->payload) ||
            bcjit_same_dtype(PyArray_DESCR(array), row));
}
/* How many elements an exact ndarray has; 0: it is none. */
static inline Py_ssize_t bcjit_array_elements(PyObject *value)
{
    if (value == NULL || !Py_IS_TYPE(value, bcjit_array_type)) {
        return 0;
    }
    PyArrayObject *array = (PyArrayObject *)value;
    Py_ssize_t size = 1;
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        size *= PyArray_DIM(array, axis);
    }
    return size;
}
/* The size of an axis, -1 when value is no exact ndarray with that axis. */
static inline Py_ssize_t bcjit_array_size(PyObject *value, Py_ssize_t axis)
{
    if (!Py_IS_TYPE(value, bcjit_array_type) || axis < 0 ||
        axis >= PyArray_NDIM((PyArrayObject *)value)) {
        return -1;
    }
    return PyArray_DIM((PyArrayObject *)value, (int)axis);
}
bool bcjit_arrays_overlap(PyObject *left, PyObject *right, bool expected);
/* How many of the pairs from a row on hold before one does not. */
int bcjit_pairs_hold(const Pairs *pairs, const GuardRow *rows, const Slot *slots);
enum { PAIRED_SOURCES = 64 };   /* with more of them pairs are checked one by one */
bool bcjit_keys_hold(PyObject *value, PyObject *keys);

/* guard_relation.c */
RelationProgram *bcjit_relation_parse(PyObject *payload, int ready);
void bcjit_relation_free(RelationProgram *program);
bool bcjit_relation_holds(Check *check, const RelationProgram *program);

static inline bool bcjit_compare(enum comparison comparison, int64_t left, int64_t right)
{
    if (comparison == COMPARE_NE) {
        return left != right;
    }
    return comparison == COMPARE_EQ ? left == right : left <= right;
}

#endif
