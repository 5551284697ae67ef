"""A function's source as the text of one expression that numexpr takes, where it is one: names assigned once after the other, and what is returned."""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from typing import Any, Final

import numpy as np

from bcjit.bench.measure import Function

__all__ = ["NoExpression", "compile_function", "expression"]

FUNCTIONS: Final = frozenset({
    *("abs", "where", "sqrt", "floor", "ceil", "log", "log10", "log1p", "exp", "expm1"),
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2"),
    *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
})  # fmt: skip
REDUCTIONS: Final = frozenset(("sum", "prod", "min", "max"))
LONGEST: Final = (
    20_000  # characters: names stand for what they were given, so a loop written out grows quickly
)


class NoExpression(Exception):
    """What numexpr's texts cannot say."""


def expression(function: Function) -> tuple[str, tuple[str, ...], dict[str, float]]:
    """Return the text, the names of the arguments, and the constants that it names.

    Raises
    ------
    NoExpression
        The function is more than an expression.
    """
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(definition, ast.FunctionDef)
    parameters = tuple(argument.arg for argument in definition.args.args)
    writer = _Writer(parameters)
    for statement in definition.body:
        match statement:
            case ast.Expr(value=ast.Constant()):
                continue  # the docstring
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                writer.known[name] = writer.text(value)
            case ast.Return(value=ast.expr() as value):
                return writer.returned(value), parameters, writer.constants
            case _:
                raise NoExpression(f"it has {_a(statement)}")
    raise NoExpression("it returns nothing")


def _a(node: ast.AST) -> str:
    return f"{type(node).__name__.lower()}, no expression"


class _Writer:
    def __init__(self, parameters: tuple[str, ...]) -> None:
        self.known = {name: name for name in parameters}
        self.constants: dict[str, float] = {}

    def returned(self, node: ast.expr) -> str:
        """Return the text of what is returned, which alone may be a reduction of everything."""
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=[], keywords=[]) if (
                name in REDUCTIONS and not _is_numpy(value)
            ):
                return f"{name}({self.text(value)})"
        return self.text(node)

    def text(self, node: ast.expr) -> str:
        found = self._text(node)
        if len(found) > LONGEST:
            raise NoExpression("its expression is too long")
        return found

    def _text(self, node: ast.expr) -> str:
        match node:
            case ast.Name(id=name) if name in self.known:
                return self.known[name]
            case ast.Constant(value=int() as value):
                return repr(value)
            case ast.Constant(value=float() as value):
                # By name: a constant in the text is of double precision and makes the result so.
                name = f"constant_{len(self.constants)}"
                self.constants[name] = value
                return name
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _SIGNS:
                return f"({self.text(left)} {_SIGNS[type(op)]} {self.text(right)})"
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"(-{self.text(operand)})"
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _SIGNS:
                return f"({self.text(left)} {_SIGNS[type(op)]} {self.text(right)})"
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=args, keywords=[]) if (
                _is_numpy(value) and name in FUNCTIONS
            ):
                return f"{name}({', '.join(map(self.text, args))})"
        raise NoExpression(f"it has {ast.unparse(node)[:40]}, no expression of numexpr's")


_SIGNS: Final[dict[type[ast.operator | ast.cmpop], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


def _is_numpy(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "np"


def compile_function(function: Function) -> Function:
    """Return what evaluates a function's expression by numexpr."""
    text, parameters, constants = expression(function)
    numexpr = importlib.import_module("numexpr")
    by_dtype: dict[Any, dict[str, Any]] = {}

    def call(*args: Any) -> Any:
        dtype = np.result_type(*args)
        named = by_dtype.get(dtype)
        if named is None:
            # As NumPy has it: a Python number takes the precision of the arrays it meets.
            named = {name: np.asarray(value, dtype) for name, value in constants.items()}
            by_dtype[dtype] = named
        values = dict(zip(parameters, args, strict=True)) | named
        found = numexpr.evaluate(text, local_dict=values, global_dict={})
        return found if found.ndim else found[()]

    return call
