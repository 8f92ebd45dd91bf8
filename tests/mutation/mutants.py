"""Small changes of a module that a test ought to notice: another sign, comparison, number, axis or condition."""

import ast
import copy
from dataclasses import dataclass

SWAPPED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True)
class Mutant:
    """One change, and the module with it."""

    line: int
    before: str
    after: str
    tree: ast.Module


def mutants(source):
    """Every mutant of a module, in the order of its lines."""
    tree = ast.parse(source)
    found = []
    for number, node in enumerate(_within(tree)):
        for change in _changes(node):
            other = copy.deepcopy(tree)
            twin = list(_within(other))[number]
            change(twin)
            before, after = _shown(tree, node), _shown(other, twin)
            if before != after:
                found.append(Mutant(node.lineno, before, after, ast.fix_missing_locations(other)))
    return sorted(found, key=lambda each: each.line)


def _silent(node):
    """What does not run, or only in a type checker."""
    return isinstance(node, (ast.arg, ast.Import, ast.ImportFrom))


def _within(tree):
    """The nodes that compute, depth first; annotations, docstrings and decorators are left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            for part in node.body:
                yield from _walked(part)
        else:
            yield from _walked(node)


def _walked(node):
    if _silent(node):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "args") and not isinstance(
            node, ast.Call
        ):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield from _walked(part)


def _changes(node):
    """Functions that change a copy of the node in place."""
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)) and type(node.op) in SWAPPED:
        yield lambda twin: setattr(twin, "op", SWAPPED[type(twin.op)]())
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        yield lambda twin: twin.ops.__setitem__(0, SWAPPED[type(twin.ops[0])]())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not, ast.Invert)):
        yield lambda twin: setattr(twin, "op", ast.UAdd() if isinstance(twin.op, ast.USub) else ast.Not())
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        yield lambda twin: setattr(
            twin, "value", not twin.value if isinstance(twin.value, bool) else _other(twin.value)
        )
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        yield lambda twin: setattr(twin, "test", ast.UnaryOp(ast.Not(), twin.test))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in OTHERS:
        yield lambda twin: setattr(twin.func, "attr", OTHERS[twin.func.attr])


OTHERS = {
    "maximum": "minimum",
    "minimum": "maximum",
    "max": "min",
    "min": "max",
    "sum": "mean",
    "mean": "sum",
    "argmin": "argmax",
    "argmax": "argmin",
    "zeros": "ones",
    "ones": "zeros",
    "floor": "ceil",
    "ceil": "floor",
    "sin": "cos",
    "cos": "sin",
    "expm1": "exp",
    "log1p": "log",
    "cumsum": "cumprod",
    "any": "all",
    "all": "any",
}


def _other(value):
    return value + 1 if isinstance(value, int) else value * 1.5 + (value == 0.0)


def _shown(tree, node):
    """The smallest statement around a node, in one line."""
    best = node
    for each in ast.walk(tree):
        if isinstance(each, ast.stmt) and not isinstance(each, (ast.FunctionDef, ast.ClassDef)) and _holds(each, node):
            best = each if not isinstance(best, ast.stmt) or _holds(best, each) else best
    text = ast.unparse(best.test if isinstance(best, (ast.If, ast.While)) and _holds(best.test, node) else best)
    return " ".join(text.split())


def _holds(outer, inner):
    return any(each is inner for each in ast.walk(outer))
