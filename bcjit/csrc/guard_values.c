/* guard_values.c - what is asked of a fetched value: constants, arrays, keys. */
#include "guards.h"

#include <numpy/arrayobject.h>
#include <string.h>

PyTypeObject *bcjit_array_type;

int bcjit_guard_values_init(void)
{
    import_array1(-1);
    bcjit_array_type = &PyArray_Type;
    return 0;
}

bool bcjit_is_dtype(PyObject *object)
{
    return PyArray_DescrCheck(object);
}

bool bcjit_equals_exactly(PyObject *found, PyObject *expected)
{
    if (found == expected) {
        return true;
    }
    if (Py_TYPE(found) != Py_TYPE(expected)) {
        return false;
    }
    if (PyFloat_CheckExact(expected)) {
        double left = PyFloat_AS_DOUBLE(found), right = PyFloat_AS_DOUBLE(expected);
        return memcmp(&left, &right, sizeof(double)) == 0;
    }
    if (PyComplex_CheckExact(expected)) {
        Py_complex left = ((PyComplexObject *)found)->cval;
        Py_complex right = ((PyComplexObject *)expected)->cval;
        return memcmp(&left, &right, sizeof(Py_complex)) == 0;
    }
    if (PyLong_CheckExact(expected) || PyUnicode_CheckExact(expected) ||
        PyBytes_CheckExact(expected)) {
        int equal = PyObject_RichCompareBool(found, expected, Py_EQ);
        if (equal < 0) {
            PyErr_Clear();
        }
        return equal == 1;
    }
    if (PyTuple_CheckExact(expected)) {
        Py_ssize_t size = PyTuple_GET_SIZE(expected);
        if (PyTuple_GET_SIZE(found) != size) {
            return false;
        }
        for (Py_ssize_t i = 0; i < size; i++) {
            if (!bcjit_equals_exactly(PyTuple_GET_ITEM(found, i), PyTuple_GET_ITEM(expected, i))) {
                return false;
            }
        }
        return true;
    }
    return false;               /* bool, None, Ellipsis: only themselves */
}

bool bcjit_keys_hold(PyObject *value, PyObject *keys)
{
    Py_ssize_t size = PyTuple_GET_SIZE(keys), position = 0;
    if (!PyDict_CheckExact(value) || PyDict_Size(value) != size) {
        return false;
    }
    PyObject *found;
    for (Py_ssize_t i = 0; i < size; i++) {
        if (!PyDict_Next(value, &position, &found, NULL) ||
            !bcjit_equals_exactly(found, PyTuple_GET_ITEM(keys, i))) {
            return false;
        }
    }
    return true;
}

/* ---- arrays -------------------------------------------------------------------------------- */

void bcjit_array_row(GuardRow *row)
{
    PyArray_Descr *descr = (PyArray_Descr *)row->payload;
    int num = descr->type_num;
    row->type_num = num;
    row->native = PyArray_ISNBO(descr->byteorder);
    if (PyDataType_METADATA(descr) != NULL) {
        row->dtype_class = DTYPE_UNIQUE;
    }
    else if (num <= NPY_OBJECT || num == NPY_HALF) {
        row->dtype_class = DTYPE_NUMBER;
    }
    else if (num == NPY_STRING || num == NPY_UNICODE || num == NPY_DATETIME ||
             num == NPY_TIMEDELTA) {
        row->dtype_class = DTYPE_COMPARED;
    }
    else {
        row->dtype_class = DTYPE_UNIQUE;
    }
}

bool bcjit_same_dtype(PyArray_Descr *found, const GuardRow *row)
{
    if (found->type_num != row->type_num || PyDataType_METADATA(found) != NULL) {
        return false;                       /* metadata is seen by whoever asks for the dtype */
    }
    switch (row->dtype_class) {
    case DTYPE_NUMBER: return (bool)PyArray_ISNBO(found->byteorder) == row->native;
    case DTYPE_COMPARED: return PyArray_EquivTypes(found, (PyArray_Descr *)row->payload);
    default: return false;
    }
}

bool bcjit_is_other_array(PyObject *value)
{
    if (!Py_IS_TYPE(value, bcjit_array_type)) {
        return false;
    }
    PyArray_Descr *descr = PyArray_DESCR((PyArrayObject *)value);
    bool number = PyTypeNum_ISBOOL(descr->type_num) || PyTypeNum_ISNUMBER(descr->type_num);
    return !number || !PyArray_ISNBO(descr->byteorder);
}

/* As get_array_memory_extents (NumPy's common/mem_overlap.c); empty arrays have none. */
static void extents(PyArrayObject *array, npy_uintp *low, npy_uintp *high)
{
    npy_intp below = 0, above = 0;
    *low = *high = (npy_uintp)PyArray_BYTES(array);
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        npy_intp size = PyArray_DIM(array, axis), stride = PyArray_STRIDE(array, axis);
        if (size == 0) {
            return;
        }
        if (stride > 0) {
            above += stride * (size - 1);
        }
        else {
            below += stride * (size - 1);
        }
    }
    *low += below;
    *high += above + PyArray_ITEMSIZE(array);
}

bool bcjit_arrays_overlap(PyObject *left, PyObject *right, bool expected)
{
    if (!Py_IS_TYPE(left, bcjit_array_type) || !Py_IS_TYPE(right, bcjit_array_type)) {
        return false;
    }
    npy_uintp left_low, left_high, right_low, right_high;
    extents((PyArrayObject *)left, &left_low, &left_high);
    extents((PyArrayObject *)right, &right_low, &right_high);
    bool overlap = left_low < right_high && right_low < left_high && left_low < left_high &&
                   right_low < right_high;
    return overlap == expected;
}

int bcjit_pairs_hold(const Pairs *pairs, const GuardRow *rows, const Slot *slots)
{
    npy_uintp low[PAIRED_SOURCES], high[PAIRED_SOURCES];
    for (int i = 0; i < pairs->n_sources; i++) {
        PyObject *array = slots[pairs->sources[i]].object;
        if (array == NULL || !Py_IS_TYPE(array, bcjit_array_type)) {
            return 0;
        }
        extents((PyArrayObject *)array, &low[i], &high[i]);
        if (low[i] == high[i]) {            /* beside all others */
            low[i] = (npy_uintp)-1;
            high[i] = 0;
        }
    }
    for (int i = 0; i < pairs->n_pairs; i++) {
        int left = pairs->places[i][0], right = pairs->places[i][1];
        bool overlap = low[left] < high[right] && low[right] < high[left];
        if (overlap != (rows[i].number != 0)) {
            return i;
        }
    }
    return pairs->n_pairs;
}
