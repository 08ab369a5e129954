"""Statements and expressions that cannot be scripted, found before any types are known."""

from __future__ import annotations

import ast

from .problems import File, Problem

# Kinds of nodes: code, name of the construct, a way out.
_REFUSED = {
    ast.Try: ("P0101", "`try`", "test for the case with `if` instead"),
    ast.TryStar: ("P0101", "`try`", "test for the case with `if` instead"),
    ast.With: ("P0101", "`with`", "open files and contexts outside of the scripted function"),
    ast.AsyncWith: ("P0101", "`async with`", "open files and contexts outside of the scripted function"),
    ast.AsyncFor: ("P0101", "`async for`", "write for"),
    ast.AsyncFunctionDef: ("P0101", "`async def`", "write def"),
    ast.Raise: ("P0101", "`raise`", "return a value that marks the case, or check it before the call"),
    ast.Assert: ("P0101", "`assert`", "check it before the call, or in f.py(...)"),
    ast.Delete: ("P0101", "`del`", "leave it out: values that nothing reads are freed"),
    ast.Global: ("P0101", "`global`", "return the new value instead"),
    ast.Nonlocal: ("P0101", "`nonlocal`", "return the new value instead"),
    ast.Import: ("P0101", "`import`", "import at the top of the file"),
    ast.ImportFrom: ("P0101", "`import`", "import at the top of the file"),
    ast.ClassDef: ("P0101", "`class`", "define the class outside, as a dataclass with relay.data_type"),
    ast.Dict: ("P0102", "a dictionary", "use a tuple, or a dataclass with relay.data_type"),
    ast.DictComp: ("P0102", "a dictionary", "use a list of tuples"),
    ast.Set: ("P0102", "a set", "use a list"),
    ast.SetComp: ("P0102", "a set", "use a list"),
    ast.GeneratorExp: ("P0102", "a generator", "write a list: [... for x in xs]"),
    ast.Yield: ("P0102", "`yield`", "collect the values in a list and return it"),
    ast.YieldFrom: ("P0102", "`yield from`", "collect the values in a list and return it"),
    ast.Await: ("P0102", "`await`", "call the function directly"),
    ast.JoinedStr: ("P0102", "an f-string", "strings exist only while the program is compiled: use a constant"),
    ast.Starred: ("P0102", "a starred expression", "name the elements one by one"),
}

_MUTATORS = {
    "append": "write xs = xs + [x]",
    "extend": "write xs = xs + ys",
    "insert": "build a new list with +",
    "pop": "match the list, or use a slice of it",
    "remove": "build a new list: [x for x in xs if ...]",
    "clear": "write xs = []",
    "update": "build a new value",
}


class _Checker(ast.NodeVisitor):
    def __init__(self, file: File):
        self.file, self.problems = file, []
        self.types: list[ast.AST] = []  # annotations, which are not translated

    def add(self, code: str, message: str, node: ast.AST, help: str) -> None:
        self.problems.append(Problem(code, message, self.file.place(node), help))

    def generic_visit(self, node: ast.AST) -> None:
        refused = _REFUSED.get(type(node))
        if refused:
            code, what, help = refused
            self.add(code, f"{what} cannot be scripted", node, help)
            return
        super().generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._parameters(node.args)
        for one in node.decorator_list:
            self.add("P0103", "a nested function with a decorator cannot be scripted", one, "remove the decorator")
        for statement in node.body:
            self.visit(statement)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._parameters(node.args)
        self.visit(node.body)

    def _parameters(self, args: ast.arguments) -> None:
        for one in (args.vararg, args.kwarg):
            if one is not None:
                star = "*" if one is args.vararg else "**"
                self.add("P0105", f"`{star}{one.arg}` cannot be scripted", one, "name the parameters one by one")

    def visit_For(self, node: ast.For) -> None:
        self._no_else(node, "for")
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._no_else(node, "while")
        self.generic_visit(node)

    def _no_else(self, node, word: str) -> None:
        if node.orelse:
            message = f"`else` of a `{word}` loop cannot be scripted"
            self.add("P0101", message, node.orelse[0], "set a flag before `break` and test it after the loop")

    def visit_Compare(self, node: ast.Compare) -> None:
        for op, right in zip(node.ops, node.comparators, strict=True):
            of_none = any(isinstance(one, ast.Constant) and one.value is None for one in (node.left, right))
            if isinstance(op, (ast.Is, ast.IsNot)) and not of_none:
                word = "is" if isinstance(op, ast.Is) else "is not"
                self.add(
                    "P0102",
                    f"`{word}` cannot be scripted: values have no identity",
                    node,
                    f"compare values with {'==' if word == 'is' else '!='}",
                )
            if isinstance(op, (ast.In, ast.NotIn)):
                self.add("P0102", "`in` cannot be scripted", node, "compare with == in a loop, or use relay.any")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATORS:
            name = node.func.attr
            self.add("P0104", f"`.{name}()` changes a list, and values of scripts never change", node, _MUTATORS[name])
            return
        for one in node.keywords:
            if one.arg is None:
                self.add("P0102", "`**` cannot be scripted", one.value, "name the arguments one by one")
        self.generic_visit(node)

    def _target(self, node: ast.AST) -> None:
        if isinstance(node, ast.Subscript):
            self.add(
                "P0104",
                "elements of a value cannot be assigned",
                node,
                "build a new array, with np.where or relay.scatter_nd",
            )
        elif isinstance(node, ast.Attribute):
            self.add("P0104", "fields of a value cannot be assigned", node, "make a new value and return it")
        elif isinstance(node, (ast.Tuple, ast.List)):
            for one in node.elts:
                self._target(one)
        elif isinstance(node, ast.Starred):
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        for one in node.targets:
            self._target(one)
        self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._target(node.target)
        self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            self.add(
                "P0101",
                f"`{ast.unparse(node.target)}` has a type but no value",
                node,
                "give it a value, or remove the line",
            )
            return
        self._target(node.target)
        self.visit(node.value)

    def visit_match_case(self, node: ast.match_case) -> None:
        if node.guard is not None:
            self.add("P0211", "a guard of a case cannot be scripted", node.guard, "test with `if` inside the case")
        self.generic_visit(node)


def check(definition: ast.FunctionDef | ast.Lambda, file: File) -> list[Problem]:
    """Returns the problems that need no types to be found, in the order of the text."""
    checker = _Checker(file)
    checker._parameters(definition.args)
    body = definition.body if isinstance(definition, ast.FunctionDef) else [definition.body]
    for statement in body:
        checker.visit(statement)
    return sorted(checker.problems, key=lambda one: (one.place.line, one.place.column))
