/* guard_relation.c - relations between integers: a small stack program, on int64 while that is
 * enough and on Python's ints when a symbol does not fit or an operation overflows. */
#include "guards.h"

#define SMALL_STACK 16

/* ---- from the specification ----------------------------------------------------------------- */

void bcjit_relation_free(RelationProgram *program)
{
    if (program != NULL) {
        PyMem_Free(program->symbols);
        PyMem_Free(program->instructions);
        PyMem_Free(program);
    }
}

static bool parse_symbols(RelationProgram *program, PyObject *places, int ready)
{
    program->n_symbols = (int)PyTuple_GET_SIZE(places);
    program->symbols = PyMem_Calloc(program->n_symbols + 1, sizeof(int));
    if (program->symbols == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (int i = 0; i < program->n_symbols; i++) {
        long place = PyLong_AsLong(PyTuple_GET_ITEM(places, i));
        if (place < 0 || place >= ready) {
            return false;
        }
        program->symbols[i] = (int)place;
    }
    return true;
}

static bool parse_instruction(RelationProgram *program, Instruction *to, PyObject *pair)
{
    int operation;
    if (!PyTuple_Check(pair) || !PyArg_ParseTuple(pair, "iO!", &operation, &PyLong_Type, &to->constant) ||
        operation < 0 || operation >= OPERATIONS) {
        return false;
    }
    int overflow;
    to->operation = (enum operation)operation;
    to->operand = PyLong_AsLongLongAndOverflow(to->constant, &overflow);
    if (overflow) {
        program->fits = false;
    }
    if (to->operation == OP_SYMBOL) {
        return !overflow && to->operand >= 0 && to->operand < program->n_symbols;
    }
    return true;
}

static bool parse_instructions(RelationProgram *program, PyObject *pairs)
{
    program->n_instructions = PyTuple_GET_SIZE(pairs);
    program->instructions = PyMem_Calloc(program->n_instructions + 1, sizeof(Instruction));
    if (program->instructions == NULL) {
        PyErr_NoMemory();
        return false;
    }
    Py_ssize_t depth = 0;
    for (Py_ssize_t i = 0; i < program->n_instructions; i++) {
        Instruction *to = &program->instructions[i];
        if (!parse_instruction(program, to, PyTuple_GET_ITEM(pairs, i))) {
            return false;
        }
        depth += to->operation <= OP_SYMBOL ? 1 : -1;
        if (depth < 1) {
            return false;
        }
        program->depth = Py_MAX(program->depth, depth);
    }
    program->fits = program->fits && program->depth <= SMALL_STACK;
    program->simple = program->fits && program->n_instructions == 2 && depth == 2 &&
                      program->instructions[0].operation == OP_SYMBOL;
    return depth == 2;
}

RelationProgram *bcjit_relation_parse(PyObject *payload, int ready)
{
    PyObject *places, *pairs;
    int comparison;
    if (!PyTuple_Check(payload) || !PyArg_ParseTuple(payload, "O!iO!", &PyTuple_Type, &places, &comparison,
                                                     &PyTuple_Type, &pairs)) {
        return NULL;
    }
    RelationProgram *program = PyMem_Calloc(1, sizeof(RelationProgram));
    if (program == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    program->comparison = (enum comparison)comparison;
    program->fits = true;
    if (comparison < 0 || comparison >= COMPARISONS || !parse_symbols(program, places, ready) ||
        !parse_instructions(program, pairs)) {
        bcjit_relation_free(program);
        return NULL;
    }
    return program;
}

/* ---- on int64: false when that is not enough ------------------------------------------------- */

#if defined(__GNUC__) || defined(__clang__)
#  define add_overflows __builtin_add_overflow
#  define multiply_overflows __builtin_mul_overflow
#else
static bool add_overflows(int64_t a, int64_t b, int64_t *to)
{
    if ((b > 0 && a > INT64_MAX - b) || (b < 0 && a < INT64_MIN - b)) {
        return true;
    }
    *to = a + b;
    return false;
}
static bool multiply_overflows(int64_t a, int64_t b, int64_t *to)
{
    if (a != 0 && b != 0 &&
        ((a == -1 && b == INT64_MIN) || (b == -1 && a == INT64_MIN) ||
         (b != -1 && (a > 0 ? (b > 0 ? a > INT64_MAX / b : b < INT64_MIN / a)
                            : (b > 0 ? a < INT64_MIN / b : b < INT64_MAX / a))))) {
        return true;
    }
    *to = a * b;
    return false;
}
#endif

static bool divide(enum operation operation, int64_t a, int64_t b, int64_t *to)
{
    if (b == 0 || b == -1) {
        return false;           /* an error, or one quotient that does not fit */
    }
    int64_t quotient = a / b, remainder = a % b;
    if (remainder != 0 && (remainder < 0) != (b < 0)) {
        quotient -= 1;          /* Python rounds down, and the remainder has the divisor's sign */
        remainder += b;
    }
    *to = operation == OP_MODULO ? remainder : quotient;
    return true;
}

static bool apply(enum operation operation, int64_t a, int64_t b, int64_t *to)
{
    switch (operation) {
    case OP_ADD: return !add_overflows(a, b, to);
    case OP_MULTIPLY: return !multiply_overflows(a, b, to);
    case OP_MINIMUM: *to = Py_MIN(a, b); return true;
    case OP_MAXIMUM: *to = Py_MAX(a, b); return true;
    default: return divide(operation, a, b, to);
    }
}

/* 1 and the value; 0: it does not fit; -1: it is no exact int. */
static int small_symbol(Slot *slot, int64_t *to)
{
    if (slot->flags & SLOT_NUMBER) {
        *to = slot->number;
        return 1;
    }
    if (!PyLong_CheckExact(slot->object)) {
        return -1;
    }
    int overflow;
    *to = PyLong_AsLongLongAndOverflow(slot->object, &overflow);
    return !overflow;
}

/* 1: holds; 0: does not; -1: int64 is not enough. */
static int holds_small(Check *check, const RelationProgram *program)
{
    int64_t stack[SMALL_STACK];
    int top = 0;
    for (Py_ssize_t i = 0; i < program->n_instructions; i++) {
        const Instruction *at = &program->instructions[i];
        if (at->operation == OP_CONSTANT) {
            stack[top++] = at->operand;
        }
        else if (at->operation == OP_SYMBOL) {
            if (small_symbol(&check->slots[program->symbols[at->operand]], &stack[top++]) != 1) {
                return -1;
            }
        }
        else {
            top--;
            if (!apply(at->operation, stack[top - 1], stack[top], &stack[top - 1])) {
                return -1;
            }
        }
    }
    return bcjit_compare(program->comparison, stack[0], stack[1]);
}

/* ---- on Python's ints ------------------------------------------------------------------------ */

static PyObject *smaller_or_larger(PyObject *a, PyObject *b, int comparison)
{
    int better = PyObject_RichCompareBool(b, a, comparison);
    return better < 0 ? NULL : Py_NewRef(better ? b : a);
}

static PyObject *apply_big(enum operation operation, PyObject *a, PyObject *b)
{
    switch (operation) {
    case OP_ADD: return PyNumber_Add(a, b);
    case OP_MULTIPLY: return PyNumber_Multiply(a, b);
    case OP_FLOOR_DIVIDE: return PyNumber_FloorDivide(a, b);
    case OP_MODULO: return PyNumber_Remainder(a, b);
    case OP_MINIMUM: return smaller_or_larger(a, b, Py_LT);
    default: return smaller_or_larger(a, b, Py_GT);
    }
}

static bool run_big(Check *check, const RelationProgram *program, PyObject **stack, Py_ssize_t *top)
{
    for (Py_ssize_t i = 0; i < program->n_instructions; i++) {
        const Instruction *at = &program->instructions[i];
        PyObject *value;
        if (at->operation == OP_CONSTANT) {
            value = Py_NewRef(at->constant);
        }
        else if (at->operation == OP_SYMBOL) {
            value = Py_NewRef(check->slots[program->symbols[at->operand]].object);
        }
        else {
            PyObject *b = stack[--*top], *a = stack[--*top];
            value = apply_big(at->operation, a, b);
            Py_DECREF(a);
            Py_DECREF(b);
            if (value == NULL) {
                return false;
            }
        }
        stack[(*top)++] = value;
    }
    return true;
}

static bool holds_big(Check *check, const RelationProgram *program)
{
    static const int comparisons[COMPARISONS] = {Py_EQ, Py_NE, Py_LE};
    for (int i = 0; i < program->n_symbols; i++) {
        PyObject *value = bcjit_slot_object(check, &check->slots[program->symbols[i]]);
        if (value == NULL || !PyLong_CheckExact(value)) {
            return false;
        }
    }
    PyObject **stack = PyMem_Calloc(program->depth, sizeof(PyObject *));
    if (stack == NULL) {
        return false;
    }
    Py_ssize_t top = 0;
    int holds = -1;
    if (run_big(check, program, stack, &top)) {
        holds = PyObject_RichCompareBool(stack[0], stack[1], comparisons[program->comparison]);
    }
    if (holds < 0) {
        PyErr_Clear();          /* division by zero, or no memory */
    }
    while (top > 0) {
        Py_DECREF(stack[--top]);
    }
    PyMem_Free(stack);
    return holds == 1;
}

bool bcjit_relation_holds(Check *check, const RelationProgram *program)
{
    if (BCJIT_LIKELY(program->fits)) {
        int holds = holds_small(check, program);
        if (holds >= 0) {
            return holds;
        }
    }
    return holds_big(check, program);
}
