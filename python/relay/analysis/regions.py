"""The regions of an expression between annotations: from compiler_begin to compiler_end.

regions = relay.analysis.AnnotatedRegionSet(f, op.get("annotation.compiler_begin"), op.get("annotation.compiler_end"))
regions.get_region(call).target, .args, .nodes, .rets
"""

from __future__ import annotations

from .._core import Call, Expr, Function, Op, children, post_order_visit

__all__ = ["AnnotatedRegion", "AnnotatedRegionSet"]


class AnnotatedRegion:
    """A region: the name of its compiler, the calls of the begin operator at its entries, the calls of the end operator
    at its exits, and all of its nodes, including these calls."""

    def __init__(self, number: int, target: str):
        self.id, self.target = number, target
        self.args: list[Expr] = []
        self.nodes: list[Expr] = []
        self.rets: list[Expr] = []

    def __repr__(self) -> str:
        return f"<region {self.id} for {self.target}: {len(self.nodes)} nodes>"


class AnnotatedRegionSet:
    """All regions, in the order of their first results. A node between a begin and an end is in one region with
    everything that reaches it without passing a begin."""

    def __init__(self, expr: Expr, region_begin_op: Op, region_end_op: Op):
        self._begin, self._end = region_begin_op, region_end_op
        self._regions: list[AnnotatedRegion] = []
        self._of: dict[Expr, AnnotatedRegion] = {}
        order: list[Expr] = []
        post_order_visit(expr, order.append)
        for node in order:
            if self._is(node, region_end_op):
                self._enter(node)
        for region in self._regions:
            region.nodes = [node for node in order if self._of.get(node) is region]
            region.args = [node for node in region.nodes if self._is(node, region_begin_op)]
            region.rets = [node for node in region.nodes if self._is(node, region_end_op)]

    @staticmethod
    def _is(node: Expr, op: Op) -> bool:
        return isinstance(node, Call) and node.op == op

    def _enter(self, end: Call) -> None:
        found, work = [], [end]
        seen: set[Expr] = set()
        while work:
            node = work.pop()
            if node in seen or isinstance(node, Op) or (node is not end and self._is(node, self._end)):
                continue
            seen.add(node)
            found.append(node)
            if not self._is(node, self._begin) and not isinstance(node, Function):
                work += children(node)
        known = {id(self._of[node]): self._of[node] for node in found if node in self._of}
        region = next(iter(known.values()), None)
        if region is None:
            region = AnnotatedRegion(len(self._regions), end.attrs.compiler)
            self._regions.append(region)
        for other in list(known.values())[1:]:
            self._join(region, other)
        for node in found:
            self._of[node] = region

    def _join(self, into: AnnotatedRegion, other: AnnotatedRegion) -> None:
        for node, region in self._of.items():
            if region is other:
                self._of[node] = into
        self._regions.remove(other)

    def merge_regions(self, src: AnnotatedRegion, dest: AnnotatedRegion) -> None:
        """Moves the contents of `src` into `dest`."""
        if src not in self._regions or dest not in self._regions or src is dest:
            raise ValueError("two regions of this set are merged")
        dest.nodes += src.nodes
        dest.args += src.args
        dest.rets += src.rets
        self._join(dest, src)

    def get_region(self, expr: Expr) -> AnnotatedRegion | None:
        """Returns the region that contains a node, or None."""
        return self._of.get(expr)

    def __len__(self) -> int:
        return len(self._regions)

    def __getitem__(self, index: int) -> AnnotatedRegion:
        return self._regions[index]

    def __iter__(self):
        return iter(self._regions)
