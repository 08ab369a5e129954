"""Each test that docs/security.md names exists, and each guarantee names a test."""

import re
import sys

import pytest
from programs import ROOT

sys.path.insert(0, str(ROOT / "test" / "hostile"))

import environments  # noqa: E402
import run as hostile  # noqa: E402

PAGE = (ROOT / "docs" / "security.md").read_text()
NAMES = re.findall(r"`([A-Za-z_]+\.[A-Za-z_-]+|test_\w+)`", PAGE)


@pytest.fixture(scope="module")
def there():
    tests = {kind.name for kind in hostile.all_kinds()}
    for path in (ROOT / "src").rglob("*_test.cpp"):
        tests |= {
            f"{suite}.{name}" for suite, name in re.findall(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)", path.read_text(), re.M)
        }
    for path in (ROOT / "test" / "python").rglob("test_*.py"):
        tests.add(path.name)
        tests |= set(re.findall(r"^def (test_\w+)", path.read_text(), re.M))
    return tests


@pytest.mark.parametrize("name", sorted(set(NAMES)))
def test_the_test_exists(name, there):
    assert name in there


def test_every_promise_names_a_test():
    for section in PAGE.split("\n## ")[1:]:
        assert re.search(r"`([A-Za-z_]+\.[A-Za-z_-]+|test_\w+)`", section), section.splitlines()[0]


def test_the_number_of_kinds_is_right():
    kinds = {kind.name for kind in hostile.all_kinds()} | set(environments.MOUNTED)
    assert int(re.search(r"(\d+) kinds of attack", PAGE)[1]) == len(kinds)
