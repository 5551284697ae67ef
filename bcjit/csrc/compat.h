/* compat.h - every CPython version fact of the extension; no other file may test PY_VERSION_HEX.
 *
 * One section a version, each defining the same names:
 *
 *   BCJIT_CALLEE_CLEARS_FRAME     an evaluator must clear and pop its frame (else its caller does)
 *   BCJIT_RETURN_NONE             bytes of code that returns its constant 0 and needs no more stack
 *                                 than the least code of this version
 *   BCJIT_C_RECURSION_UNITS       what an evaluator takes from the C recursion count (0: no count)
 *   bcjit_frame_code/func/local   borrowed contents of a frame
 *   bcjit_frame_is_fresh          no instruction of the frame has run
 *   bcjit_frame_replace_code      the frame's code, instruction pointer, stack top; new slots NULL
 *   bcjit_current_frame           the innermost linked frame of a thread
 *   bcjit_code_framesize          slots a frame of this code takes on the data stack
 *   bcjit_code_get_extra/..       the extra slots of code objects
 *   bcjit_tool_in_use             a sys.monitoring tool is registered
 *   bcjit_frame_forget_locals     lets go of what a frame that has returned still holds, where its
 *                                 caller clears it (force: also when a frame object is about)
 *   bcjit_bottom_frame            what the innermost frame is where no frame runs
 *   BCJIT_C_RECURSION_LIMIT       what the C recursion count starts from (0: no count)
 *
 * Facts come from CPython's Include/internal/pycore_frame.h (pycore_interpframe.h from 3.14 on),
 * Python/ceval.c and Python/pystate.c of each version.
 */
#ifndef BCJIT_COMPAT_H
#define BCJIT_COMPAT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <structmember.h>

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x03100000
#  error "bcjit._core knows the frames of CPython 3.11 to 3.15 only."
#endif

/* gh-105268: the core headers define this macro again, differently. */
#undef _PyGC_FINALIZED
#define Py_BUILD_CORE 1
#if PY_VERSION_HEX >= 0x030E0000
#  include <internal/pycore_interpframe.h>
#else
#  include <internal/pycore_frame.h>
#endif
#include <internal/pycore_code.h>
#include <internal/pycore_context.h>
#include <internal/pycore_ceval.h>
#include <internal/pycore_interp.h>
#undef Py_BUILD_CORE

#include <opcode.h>

typedef _PyInterpreterFrame bcjit_frame;

/* ---- 3.11 ------------------------------------------------------------------------------------ */
#if PY_VERSION_HEX < 0x030C0000

#define BCJIT_CALLEE_CLEARS_FRAME 0
#define BCJIT_RETURN_NONE LOAD_CONST, 0, RETURN_VALUE, 0
#define BCJIT_C_RECURSION_UNITS 0   /* one counter for C and Python; a frame takes one either way */
#define BCJIT_C_RECURSION_LIMIT 0

static inline PyCodeObject *bcjit_frame_code(bcjit_frame *f) { return f->f_code; }
static inline PyObject *bcjit_frame_func(bcjit_frame *f) { return (PyObject *)f->f_func; }
static inline PyObject *bcjit_frame_local(bcjit_frame *f, int i) { return f->localsplus[i]; }
static inline bool bcjit_frame_is_fresh(bcjit_frame *f)
{
    return f->prev_instr == _PyCode_CODE(f->f_code) - 1;
}
static inline void bcjit_frame_replace_code(bcjit_frame *f, PyCodeObject *code, int old_slots)
{
    for (int i = old_slots; i < code->co_nlocalsplus; i++) {
        f->localsplus[i] = NULL;
    }
    f->stacktop = code->co_nlocalsplus;
    f->prev_instr = _PyCode_CODE(code) - 1;
    PyCodeObject *old = f->f_code;
    f->f_code = (PyCodeObject *)Py_NewRef((PyObject *)code);
    Py_DECREF(old);
}
static inline void *bcjit_current_frame(PyThreadState *ts) { return ts->cframe->current_frame; }
static inline void bcjit_set_current_frame(PyThreadState *ts, void *f) { ts->cframe->current_frame = f; }
static inline bcjit_frame *bcjit_bottom_frame(PyThreadState *Py_UNUSED(ts)) { return NULL; }
static inline int *bcjit_recursion_left(PyThreadState *ts) { return &ts->recursion_remaining; }
static inline int bcjit_recursion_limit(PyThreadState *ts) { return ts->recursion_limit; }
static inline void bcjit_frame_forget_locals(bcjit_frame *f, bool force)
{
    if (force || f->frame_obj == NULL || Py_REFCNT(f->frame_obj) == 1) {
        for (int i = 0; i < f->f_code->co_nlocalsplus; i++) {
            Py_CLEAR(f->localsplus[i]);
        }
    }
}
static inline Py_ssize_t bcjit_code_framesize(PyCodeObject *code)
{
    return code->co_nlocalsplus + code->co_stacksize + FRAME_SPECIALS_SIZE;
}
#define bcjit_code_get_extra _PyCode_GetExtra
#define bcjit_code_set_extra _PyCode_SetExtra
#define bcjit_request_extra_index _PyEval_RequestCodeExtraIndex
static inline bool bcjit_tool_in_use(PyInterpreterState *Py_UNUSED(interp), int Py_UNUSED(tool))
{
    return false;
}

