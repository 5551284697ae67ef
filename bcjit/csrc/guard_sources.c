/* guard_sources.c - fetches the value of a source; every read is raw. */
#include "guards.h"

/* C members without a public accessor, read through the type's own member descriptor. */
static PyMemberDef *property_fget, *property_fset, *staticmethod_func, *classmethod_func, *super_self,
    *super_class_self;

static PyMemberDef *member_of(PyTypeObject *type, const char *name)
{
    /* A type's attribute that is a member descriptor is the descriptor itself. */
    PyObject *descriptor = PyObject_GetAttrString((PyObject *)type, name);
    if (descriptor == NULL) {
        return NULL;
    }
    PyMemberDef *member = NULL;
    if (Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) {
        member = ((PyMemberDescrObject *)descriptor)->d_member;
    }
    else {
        PyErr_Format(PyExc_SystemError, "%s.%s is no member", type->tp_name, name);
    }
    Py_DECREF(descriptor);      /* static types keep it */
    return member;
}

int bcjit_sources_init(void)
{
    struct { PyMemberDef **to; PyTypeObject *type; const char *name; } wanted[] = {
        {&property_fget, &PyProperty_Type, "fget"},
        {&property_fset, &PyProperty_Type, "fset"},
        {&staticmethod_func, &PyStaticMethod_Type, "__func__"},
        {&classmethod_func, &PyClassMethod_Type, "__func__"},
        {&super_self, &PySuper_Type, "__self__"},
        {&super_class_self, &PySuper_Type, "__self_class__"},
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        *wanted[i].to = member_of(wanted[i].type, wanted[i].name);
        if (*wanted[i].to == NULL) {
            return -1;
        }
    }
    return 0;
}

PyObject *bcjit_slot_make_object(Check *check, Slot *slot)
{
    PyObject *object = PyLong_FromLongLong(slot->number);
    if (object == NULL) {
        PyErr_Clear();
        return NULL;
    }
    check->owned = true;
    slot->object = object;
    slot->flags |= SLOT_OWNED;
    return object;
}

void bcjit_check_pin(Check *check)
{
    check->owned = true;
    for (int i = 0; i < check->fetched; i++) {
        Slot *slot = &check->slots[i];
        if (slot->object != NULL && !(slot->flags & SLOT_OWNED)) {
            Py_INCREF(slot->object);
            slot->flags |= SLOT_OWNED;
        }
    }
}

int bcjit_check_dict_get(Check *check, PyObject *dict, PyObject *key, Py_hash_t hash, Slot *slot)
{
    if (BCJIT_LIKELY(!bcjit_dict_is_general(dict))) {
        /* Only text is compared. */
        bcjit_slot_borrow(slot, _PyDict_GetItem_KnownHash(dict, key, hash));
        return slot->object != NULL;
    }
    bcjit_check_pin(check);
    Py_INCREF(dict);
    PyObject *value = Py_XNewRef(_PyDict_GetItem_KnownHash(dict, key, hash));
    Py_DECREF(dict);
    if (value == NULL && PyErr_Occurred()) {
        PyErr_Clear();
        return -1;
    }
    bcjit_slot_own(check, slot, value);
    return value != NULL;
}

/* ---- instance attributes ------------------------------------------------------------------- */

static bool same_name(PyObject *key, PyObject *name)
{
    if (key == name) {
        return true;
    }
    if (key == NULL || (PyUnicode_CHECK_INTERNED(key) && PyUnicode_CHECK_INTERNED(name))) {
        return false;           /* equal interned texts are one object */
    }
    return PyUnicode_Compare(key, name) == 0;
}

/* 1: found; 0: absent. */
static int shared_values_get(const bcjit_storage *storage, PyObject *name, Py_ssize_t *hint,
                             Slot *slot)
{
    PyDictUnicodeEntry *entries = DK_UNICODE_ENTRIES(storage->keys);
    Py_ssize_t n = storage->keys->dk_nentries;
    Py_ssize_t at = *hint;
    if (at >= n || entries[at].me_key != name) {
        for (at = 0; at < n && !same_name(entries[at].me_key, name); at++) {
        }
        if (at == n) {
            return 0;
        }
        *hint = at;
    }
    bcjit_slot_borrow(slot, storage->values->values[at]);
    return slot->object != NULL;
}

int bcjit_instance_dict_get(Check *check, PyObject *obj, PyObject *name, Py_hash_t hash,
                            Py_ssize_t *hint, Slot *slot)
{
    bcjit_storage storage = bcjit_instance_storage(obj);
    if (storage.values != NULL) {
        return shared_values_get(&storage, name, hint, slot);
    }
    if (storage.dict == NULL) {
        return 0;
    }
    return bcjit_check_dict_get(check, storage.dict, name, hash, slot);
}

