"""The reasons that test/ops/run.py accepts for a missing proof."""

import runpy

from programs import ROOT

run = runpy.run_path(str(ROOT / "test/ops/run.py"))


def test_a_form_without_a_gradient_needs_a_reason(monkeypatch):
    def rows():
        cells = {column: {"proved": 1, "reason": "", "failures": []} for column in run["columns"]()}
        return {"sort": {"op": "sort", "by_executor": False, "without_gradient": ["sort/2"], "cells": cells}}

    for given, missing, wrong in (
        ({}, [("sort/2", "gradient")], []),
        ({("sort/2", "gradient"): "not differentiable"}, [], []),
        ({("sort/2", "gradient"): "not yet"}, [], ["reasons.txt: not yet is not in its list"]),
    ):
        reasons = {"not differentiable": ""}, given
        monkeypatch.setitem(run["complete"].__globals__, "listed_reasons", lambda reasons=reasons: reasons)
        assert run["complete"](rows(), {"sort"}) == (missing, wrong, [])
