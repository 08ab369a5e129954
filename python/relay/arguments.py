"""The parser of command lines for verbs that are written in Python."""

import argparse
from typing import NoReturn


class ArgumentParser(argparse.ArgumentParser):
    """Reports a mistake in the command line as the other verbs of `relay` do, and exits with status 2."""

    def error(self, message: str) -> NoReturn:
        message = message.removeprefix("argument ")
        required = "the following arguments are required: "
        if message.startswith(required):
            names = message.removeprefix(required).split(", ")
            message = f"{', '.join(names)} {'are' if len(names) > 1 else 'is'} required"
        self.exit(2, f"error[R0504]: {message}\n  help: `{self.prog} --help` describes its use\n")
