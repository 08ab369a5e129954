"""A variant of every quick kind of hostile file; `make test-hostile` runs several variants of all kinds."""

import os
import sys

import pytest
from forms import with_long_form
from programs import ROOT, needs_program

sys.path.insert(0, str(ROOT / "test/hostile"))

import run as hostile  # noqa: E402

KINDS = [kind for kind in hostile.all_kinds() if not kind.long]


def test_there_are_many_kinds_and_each_has_a_name_of_its_own():
    names = [kind.name for kind in hostile.all_kinds()]
    assert len(names) >= 150 and len(set(names)) == len(names)


@needs_program
@pytest.mark.parametrize(
    "family",
    with_long_form(
        ["program", "model", "keras", "tensorflow", "artifact", "array", "environment"],
        lambda family: family not in ("keras", "tensorflow"),  # 15 seconds of CPU each
    ),
)
def test_hostile_kinds_are_answered_as_is_written(family):
    kinds = [kind for kind in KINDS if kind.name.startswith(family + ".")]
    failures, _ = hostile.run_all(kinds, variants=1, seed=1, jobs=os.cpu_count())
    assert not failures, "\n".join(hostile.report(*failure) for failure in failures)
