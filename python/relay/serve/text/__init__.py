"""Language models: OpenAI's interface for completions and chats, with answers as they are generated."""

from .models import TextModel
from .service import TextService

__all__ = ["TextModel", "TextService"]