static enum attribute read_member(Check *check, PyMemberDescrObject *descriptor, PyObject *obj,
                                  Slot *slot)
{
    PyMemberDef *member = descriptor->d_member;
    if (!PyObject_TypeCheck(obj, PyDescr_TYPE(descriptor))) {
        return ATTRIBUTE_COMPUTED;
    }
    if (member->type == T_OBJECT_EX) {
        bcjit_slot_borrow(slot, *(PyObject **)((char *)obj + member->offset));
        return slot->object != NULL ? ATTRIBUTE_FOUND : ATTRIBUTE_ABSENT;
    }
    bcjit_slot_own(check, slot, PyMember_GetOne((const char *)obj, member));
    if (slot->object == NULL) {
        PyErr_Clear();
        return ATTRIBUTE_ABSENT;
    }
    return ATTRIBUTE_FOUND;
}

/* As PyObject_GenericGetAttr (Objects/object.c) finds it, up to where a class would have a say. */
enum attribute bcjit_instance_attribute(Check *check, PyObject *obj, PyObject *name,
                                        Py_hash_t hash, Py_ssize_t *hint, Slot *slot)
{
    PyTypeObject *type = Py_TYPE(obj);
    if (type->tp_getattro != PyObject_GenericGetAttr) {
        return ATTRIBUTE_OPAQUE;
    }
    PyObject *descriptor = _PyType_Lookup(type, name);
    if (descriptor != NULL) {
        if (Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) {
            return read_member(check, (PyMemberDescrObject *)descriptor, obj, slot);
        }
        if (Py_TYPE(descriptor)->tp_descr_set != NULL) {
            return ATTRIBUTE_COMPUTED;
        }
    }
    switch (bcjit_instance_dict_get(check, obj, name, hash, hint, slot)) {
    case 1: return ATTRIBUTE_FOUND;
    case 0: return ATTRIBUTE_ABSENT;
    default: return ATTRIBUTE_OPAQUE;
    }
}

/* ---- one function a kind: false when the value cannot be had -------------------------------- */

#define MOST_SEARCHES 20

bool bcjit_fetch_from_dict(Check *check, PyObject *dict, SourceRow *row, Slot *slot)
{
    if (dict == NULL || !PyDict_CheckExact(dict)) {
        return false;
    }
    PyObject *value = bcjit_dict_value_at(dict, row->key, row->hint);
    if (BCJIT_LIKELY(value != NULL)) {
        bcjit_slot_borrow(slot, value);
        return true;
    }
    bool found = bcjit_check_dict_get(check, dict, row->key, row->hash, slot) == 1;
    if (found && row->searches < MOST_SEARCHES) {
        row->searches++;
        Py_ssize_t place = bcjit_dict_place(dict, row->key);
        row->hint = place < 0 ? 0 : place;
    }
    return found;
}

PyObject *bcjit_check_cells(const Check *check)
{
    return check->closure != NULL ? check->closure
                                  : ((PyFunctionObject *)check->func)->func_closure;
}

PyObject *bcjit_cell_at(PyObject *cells, Py_ssize_t index)
{
    if (cells == NULL || !PyTuple_CheckExact(cells) || index < 0 ||
        index >= PyTuple_GET_SIZE(cells) || !PyCell_Check(PyTuple_GET_ITEM(cells, index))) {
        return NULL;
    }
    return PyTuple_GET_ITEM(cells, index);
}

static bool cell_contents(PyObject *cells, Py_ssize_t index, Slot *slot)
{
    PyObject *cell = bcjit_cell_at(cells, index);
    if (cell == NULL) {
        return false;
    }
    bcjit_slot_borrow(slot, PyCell_GET(cell));
    return slot->object != NULL;
}

static bool item(Check *check, SourceRow *row, PyObject *base, Slot *slot)
{
    if (PyDict_CheckExact(base)) {
        return bcjit_fetch_from_dict(check, base, row, slot);
    }
    /* Of a tuple's subclass too: its items are read where they are stored, and its class is guarded before. */
    if (!row->has_index || !(PyList_CheckExact(base) || PyTuple_Check(base))) {
        return false;
    }
    Py_ssize_t size = Py_SIZE(base);
    Py_ssize_t index = row->number < 0 ? row->number + size : row->number;
    if (index < 0 || index >= size) {
        return false;
    }
    bcjit_slot_borrow(slot, PyList_CheckExact(base) ? PyList_GET_ITEM(base, index)
                                                    : PyTuple_GET_ITEM(base, index));
    return true;
}

static bool length(PyObject *base, Slot *slot)
{
    Py_ssize_t size;
    if (PyList_CheckExact(base) || PyTuple_Check(base) || PyBytes_CheckExact(base)) {
        size = Py_SIZE(base);
    }
    else if (PyDict_CheckExact(base)) {
        size = PyDict_Size(base);
    }
    else if (PyAnySet_CheckExact(base)) {
        size = PySet_GET_SIZE(base);
    }
    else if (PyUnicode_CheckExact(base)) {
        size = PyUnicode_GET_LENGTH(base);
    }
    else {
        return false;
    }
    bcjit_slot_number(slot, size);
    return true;
}

