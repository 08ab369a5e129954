"""explore() and its result, a page that shows a compilation."""

from __future__ import annotations

import html
import json
import os
from typing import TYPE_CHECKING, Any, Unpack

from .. import _core
from ..errors import bad_option
from .compiled import Compiled, load
from .options import Shapes, options_of, takes_options

if TYPE_CHECKING:
    from .options import CompileOptions

_CELL_BYTES = 4_000_000  # the largest page that a notebook's cell shows


class Explorer:
    """A page that shows a model after every pass, and its kernels (docs/explorer.md). A notebook displays it."""

    def __init__(self, name: str, compilations: list[tuple[str, str]]):
        self._name = name
        self._compilations = compilations
        self.html: str = _core.explorer_page(compilations)

    @property
    def compilation(self) -> dict:
        """The compilation as docs/compilation-json.md describes it."""
        graph, texts = self._compilations[0]
        return {**json.loads(graph), "texts": json.loads(texts)}

    def save(self, path: str | os.PathLike) -> None:
        """Writes the page, one file for a browser, or the data alone if the name ends in .json."""
        path = os.fspath(path)
        text = json.dumps(self.compilation) if path.endswith(".json") else self.html
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def _repr_html_(self) -> str:
        if len(self.html) > _CELL_BYTES:
            size = len(self.html) / 1e6
            return f"<p>The page has {size:.1f} MB. <code>save('report.html')</code> writes it for a browser.</p>"
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts allow-downloads" width="100%" '
            'height="640" style="border:1px solid #8888"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<relay.Explorer of {self._name}: {len(self.html) / 1e3:.0f} kB; save(path) writes the page>"


@takes_options
def explore(model: Any, compare: Any = None, *, texts: bool = True, **options: Unpack[CompileOptions]) -> Explorer:
    """Compiles a model, a module or anything that load() accepts, and returns a page that shows it after every pass.

    compare: a second model, which the page shows beside the first.
    texts: include the tensor expressions, schedules, loops, C and assembly of kernels.

    OPTIONS
    """
    how = options_of(options)
    named = [_named(one, options.get("shapes"), how) for one in (model, compare) if one is not None]
    return Explorer(named[0][1], [_core.compilation_json(module, name, how, texts) for module, name in named])


def _named(model: Any, shapes: Shapes | None, how: _core.Options) -> tuple[_core.IRModule, str]:
    if isinstance(model, _core.IRModule):
        return model.bind_shapes(how["shapes"]) if how["shapes"] else model, "module"
    module = load(model, shapes=shapes)
    if isinstance(module, Compiled):
        raise bad_option("the model is compiled already, and has no Relay program any more", "give its source")
    return module, os.path.basename(os.fspath(model)) if isinstance(model, str | os.PathLike) else type(model).__name__
