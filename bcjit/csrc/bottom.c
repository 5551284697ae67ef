/* bottom.c - runs a program as the interpreter does, with none of our frames below it: stack walks
 * and tracebacks end where they do without us, and the recursion limit counts from there.
 *
 * Mirrors pymain_run_file, pymain_run_command and pymain_run_module in CPython's Modules/main.c. An
 * exception that reaches the bottom is printed here; SystemExit ends the process here, as there. */
#include "core.h"
#include <stdio.h>

#ifdef _WIN32
#  define READ "rb"
#else
#  define READ "rbe"                        /* not for the programs that the script starts */
#endif

PyObject *bcjit_run_file(PyObject *Py_UNUSED(module), PyObject *path)
{
    PyObject *bytes;
    if (!PyUnicode_FSConverter(path, &bytes)) {
        return NULL;
    }
    FILE *file = fopen(PyBytes_AS_STRING(bytes), READ);
    if (file == NULL) {
        PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
        Py_DECREF(bytes);
        return NULL;
    }
    PyThreadState *ts = PyThreadState_Get();
    PyCompilerFlags flags = {.cf_feature_version = PY_MINOR_VERSION};
    bcjit_hidden hidden;
    bcjit_hide_frames(ts, &hidden);
    int failed = PyRun_SimpleFileExFlags(file, PyBytes_AS_STRING(bytes), 1, &flags);
    bcjit_show_frames(ts, &hidden);
    Py_DECREF(bytes);
    return PyLong_FromLong(failed);
}

PyObject *bcjit_run_string(PyObject *Py_UNUSED(module), PyObject *source)
{
    const char *text = PyUnicode_AsUTF8(source);
    if (text == NULL) {
        return NULL;
    }
    PyThreadState *ts = PyThreadState_Get();
    PyCompilerFlags flags = {.cf_flags = PyCF_IGNORE_COOKIE,
                             .cf_feature_version = PY_MINOR_VERSION};
    bcjit_hidden hidden;
    bcjit_hide_frames(ts, &hidden);
    int failed = PyRun_SimpleStringFlags(text, &flags);
    bcjit_show_frames(ts, &hidden);
    return PyLong_FromLong(failed);
}

PyObject *bcjit_run_call(PyObject *Py_UNUSED(module), PyObject *args)
{
    if (PyTuple_GET_SIZE(args) < 1) {
        PyErr_SetString(PyExc_TypeError, "run_call takes a callable and its arguments");
        return NULL;
    }
    PyThreadState *ts = PyThreadState_Get();
    bcjit_hidden hidden;
    bcjit_hide_frames(ts, &hidden);
    PyObject *result = PyObject_Vectorcall(
        PyTuple_GET_ITEM(args, 0), ((PyTupleObject *)args)->ob_item + 1,
        (size_t)PyTuple_GET_SIZE(args) - 1, NULL);
    if (result == NULL) {
        PyErr_Print();
    }
    bcjit_show_frames(ts, &hidden);
    int failed = result == NULL ? -1 : 0;
    Py_XDECREF(result);
    return PyLong_FromLong(failed);
}