/* ---- 3.12 ------------------------------------------------------------------------------------ */
#elif PY_VERSION_HEX < 0x030D0000

#define BCJIT_CALLEE_CLEARS_FRAME 1
#define BCJIT_RETURN_NONE RETURN_CONST, 0
#define BCJIT_C_RECURSION_UNITS 2   /* PY_EVAL_C_STACK_UNITS, Python/ceval.c */
#define BCJIT_C_RECURSION_LIMIT C_RECURSION_LIMIT

static inline PyCodeObject *bcjit_frame_code(bcjit_frame *f) { return f->f_code; }
static inline PyObject *bcjit_frame_func(bcjit_frame *f) { return f->f_funcobj; }
static inline PyObject *bcjit_frame_local(bcjit_frame *f, int i) { return f->localsplus[i]; }
static inline bool bcjit_frame_is_fresh(bcjit_frame *f)
{
    return f->prev_instr == _PyCode_CODE(f->f_code) - 1;
}
static inline void bcjit_frame_replace_code(bcjit_frame *f, PyCodeObject *code, int old_slots)
{
    for (int i = old_slots; i < code->co_nlocalsplus; i++) {
        f->localsplus[i] = NULL;
    }
    f->stacktop = code->co_nlocalsplus;
    f->prev_instr = _PyCode_CODE(code) - 1;
    PyCodeObject *old = f->f_code;
    f->f_code = (PyCodeObject *)Py_NewRef((PyObject *)code);
    Py_DECREF(old);
}
static inline void *bcjit_current_frame(PyThreadState *ts) { return ts->cframe->current_frame; }
static inline void bcjit_set_current_frame(PyThreadState *ts, void *f) { ts->cframe->current_frame = f; }
static inline bcjit_frame *bcjit_bottom_frame(PyThreadState *Py_UNUSED(ts)) { return NULL; }
static inline int *bcjit_recursion_left(PyThreadState *ts) { return &ts->py_recursion_remaining; }
static inline int bcjit_recursion_limit(PyThreadState *ts) { return ts->py_recursion_limit; }
static inline void bcjit_frame_forget_locals(bcjit_frame *Py_UNUSED(f), bool Py_UNUSED(force)) {}
static inline Py_ssize_t bcjit_code_framesize(PyCodeObject *code) { return code->co_framesize; }
#define bcjit_code_get_extra PyUnstable_Code_GetExtra
#define bcjit_code_set_extra PyUnstable_Code_SetExtra
#define bcjit_request_extra_index PyUnstable_Eval_RequestCodeExtraIndex
static inline bool bcjit_tool_in_use(PyInterpreterState *interp, int tool)
{
    return interp->monitoring_tool_names[tool] != NULL;
}

/* ---- 3.13 ------------------------------------------------------------------------------------ */
#elif PY_VERSION_HEX < 0x030E0000

#define BCJIT_CALLEE_CLEARS_FRAME 1
#define BCJIT_RETURN_NONE RETURN_CONST, 0
#define BCJIT_C_RECURSION_UNITS 2
#define BCJIT_C_RECURSION_LIMIT Py_C_RECURSION_LIMIT

