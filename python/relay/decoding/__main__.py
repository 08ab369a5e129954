"""The work of `relay generate`: python -m relay.decoding JSON. The command line (src/relay/driver/cli/generate.cpp)
describes the options, checks their ranges, and passes those that were given, by the names of relay.generate."""

from __future__ import annotations

import dataclasses
import json
import sys
import time

from ..errors import CompileError
from .answer import Answer
from .generation import Model
from .progress import Progress

_INTERRUPTED = 130  # the exit status that shells give Ctrl-C


def _say(text: str, quiet: bool) -> None:
    if not quiet:
        print(f"relay: {text}", file=sys.stderr, flush=True)


def _opened(path: str, options: dict, quiet: bool) -> Model:
    begin = time.perf_counter()
    with Progress(f"compiling {path}", quiet):
        how = {name: options[name] for name in _COMPILED if name in options}
        model = Model(path, **how)
    for note in model.notes:
        _say(note, quiet)
    how = "from the cache" if model.cached else "compiled"
    _say(f"{path}: {model.description}; {how}, ready after {time.perf_counter() - begin:.1f} s", quiet)
    return model


def _prompt(options: dict):
    if "prompt" not in options and sys.stdin.isatty():
        _say("type the prompt, and end it with Ctrl-D", options["quiet"])
    text = options["prompt"] if "prompt" in options else sys.stdin.buffer.read().decode("utf-8", "replace")
    if not options.get("chat"):
        return text
    system = [{"role": "system", "content": options["system"]}] if "system" in options else []
    return [*system, {"role": "user", "content": text}]


def _answer(options: dict, models: list[Model], quiet: bool) -> tuple[Answer, bool]:
    """Generates and prints. Returns the answer, and true if it was interrupted. Adds the models that it opens."""
    how = {name: value for name, value in options.items() if name not in _OWN}
    prompt = _prompt(options)
    model = _opened(options["model"], options, quiet)
    models.append(model)
    if "draft" in options:
        how["draft"] = _opened(options["draft"], options, quiet)
        models.append(how["draft"])
    stream, shown = model.stream(prompt, **how), not options.get("json")
    try:
        for text in stream:
            if shown:
                print(text, end="", flush=True)
    except KeyboardInterrupt:
        pass
    if shown:
        print(flush=True)
    return stream.answer, not stream.answer.ended


_COMPILED = ("threads", "cache", "kv_cache", "precision", "weights")  # options of Model
_OWN = ("model", "prompt", "system", "chat", *_COMPILED, "json", "quiet", "draft")


def main(text: str) -> int:
    """Does the work. Returns the exit status."""
    options = json.loads(text)
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    quiet, models = options["quiet"], []
    try:
        answer, interrupted = _answer(options, models, quiet)
        if options.get("json"):
            print(json.dumps(dataclasses.asdict(answer), ensure_ascii=False), flush=True)
        _say(answer.figures() + ("; interrupted" if interrupted else ""), quiet)
        for model in models:
            model.decoder.compiled.wait()  # the cache gets full code
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        _say("interrupted", quiet)
        return _INTERRUPTED
    except BrokenPipeError:  # the reader has enough
        sys.stderr.close()
        return 0
    return _INTERRUPTED if interrupted else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
