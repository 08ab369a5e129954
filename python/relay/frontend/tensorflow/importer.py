"""Imports a graph: evaluates the nodes that outputs need, each after its inputs. All problems are in one diagnostic.

A scope holds the values of one graph: the main graph, the body of a function at one of its calls, or the frame of a
loop. Functions are imported in place.
"""

from __future__ import annotations

import numpy as np

from ..._core import Expr, infer_expr
from ...errors import CompileError, told
from ..shared.folded import folded
from ..shared.problems import Problems, Refused
from ..shared.provenance import Fates
from ..shared.values import FAILED, Function, Known, Variable, constant
from . import control1, texts
from .attributes import unknown
from .changing import Changing
from .conversion import Conversion, is_failed
from .file import Model
from .graph import CONTROL, Graph, Node, Ref, body_of, functions_of, main_graph
from .known import fold
from .scope import Scope
from .table import ASSIGNS, CONVERTERS, way_out
from .variables import Variables

OTHER = "the operators that are imported are listed in docs/front-ends.md; write this part with those"
MOST_CONVERTED = 100_000  # nodes, counted in each call of a function
MOST_DEPTH = 48  # functions and loops inside others


class Importer:
    """The import of one model. changed: the variables that a run changes, as an import before has found them."""

    def __init__(self, model: Model, changed: dict[str, Variable]):
        self.model = model
        self.problems, self.fates = Problems("the TensorFlow model", OTHER), Fates()
        self.graph = main_graph(model.graph, model.name)
        self.functions, self._bodies = functions_of(model.graph, model.name), {}
        self.variables, self.words = Variables(self, changed), texts.Words()
        self._changing = Changing(self.functions)
        self.main = Scope(self.graph, {})
        self._converted = self._depth = 0
        self._folded, self._shared = {}, {}
        self.make_input = None  # the function that makes the parameter of a placeholder

    # --- what conversions share ---------------------------------------------------------------------------------------
    def folded(self, value: Expr) -> np.ndarray | None:
        """Returns the elements of an expression that depends on no input; None for others."""
        return folded(value, self._folded)

    def shared(self, key, make):
        """Returns what `make` returned for this key before."""
        if key not in self._shared:
            self._shared[key] = make()
        return self._shared[key]

    def input(self, node: Node):
        if self.make_input is None:
            raise Refused(
                "it is an input that the signature does not name", "name another signature, or the outputs you need"
            )
        return self.make_input(node)

    def body(self, name: str) -> Graph:
        if name not in self._bodies:
            if name not in self.functions:
                raise told("bad_model", f"the function `{name}` is called, and is not in {self.model.name}",
                           "save the model again with TensorFlow")  # fmt: skip
            self._bodies[name] = body_of(self.functions[name], self.model.name)
            self._refuse_assignments(self._bodies[name].nodes.values())
        return self._bodies[name]

    def call(self, function: Function, arguments: list, node: Node) -> list:
        """Returns the results of a function. Those that fail are FAILED; their problems are recorded."""
        graph = self.body(function.name)
        if len(arguments) != len(graph.params):
            raise told(
                "bad_model",
                f"{node} calls the function `{function.name}` with {len(arguments)} arguments, and it has "
                f"{len(graph.params)}",
                "save the model again with TensorFlow",
            )
        scope = Scope(graph, dict(zip(graph.params, arguments, strict=True)))
        # a function runs all nodes that change variables, also those that no result needs
        self.evaluate(scope, [*graph.results, *(Ref(name) for name in self._changing.own(graph))])
        return [scope.get(ref, f"the function `{graph.name}`") for ref in graph.results]

    def changes(self, function: str) -> bool:
        """Returns true if a call of a function changes a variable."""
        return self._changing.is_changing(function)

    def _refuse_assignments(self, nodes) -> None:
        """Records the nodes that change variables in forms that are not imported. A function runs all of them, also
        those that no result needs."""
        for node in nodes:
            if node.op in ASSIGNS:
                reason, remedy = way_out(node.op)
                self.problems.record(f"{node.op}: {reason}", f", first in `{node.name}`", remedy)

    def check_effects(self, refs: list[Ref]) -> None:
        """Records the nodes of the main graph that change variables before the outputs are computed."""
        seen, pending = set(), [ref.name for ref in refs]
        while pending:
            node = self.graph.nodes.get(pending.pop())
            if node is None or node.name in seen:
                continue
            seen.add(node.name)
            pending += [*node.controls, *(ref.name for ref in node.inputs)]
        self._refuse_assignments(self.graph.nodes[name] for name in seen if name not in self.main.values)

    # --- evaluation ---------------------------------------------------------------------------------------------------
    def evaluate(self, scope: Scope, refs: list[Ref]) -> None:
        """Computes the nodes of these results, in the scope."""
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise told("limit_exceeded", f"functions and loops are nested more than {MOST_DEPTH} levels deep",
                       "a function that calls itself cannot be imported; save the model again")  # fmt: skip
        stack = [ref.name for ref in reversed(refs) if ref.index >= 0]
        for name in stack:
            self._check(scope, name)
        while stack:
            name = stack[-1]
            if name in scope.values:
                stack.pop()
                scope.open.discard(name)
                continue
            node = scope.graph.nodes[name]
            missing = [ref.name for ref in self._needs(scope, node) if ref.index >= 0 and ref.name not in scope.values]
            if missing:
                scope.open.add(name)
                for one in missing:
                    if one in scope.open:
                        raise told("bad_model", f"{node} needs its own result: the graph has a cycle through `{one}`",
                                   "save the model again with TensorFlow")  # fmt: skip
                stack += reversed(missing)
                continue
            scope.open.add(name)
            scope.values[name] = self._convert(scope, node)
        self._depth -= 1

    def _check(self, scope: Scope, name: str) -> None:
        if name not in scope.graph.nodes:
            raise told("bad_model", f"the graph of {self.model.name} has no node `{name}`",
                       "name a node of the graph; `relay check` prints its outputs")  # fmt: skip

    def _needs(self, scope: Scope, node: Node) -> list[Ref]:
        """Returns the results that the node needs before it is converted; more of them when these are there."""
        if node.op in CONTROL:
            return control1.needs(self, scope, node)
        if not self._changing.own(scope.graph):
            return node.inputs
        for name in node.controls:
            self._check(scope, name)
        return [*node.inputs, *(Ref(name) for name in node.controls)]

    def _convert(self, scope: Scope, node: Node):
        """Returns the results of a node, or FAILED."""
        self._converted += 1
        if self._converted > MOST_CONVERTED:
            raise told("limit_exceeded", f"more than {MOST_CONVERTED} nodes are imported, counted in each call of a "
                       "function", "name the outputs that you need: outputs=[...]")  # fmt: skip
        if node.op in CONTROL:
            return self._guarded(node, lambda: control1.convert(self, scope, node))
        inputs = [scope.get(ref, node) for ref in node.inputs]
        function = CONVERTERS.get(node.op)
        if function is None and node.op not in self.functions:
            reason = way_out(node.op)
            what = f"the operator {node.op}" if reason is None else f"the operator {node.op}: {reason[0]}"
            self.problems.record(what, f", first in `{node.name}`", reason[1] if reason else OTHER)
            return FAILED
        if is_failed(inputs) and node.op not in _TAKES_FAILED:
            return FAILED
        c = Conversion(self, scope, node, inputs)
        if function is None:  # a function that is called by its name
            return self._guarded(node, lambda: c.call(Function(node.op, {}), inputs))
        return self._guarded(node, lambda: self._made(c, function), inputs)

    def _made(self, c: Conversion, function):
        newer = unknown(c.node.op, c.node.attrs)
        if newer:
            raise Refused(
                f"it has the attribute `{newer[0]}`, which its operator does not have in TensorFlow 2.21",
                "save the model with that version, or leave the attribute out",
            )
        if any(texts.is_text(one) for one in c.inputs):
            return texts.convert(c, function, fold)
        known = fold(c)
        return function(c) if known is None else known

    def _guarded(self, node: Node, convert, inputs=()):
        """Returns the results of a conversion. A problem is recorded with the node's name."""
        place = f"{node.op} '{node.name}'"
        depth = self._depth
        try:
            with self.fates.of(place):
                made = convert()
                results = list(made) if isinstance(made, (list, tuple)) else [made]
                for one in results:
                    if isinstance(one, Expr):
                        infer_expr(one)
            if all(isinstance(one, (Expr, Known)) for one in results):
                # elements that are known at import are given as they are: no expression is made for them
                exprs = [one if isinstance(one, Expr) else _KNOWN for one in results]
                self.fates.converted(place, exprs, [one for one in inputs if isinstance(one, Expr)], False)
            return results
        except CompileError as error:
            self._depth = depth
            first = error.diagnostics[0] if error.diagnostics else None
            if first is None or first.kind in ("corrupt_file", "bad_model", "limit_exceeded", "wrong_input"):
                raise
            self.problems.record(f"{node.op}: {first.message}", f", first in `{node.name}`", first.help or OTHER)
        except Refused as reason:
            self._depth = depth
            self.problems.record(f"{node.op}: {reason}", f", first in `{node.name}`", reason.help)
        except RecursionError as error:
            raise told("limit_exceeded", "functions are nested too deeply", "save the model again") from error
        except (TypeError, ValueError, IndexError, KeyError, AttributeError, OverflowError, ZeroDivisionError,
                AssertionError) as error:  # fmt: skip
            # any failure of a converter on attributes that TensorFlow cannot have written
            self._depth = depth
            what = f"{node.op}: it cannot be imported ({type(error).__name__}: {error})"
            help = "save the model again; if TensorFlow runs it, report it as a bug in Relay"
            self.problems.record(what, f", first in `{node.name}`", help)
        return FAILED


_KNOWN = constant(np.zeros((), np.int8))  # stands for elements that are known, when a node's fate is recorded
# Operators that call functions, in which further operators may be missing.
_TAKES_FAILED = {"PartitionedCall", "StatefulPartitionedCall", "Identity", "IdentityN"}
