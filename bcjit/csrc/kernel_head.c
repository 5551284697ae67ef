/* kernel_head.c - what all kernels have in common: when they are asked, what becomes of their answer, and NumPy's calls where there is none. */
#include "kernel.h"

#include <stddef.h>

PyMemberDef bcjit_kernel_members[] = {
    {"calls", T_PYSSIZET, offsetof(KernelHead, calls), READONLY, "How often the kernel was asked."},
    {"fell_back", T_PYSSIZET, offsetof(KernelHead, fell_back), READONLY,
     "Of these, how often NumPy had to do it."},
    {"off", T_BOOL, offsetof(KernelHead, off), READONLY, "Given up: NumPy does it always."},
    {"fallback", T_OBJECT, offsetof(KernelHead, fallback), READONLY, "The same calls in NumPy."},
    {"warns_here", T_BOOL, offsetof(KernelHead, warns_here), READONLY,
     "Whether a warning of the fallback belongs to a frame whose warnings raise."},
    {NULL}};

int kernel_head_init(KernelHead *head, vectorcallfunc call, PyObject *fallback, int n_arguments, int n_fallback,
                     int checks_flags, int warns_here)
{
    if (n_fallback < 0 || n_fallback > n_arguments || !PyCallable_Check(fallback)) {
        PyErr_Format(PyExc_ValueError, "%s: fallback or its arguments", Py_TYPE(head)->tp_name);
        return -1;
    }
    head->vectorcall = call;
    head->fallback = Py_NewRef(fallback);
    head->n_arguments = n_arguments;
    head->n_fallback = n_fallback;
    head->checks_flags = (char)(checks_flags > 1 ? 2 : checks_flags != 0);
    head->warns_here = (char)warns_here;
    return 0;
}

static PyObject *flags_test;                /* what says whether raised flags matter now */

PyObject *bcjit_set_flags_test(PyObject *Py_UNUSED(module), PyObject *test)
{
    Py_XSETREF(flags_test, test == Py_None ? NULL : Py_NewRef(test));
    Py_RETURN_NONE;
}

/* 1: NumPy would say something of these flags; 0: not; -1: an error is set. */
static int flags_matter(unsigned int flags)
{
    if (flags_test == NULL) {
        return 1;
    }
    PyObject *number = PyLong_FromUnsignedLong(flags);
    PyObject *answer = number == NULL ? NULL : PyObject_CallOneArg(flags_test, number);
    Py_XDECREF(number);
    int matter = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    return matter;
}

int kernel_outcome(const KernelHead *head, unsigned int flags)
{
    if (PyErr_Occurred()) {                 /* a loop of NumPy's took the GIL to say so */
        PyErr_Clear();
        return 0;
    }
    if ((flags & KERNEL_INVALID) && head->checks_flags > 1) {
        return 0;                           /* a float beyond an integer's range: what that gives is NumPy's to say */
    }
    if (flags != 0 && head->checks_flags) {
        int matter = flags_matter(flags);
        return matter < 0 ? -1 : !matter;
    }
    return 1;
}

PyObject *kernel_results(PyObject **results, int n, int n_done)
{
    if (n + n_done == 1) {
        return n == 1 ? results[0] : Py_NewRef(Py_None);
    }
    PyObject *all = PyTuple_New(n + n_done);
    for (int i = 0; i < n + n_done; i++) {
        PyObject *one = i < n ? results[i] : Py_NewRef(Py_None);
        if (all == NULL || one == NULL) {
            Py_XDECREF(one);
            Py_CLEAR(all);
        }
        else {
            PyTuple_SET_ITEM(all, i, one);
        }
    }
    return all;
}

PyObject *kernel_no_results(KernelHead *head, int done, PyObject **results, int n, PyObject *const *args)
{
    for (int i = 0; i < n; i++) {
        Py_XDECREF(results[i]);
    }
    if (done == -1) {
        return NULL;
    }
    if (done == KERNEL_TOO_FEW) {             /* says nothing about other calls */
        head->calls--;
    }
    else {
        head->fell_back++;
        head->off = kernel_gives_up(head->fell_back, head->calls);
    }
    return kernel_falls_back(head, args, (size_t)head->n_arguments, NULL);
}

PyObject *kernel_falls_back(const KernelHead *head, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    size_t given = (size_t)PyVectorcall_NARGS(nargsf);
    if (kwnames == NULL && given == (size_t)head->n_arguments) {
        given = (size_t)head->n_fallback;   /* the rest are sizes, which it reads itself */
    }
    return PyObject_Vectorcall(head->fallback, args, given, kwnames);
}
