"""Small faults that a program could have, one at a time: what `mutate.py` puts into the code to see who notices.

Docstrings, messages, annotations, reports of progress and strings are left alone; so are faults that would only rename
an error. A fault is known by its number in the order of the file's syntax tree.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

COMPARISONS: dict[type[ast.cmpop], list[type[ast.cmpop]]] = {
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
}
OPERATIONS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
OPPOSITES = [
    ("min", "max"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("any", "all"),
    ("zeros", "ones"),
    ("floor", "ceil"),
    ("abs", "negative"),
    ("lower", "upper"),
]
OPPOSITE = {one: two for pair in OPPOSITES for one, two in (pair, pair[::-1])}
# What a function gives back, by its annotation, and what stands for "nothing" there.
ZEROED, NEGATED = {"FloatArray", "IntArray", "float", "int"}, {"bool", "BoolArray"}
SILENT = {"report"}  # calls that tell how far the work is
TINY = 1e-3  # a smaller constant is a guard: a whole unit must be noticed, where twice as much need not be
MANY = 99  # a larger whole number is a limit: one more of it changes nothing, none of it must


@dataclass(frozen=True)
class Mutation:
    """One fault."""

    number: int  # in the file
    line: int
    statement: str  # that it is in; of one that holds others, the first line
    on_import: bool  # whether it runs when the file is imported, rather than when a function is called
    before: str
    after: str

    def __str__(self) -> str:
        return f"`{self.before}` → `{self.after}`"


def mutations(source: str) -> list[Mutation]:
    r"""List every fault that this file can be given.

    >>> [str(each) for each in mutations("def half(x: int) -> int:\n    return x / 2")]
    ['`return x / 2` → `return 0 * (x / 2)`', '`x / 2` → `x * 2`', '`2` → `3`']
    """
    found, seen = [], set()
    for number, (parent, name, index, new, statement, on_import) in enumerate(_sites(ast.parse(source))):
        old = _hung(parent, name, index)
        same = (old.lineno, old.col_offset, old.end_lineno, old.end_col_offset, ast.dump(new))
        if same not in seen:  # two rules may make the same fault
            seen.add(same)
            found.append(Mutation(number, old.lineno, statement, on_import, _text(old), _text(new)))
    return found


def mutated(source: str, number: int) -> ast.Module:
    """Return the file's syntax tree with one fault in it."""
    tree = ast.parse(source)
    parent, name, index, new, *_ = next(islice(_sites(tree), number, None))
    new = ast.copy_location(new, _hung(parent, name, index))
    if index is None:
        setattr(parent, name, new)
    else:
        getattr(parent, name)[index] = new
    return ast.fix_missing_locations(tree)


def _hung(parent: ast.AST, name: str, index: int | None) -> Any:
    place = getattr(parent, name)
    return place if index is None else place[index]


def _text(node: ast.AST) -> str:
    """Show a statement by its first line."""
    return ast.unparse(node).splitlines()[0]


# Where a node hangs, what to hang there instead, the statement, and whether that runs on import.
Site = tuple[ast.AST, str, int | None, ast.AST, str, bool]


def _sites(
    node: ast.AST, returns: str = "", bound: frozenset[str] = frozenset(), statement: str = "", on_import: bool = True
) -> Iterator[Site]:
    """Walk the tree in order, and yield every place where it can be given a fault."""
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        returns = ast.unparse(node.returns) if isinstance(node, ast.FunctionDef) and node.returns else ""
        bound = frozenset(argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg))
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "bases"}:
            continue
        now = on_import and not (name == "body" and isinstance(node, ast.FunctionDef | ast.Lambda))
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _is_silent(child):
                continue
            within = _text(child) if isinstance(child, ast.stmt) else statement
            for new in _faults(child, returns, bound):
                yield node, name, index, new, within, now
            if not isinstance(child, ast.Raise):  # what it says is a message
                yield from _sites(child, returns, bound, within, now)
            if isinstance(child, ast.Assign):
                bound |= {
                    each.id for target in child.targets for each in ast.walk(target) if isinstance(each, ast.Name)
                }


def _is_silent(node: ast.AST) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Assert | ast.JoinedStr):
        return True
    if isinstance(node, ast.FunctionDef) and node.name in {"__str__", "__repr__"}:
        return True
    call = node.value if isinstance(node, ast.Expr) else node
    if isinstance(call, ast.Constant) and isinstance(node, ast.Expr):
        return True  # a docstring
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in SILENT


def _faults(node: ast.AST, returns: str, bound: frozenset[str]) -> Iterator[ast.AST]:
    """Yield what could stand here by mistake."""
    match node:
        case ast.Compare():
            for k, operator in enumerate(node.ops):
                for other in COMPARISONS[type(operator)]:
                    yield ast.Compare(node.left, [*node.ops[:k], other(), *node.ops[k + 1 :]], node.comparators)
        case ast.BinOp() if type(node.op) in OPERATIONS and not isinstance(node.left, ast.JoinedStr):
            yield ast.BinOp(node.left, OPERATIONS[type(node.op)](), node.right)
        case ast.AugAssign():
            if type(node.op) in OPERATIONS:
                yield ast.AugAssign(node.target, OPERATIONS[type(node.op)](), node.value)
            yield ast.Pass()
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp():
            yield node.operand
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int()):
            yield ast.Constant(0 if node.value > MANY else node.value + 1)
        case ast.Constant(value=float()):
            yield ast.Constant(node.value + 1 if abs(node.value) < TINY else 2 * node.value)
        case ast.If() | ast.While() | ast.IfExp() if not isinstance(node.test, ast.UnaryOp | ast.Compare):
            yield _with_test(node, ast.UnaryOp(ast.Not(), node.test))
        case ast.Attribute() if node.attr in OPPOSITE:
            yield ast.Attribute(node.value, OPPOSITE[node.attr], node.ctx)
        case ast.Name() if node.id in OPPOSITE and isinstance(node.ctx, ast.Load) and node.id not in bound:
            yield ast.Name(OPPOSITE[node.id], node.ctx)
        case ast.Return(value=ast.expr()) if not isinstance(node.value, ast.Constant):
            yield from _neutral(node.value, returns)
        case ast.Expr() | ast.Break() | ast.Continue() | ast.Raise():
            yield ast.Pass()
        case ast.Assign() if all(_can_be_left_out(target, bound) for target in node.targets):
            yield ast.Pass()


def _with_test(node: ast.If | ast.While | ast.IfExp, test: ast.expr) -> ast.AST:
    if isinstance(node, ast.IfExp):
        return ast.IfExp(test, node.body, node.orelse)
    return type(node)(test, node.body, node.orelse)


def _neutral(value: ast.expr, returns: str) -> Iterator[ast.AST]:
    if returns in NEGATED:
        yield ast.Return(ast.UnaryOp(ast.Not() if returns == "bool" else ast.Invert(), value))
    elif returns in ZEROED:
        yield ast.Return(ast.BinOp(ast.Constant(0), ast.Mult(), value))


def _can_be_left_out(target: ast.expr, bound: frozenset[str]) -> bool:
    """Whether the code still runs without this assignment: it changes a part of something, or a name that is there."""
    if isinstance(target, ast.Tuple):
        return all(_can_be_left_out(each, bound) for each in target.elts)
    return isinstance(target, ast.Subscript | ast.Attribute) or (isinstance(target, ast.Name) and target.id in bound)