static inline PyCodeObject *bcjit_frame_code(bcjit_frame *f)
{
    return (PyCodeObject *)f->f_executable;
}
static inline PyObject *bcjit_frame_func(bcjit_frame *f) { return f->f_funcobj; }
static inline PyObject *bcjit_frame_local(bcjit_frame *f, int i) { return f->localsplus[i]; }
static inline bool bcjit_frame_is_fresh(bcjit_frame *f)
{
    return f->instr_ptr == _PyCode_CODE(bcjit_frame_code(f));
}
static inline void bcjit_frame_replace_code(bcjit_frame *f, PyCodeObject *code, int old_slots)
{
    for (int i = old_slots; i < code->co_nlocalsplus; i++) {
        f->localsplus[i] = NULL;
    }
    f->stacktop = code->co_nlocalsplus;
    f->instr_ptr = _PyCode_CODE(code);
    PyObject *old = f->f_executable;
    f->f_executable = Py_NewRef((PyObject *)code);
    Py_DECREF(old);
}
static inline void *bcjit_current_frame(PyThreadState *ts) { return ts->current_frame; }
static inline void bcjit_set_current_frame(PyThreadState *ts, void *f) { ts->current_frame = f; }
static inline bcjit_frame *bcjit_bottom_frame(PyThreadState *Py_UNUSED(ts)) { return NULL; }
static inline int *bcjit_recursion_left(PyThreadState *ts) { return &ts->py_recursion_remaining; }
static inline int bcjit_recursion_limit(PyThreadState *ts) { return ts->py_recursion_limit; }
static inline void bcjit_frame_forget_locals(bcjit_frame *Py_UNUSED(f), bool Py_UNUSED(force)) {}
static inline Py_ssize_t bcjit_code_framesize(PyCodeObject *code) { return code->co_framesize; }
#define bcjit_code_get_extra PyUnstable_Code_GetExtra
#define bcjit_code_set_extra PyUnstable_Code_SetExtra
#define bcjit_request_extra_index PyUnstable_Eval_RequestCodeExtraIndex
static inline bool bcjit_tool_in_use(PyInterpreterState *interp, int tool)
{
    return interp->monitoring_tool_names[tool] != NULL;
}

/* ---- 3.14 and 3.15: tagged stack references -------------------------------------------------- */
#else

#define BCJIT_CALLEE_CLEARS_FRAME 1
#define BCJIT_RETURN_NONE LOAD_CONST, 0, RETURN_VALUE, 0
#define BCJIT_C_RECURSION_UNITS 0   /* the C stack is measured by address instead of counted */
#define BCJIT_C_RECURSION_LIMIT 0

static inline PyCodeObject *bcjit_frame_code(bcjit_frame *f)
{
    return (PyCodeObject *)PyStackRef_AsPyObjectBorrow(f->f_executable);
}
static inline PyObject *bcjit_frame_func(bcjit_frame *f)
{
    return PyStackRef_AsPyObjectBorrow(f->f_funcobj);
}
static inline PyObject *bcjit_frame_local(bcjit_frame *f, int i)
{
    return PyStackRef_IsNull(f->localsplus[i]) ? NULL
                                               : PyStackRef_AsPyObjectBorrow(f->localsplus[i]);
}
static inline bool bcjit_frame_is_fresh(bcjit_frame *f)
{
    return f->instr_ptr == _PyCode_CODE(bcjit_frame_code(f));
}
static inline void bcjit_frame_replace_code(bcjit_frame *f, PyCodeObject *code, int old_slots)
{
    for (int i = old_slots; i < code->co_nlocalsplus; i++) {
        f->localsplus[i] = PyStackRef_NULL;
    }
    f->stackpointer = f->localsplus + code->co_nlocalsplus;
    f->instr_ptr = _PyCode_CODE(code);
    _PyStackRef old = f->f_executable;
    f->f_executable = PyStackRef_FromPyObjectNew((PyObject *)code);
    PyStackRef_CLOSE(old);
}
static inline void *bcjit_current_frame(PyThreadState *ts) { return ts->current_frame; }
static inline void bcjit_set_current_frame(PyThreadState *ts, void *f) { ts->current_frame = f; }
static inline bcjit_frame *bcjit_bottom_frame(PyThreadState *ts)
{
#if PY_VERSION_HEX >= 0x030F0000
    return ts->base_frame;
#else
    (void)ts;
    return NULL;
#endif
}
static inline int *bcjit_recursion_left(PyThreadState *ts) { return &ts->py_recursion_remaining; }
static inline int bcjit_recursion_limit(PyThreadState *ts) { return ts->py_recursion_limit; }
static inline void bcjit_frame_forget_locals(bcjit_frame *Py_UNUSED(f), bool Py_UNUSED(force)) {}
static inline Py_ssize_t bcjit_code_framesize(PyCodeObject *code) { return code->co_framesize; }
#define bcjit_code_get_extra PyUnstable_Code_GetExtra
#define bcjit_code_set_extra PyUnstable_Code_SetExtra
#define bcjit_request_extra_index PyUnstable_Eval_RequestCodeExtraIndex
static inline bool bcjit_tool_in_use(PyInterpreterState *interp, int tool)
{
    return interp->monitoring_tool_names[tool] != NULL;
}

