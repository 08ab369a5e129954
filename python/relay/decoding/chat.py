"""Chats: messages as one text, by the template of the model."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from ..errors import wrong_input
from .vocabulary import Vocabulary

Message = dict[str, str]  # "role" (system, user, assistant) and "content"


def chat_text(vocabulary: Vocabulary, messages: Sequence[Message]) -> str:
    """Returns the text of messages with the beginning of the assistant's answer. The template runs in a sandbox.

    Raises InputError (R0601) if the model has no template, the package jinja2 is missing, or the template refuses.
    """
    if not vocabulary.template:
        raise wrong_input(
            "the model has no chat template", "leave out chat, and give the text that the model continues"
        )
    try:
        import jinja2
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError as error:
        raise wrong_input("chats need the package jinja2, which is not installed", "pip install jinja2") from error

    def refuse(message):
        raise jinja2.TemplateError(message)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.globals["raise_exception"] = refuse
    environment.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    try:
        template = environment.from_string(vocabulary.template)
        return template.render(messages=list(messages), add_generation_prompt=True, **vocabulary.special)
    except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise wrong_input(
            f"the chat template cannot be used: {str(error)[:200]}", "check the roles of the messages"
        ) from error