static bool object_or_none(PyObject *object, Slot *slot)
{
    bcjit_slot_borrow(slot, object != NULL ? object : Py_None);
    return true;
}

static bool c_member(Check *check, PyMemberDef *member, PyObject *base, Slot *slot)
{
    bcjit_slot_own(check, slot, PyMember_GetOne((const char *)base, member));
    if (slot->object == NULL) {
        PyErr_Clear();
        return false;
    }
    return true;
}

static bool member_of_self(Check *check, PyObject *base, Slot *slot)
{
    if (Py_IS_TYPE(base, &PyMethod_Type)) {
        return object_or_none(PyMethod_GET_SELF(base), slot);
    }
    if (Py_IS_TYPE(base, &PyCFunction_Type)) {
        return object_or_none(PyCFunction_GET_SELF(base), slot);
    }
    return Py_IS_TYPE(base, &PySuper_Type) && c_member(check, super_self, base, slot);
}

static bool member_of_func(Check *check, PyObject *base, Slot *slot)
{
    if (Py_IS_TYPE(base, &PyMethod_Type)) {
        return object_or_none(PyMethod_GET_FUNCTION(base), slot);
    }
    if (Py_IS_TYPE(base, &PyStaticMethod_Type)) {
        return c_member(check, staticmethod_func, base, slot);
    }
    return Py_IS_TYPE(base, &PyClassMethod_Type) && c_member(check, classmethod_func, base, slot);
}

static bool member_of_function(enum member member, PyObject *base, Slot *slot)
{
    if (!Py_IS_TYPE(base, &PyFunction_Type)) {
        return false;
    }
    PyFunctionObject *function = (PyFunctionObject *)base;
    switch (member) {
    case MEMBER_CODE: return object_or_none(function->func_code, slot);
    case MEMBER_DEFAULTS: return object_or_none(function->func_defaults, slot);
    case MEMBER_KWDEFAULTS: return object_or_none(function->func_kwdefaults, slot);
    case MEMBER_GLOBALS: return object_or_none(function->func_globals, slot);
    default: return object_or_none(function->func_closure, slot);
    }
}

static bool member(Check *check, enum member which, PyObject *base, Slot *slot)
{
    switch (which) {
    case MEMBER_SELF: return member_of_self(check, base, slot);
    case MEMBER_FUNC: return member_of_func(check, base, slot);
    case MEMBER_FGET:
        return Py_IS_TYPE(base, &PyProperty_Type) && c_member(check, property_fget, base, slot);
    case MEMBER_FSET:
        return Py_IS_TYPE(base, &PyProperty_Type) && c_member(check, property_fset, base, slot);
    case MEMBER_DICT:       /* None while the attributes are in no dict, which is not made */
        return object_or_none(
            PyType_Check(base) ? NULL : bcjit_instance_storage(base).dict, slot);
    case MEMBER_CLASS_SELF:
        return Py_IS_TYPE(base, &PySuper_Type) && c_member(check, super_class_self, base, slot);
    default: return member_of_function(which, base, slot);
    }
}

bool bcjit_fetch_root(Check *check, SourceRow *row, Slot *slot)
{
    PyFunctionObject *func = (PyFunctionObject *)check->func;
    switch (row->kind) {
    case SOURCE_BUILTIN: return bcjit_fetch_from_dict(check, func->func_builtins, row, slot);
    case SOURCE_CELL: return cell_contents(bcjit_check_cells(check), row->number, slot);
    case SOURCE_GLOBALS: return object_or_none(func->func_globals, slot);
    default: return object_or_none(func->func_builtins, slot);
    }
}

bool bcjit_fetch_step(Check *check, SourceRow *row, PyObject *base, Slot *slot)
{
    if (row->kind == SOURCE_ATTR) {
        return bcjit_instance_attribute(check, base, row->key, row->hash, &row->hint, slot) ==
               ATTRIBUTE_FOUND;
    }
    switch (row->kind) {
    case SOURCE_TYPE:
        bcjit_slot_borrow(slot, (PyObject *)Py_TYPE(base));
        return true;
    case SOURCE_MRO:
        if (!PyType_Check(base)) {
            return false;
        }
        bcjit_slot_borrow(slot, _PyType_Lookup((PyTypeObject *)base, row->key));
        return slot->object != NULL;
    case SOURCE_ITEM: return item(check, row, base, slot);
    case SOURCE_LENGTH: return length(base, slot);
    case SOURCE_MEMBER: return member(check, (enum member)row->number, base, slot);
    default: return cell_contents(base, row->number, slot);
    }
}