#endif

/* ---- the same on every version --------------------------------------------------------------- */

/* The evaluator field is written directly: from 3.13 on the public setter also throws away every
 * tier 2 trace. Those traces may not run while a hook is set, and none can: we hold the GIL and set
 * it only around the entry of one frame (see hook.c); where it stays (watch.c) a trace that was made
 * in a pause would only keep frames from being seen. NULL means the default evaluator. */
static inline _PyFrameEvalFunction bcjit_get_evaluator(PyThreadState *ts)
{
    return ts->interp->eval_frame;
}
static inline void bcjit_set_evaluator(PyThreadState *ts, _PyFrameEvalFunction evaluator)
{
    ts->interp->eval_frame = evaluator;
}
static inline bool bcjit_is_default_evaluator(_PyFrameEvalFunction evaluator)
{
    return evaluator == NULL || evaluator == _PyEval_EvalFrameDefault;
}
/* For an evaluator that stays: throws away the traces that were made without one. */
static inline void bcjit_drop_traces(PyThreadState *ts)
{
    _PyFrameEvalFunction evaluator = bcjit_get_evaluator(ts);
    bcjit_set_evaluator(ts, NULL);          /* the setter does nothing where nothing changes */
    _PyInterpreterState_SetEvalFrameFunc(ts->interp, evaluator);
}
static inline PyObject *bcjit_eval(_PyFrameEvalFunction evaluator, PyThreadState *ts,
                                   bcjit_frame *f, int throwflag)
{
    return evaluator == NULL ? _PyEval_EvalFrameDefault(ts, f, throwflag)
                             : evaluator(ts, f, throwflag);
}
static inline bool bcjit_frame_owned_by_thread(bcjit_frame *f)
{
    return f->owner == FRAME_OWNED_BY_THREAD;
}
/* The exception being handled (sys.exc_info()), as the innermost frame left it. */
static inline PyObject **bcjit_handled_exception(PyThreadState *ts)
{
    return &ts->exc_info->exc_value;
}
/* The caller's C stack use was measured (stack.c): do not count it a second time. */
static inline void bcjit_uncount_c_recursion(PyThreadState *ts, int by)
{
#if BCJIT_C_RECURSION_UNITS
    ts->c_recursion_remaining += by;
#else
    (void)ts;
    (void)by;
#endif
}

/* Everything that runs now, out of sight: what is called next begins as a program does, with no
 * frame below it and the whole recursion limit before it. */
typedef struct {
    void *frame;
    int depth;
    int c_depth;
} bcjit_hidden;

static inline void bcjit_hide_frames(PyThreadState *ts, bcjit_hidden *hidden)
{
    hidden->frame = bcjit_current_frame(ts);
    hidden->depth = bcjit_recursion_limit(ts) - *bcjit_recursion_left(ts);
    hidden->c_depth = 0;
#if BCJIT_C_RECURSION_UNITS
    hidden->c_depth = BCJIT_C_RECURSION_LIMIT - ts->c_recursion_remaining;
#endif
    bcjit_set_current_frame(ts, bcjit_bottom_frame(ts));
    *bcjit_recursion_left(ts) += hidden->depth;
    bcjit_uncount_c_recursion(ts, hidden->c_depth);
}
static inline void bcjit_show_frames(PyThreadState *ts, const bcjit_hidden *hidden)
{
    bcjit_set_current_frame(ts, hidden->frame);
    *bcjit_recursion_left(ts) -= hidden->depth;
    bcjit_uncount_c_recursion(ts, -hidden->c_depth);
}

#endif
