/* compat_dict.h - the version facts of dict tables and instance dicts; a part of compat.h that only
 * the guards need.
 *
 *   bcjit_dict_is_general     a lookup may compare keys of user classes
 *   bcjit_dict_value_at/place where a key was found before
 *   bcjit_instance_storage    where an instance's attributes lie, without making its __dict__
 *
 * Facts come from CPython's Include/internal/pycore_dict.h and pycore_object.h of each version.
 */
#ifndef BCJIT_COMPAT_DICT_H
#define BCJIT_COMPAT_DICT_H

#include "compat.h"

/* 3.11 renames this outside of its core, where the core headers declare the new one. */
#undef _PyObject_LookupSpecial
#ifdef __GNUC__
#  pragma GCC diagnostic push
#  pragma GCC diagnostic ignored "-Wdeprecated-declarations"    /* 3.12: its own inline functions */
#endif
#define Py_BUILD_CORE 1
#include <internal/pycore_dict.h>
#include <internal/pycore_object.h>
#undef Py_BUILD_CORE
#ifdef __GNUC__
#  pragma GCC diagnostic pop
#endif

static inline bool bcjit_dict_is_general(PyObject *dict)
{
    return ((PyDictObject *)dict)->ma_keys->dk_kind == DICT_KEYS_GENERAL;
}

/* The value under a text key in a dict that has only text keys of its own, when it still is where it
 * was found before (as LOAD_GLOBAL_MODULE of Python/bytecodes.c finds it); NULL when it is not. */
static inline PyObject *bcjit_dict_value_at(PyObject *dict, PyObject *key, Py_ssize_t place)
{
    PyDictKeysObject *keys = ((PyDictObject *)dict)->ma_keys;
    if (keys->dk_kind != DICT_KEYS_UNICODE || place >= keys->dk_nentries) {
        return NULL;
    }
    PyDictUnicodeEntry *entry = &DK_UNICODE_ENTRIES(keys)[place];
    return entry->me_key == key ? entry->me_value : NULL;
}

/* Where that is, -1 when there is no such place. */
static inline Py_ssize_t bcjit_dict_place(PyObject *dict, PyObject *key)
{
    PyDictKeysObject *keys = ((PyDictObject *)dict)->ma_keys;
    if (keys->dk_kind == DICT_KEYS_UNICODE) {
        for (Py_ssize_t place = 0; place < keys->dk_nentries; place++) {
            if (DK_UNICODE_ENTRIES(keys)[place].me_key == key) {
                return place;
            }
        }
    }
    return -1;
}

/* Attributes of an instance: in a dict, or in values whose names are the class's shared keys; both
 * NULL when there are none. Borrowed. */
typedef struct {
    PyObject *dict;
    PyDictValues *values;
    PyDictKeysObject *keys;
} bcjit_storage;

#if PY_VERSION_HEX < 0x030C0000
static inline void bcjit_managed_storage(PyObject *obj, bcjit_storage *found)
{
    found->values = *_PyObject_ValuesPointer(obj);
    found->dict = *_PyObject_ManagedDictPointer(obj);
}
#elif PY_VERSION_HEX < 0x030D0000
static inline void bcjit_managed_storage(PyObject *obj, bcjit_storage *found)
{
    PyDictOrValues either = *_PyObject_DictOrValuesPointer(obj);
    if (_PyDictOrValues_IsValues(either)) {
        found->values = _PyDictOrValues_GetValues(either);
    }
    else {
        found->dict = _PyDictOrValues_GetDict(either);
    }
}
#else
static inline void bcjit_managed_storage(PyObject *obj, bcjit_storage *found)
{
    found->dict = (PyObject *)_PyObject_GetManagedDict(obj);
    if (found->dict == NULL && (Py_TYPE(obj)->tp_flags & Py_TPFLAGS_INLINE_VALUES)) {
        PyDictValues *values = _PyObject_InlineValues(obj);
        found->values = values->valid ? values : NULL;
    }
}
#endif

static inline bcjit_storage bcjit_instance_storage(PyObject *obj)
{
    bcjit_storage found = {NULL, NULL, NULL};
    PyTypeObject *type = Py_TYPE(obj);
    if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
        bcjit_managed_storage(obj, &found);
        if (found.values != NULL) {
            found.keys = ((PyHeapTypeObject *)type)->ht_cached_keys;
        }
    }
    else if (type->tp_dictoffset != 0) {
        PyObject **place = _PyObject_GetDictPtr(obj);
        found.dict = place == NULL ? NULL : *place;
    }
    return found;
}

#endif
