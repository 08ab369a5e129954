"""Tokenizers, as objects of the library `tokenizers`: tokenizer.json of a folder, or the vocabulary in a GGUF file."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import wrong_input
from .folder import json_of
from .gguf import File
from .source import Source

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Control tokens that end an answer, whatever the configuration says: a model may be set up for plain text or for chats.
_ENDS = {
    "<|endoftext|>", "<|im_end|>", "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<end_of_turn>", "</s>",
    "<eos>", "<EOS>",
}  # fmt: skip
_CONTROL, _USER, _BYTE = 3, 4, 6  # of tokenizer.ggml.token_type
_DIGITS_3 = r"\p{N}{1,3}"
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{digits}|"
    r" ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# The pieces that texts are cut into before byte pairs are joined, by tokenizer.ggml.pre: a pattern, or "digits" for
# GPT-2's pieces with each digit alone, or "" for GPT-2's pieces.
_PIECES = {
    "default": "", "gpt-2": "", "smollm": "digits", "codeshell": "digits", "starcoder": "digits", "refact": "digits",
    "llama-bpe": _WORDS.format(digits=_DIGITS_3), "llama3": _WORDS.format(digits=_DIGITS_3),
    "smaug-bpe": _WORDS.format(digits=_DIGITS_3), "qwen2": _WORDS.format(digits=r"\p{N}"),
}  # fmt: skip
_BEGIN = ("llama-bpe", "llama3")  # pieces of models whose texts begin with a token, unless the file denies it


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """A tokenizer, the tokens that end an answer, the texts of special tokens for chat templates, and the template,
    empty if the model has none."""

    tokenizer: Tokenizer
    ends: frozenset[int]
    special: dict[str, str]
    template: str = ""
    first: int | None = None  # the token to begin with, if the tokenizer does not add it itself

    def encode(self, text: str, plain: bool = True) -> list[int]:
        """Returns the tokens of a text. With plain=False, tokens that begin a text are not added."""
        tokens = self.tokenizer.encode(text, add_special_tokens=plain).ids
        return [self.first, *tokens] if plain and self.first is not None and tokens[:1] != [self.first] else tokens


def _library():
    try:
        import tokenizers
    except ImportError as error:
        raise wrong_input("the package tokenizers is not installed", "pip install tokenizers") from error
    return tokenizers


# --- GGUF -------------------------------------------------------------------------------------------------------------
def _key(file: File, name: str, kind: type, default):
    value = file.keys.get(f"tokenizer.ggml.{name}", default)
    if not isinstance(value, kind):
        raise wrong_input(f"{file.path}: `tokenizer.ggml.{name}` is {str(value)[:60]!r}", "convert the model again")
    return value


def _byte_pairs(file: File, tokens: dict[str, int]):
    """Returns a tokenizer of byte pairs (GPT-2, Llama 3, Qwen)."""
    library = _library()
    pre = _key(file, "pre", str, "default")
    if pre not in _PIECES:
        raise wrong_input(
            f"{file.path}: the tokenizer's pieces `{pre}` are not one of {', '.join(_PIECES)}",
            "use the model as a folder with tokenizer.json",
        )
    merges = [tuple(pair.split(" ", 1)) for pair in _key(file, "merges", list, [])]
    whole = {first + second for first, second in (pair for pair in merges if len(pair) == 2)}
    if (
        not merges
        or any(len(pair) != 2 for pair in merges)
        or not {p for pair in merges for p in pair} | whole <= set(tokens)
    ):
        raise wrong_input(f"{file.path}: `tokenizer.ggml.merges` is missing or damaged", "convert the model again")
    ignores = pre.startswith("llama")
    made = library.Tokenizer(library.models.BPE(tokens, merges, ignore_merges=ignores))
    split, levels = library.pre_tokenizers, library.pre_tokenizers.ByteLevel
    if _PIECES[pre] in ("", "digits"):
        steps = [split.Digits(individual_digits=True)] if _PIECES[pre] else []
        steps.append(levels(add_prefix_space=False, use_regex=True))
    else:
        steps = [split.Split(library.Regex(_PIECES[pre]), "isolated"), levels(add_prefix_space=False, use_regex=False)]
    made.pre_tokenizer = split.Sequence(steps)
    if pre == "qwen2":
        made.normalizer = library.normalizers.NFC()
    made.decoder = library.decoders.ByteLevel()
    return made


def _pieces_with_scores(file: File, tokens: dict[str, int]):
    """Returns a tokenizer of SentencePiece's byte pairs (Llama 2, Mistral, Gemma): pairs are joined in the order of the
    score of what they make."""
    library = _library()
    scores = file.keys.get("tokenizer.ggml.scores")
    if scores is None or isinstance(scores, (str, list)) or len(scores) != len(tokens):
        raise wrong_input(f"{file.path}: `tokenizer.ggml.scores` is missing or damaged", "convert the model again")
    merges = []
    for piece, place in tokens.items():
        for cut in range(1, len(piece)):
            if piece[:cut] in tokens and piece[cut:] in tokens:
                merges.append(
                    (-float(scores[place]), tokens[piece[:cut]], tokens[piece[cut:]], piece[:cut], piece[cut:])
                )
    merges.sort(key=lambda one: one[:3])
    unknown = next((piece for piece in ("<unk>", "<UNK>") if piece in tokens), None)
    made = library.Tokenizer(
        library.models.BPE(tokens, [one[3:] for one in merges], unk_token=unknown, fuse_unk=True, byte_fallback=True)
    )
    prefix = _key(file, "add_space_prefix", bool, True)
    steps, normal, decode = [], library.normalizers, library.decoders
    if prefix:
        steps.append(normal.Prepend("▁"))
    made.normalizer = normal.Sequence([*steps, normal.Replace(" ", "▁")])
    undo = [decode.Replace("▁", " "), decode.ByteFallback(), decode.Fuse()]
    made.decoder = decode.Sequence([*undo, decode.Strip(" ", 1, 0)] if prefix else undo)
    return made


_MODELS = {"gpt2": _byte_pairs, "llama": _pieces_with_scores}


def _of_gguf(file: File) -> Vocabulary:
    texts = _key(file, "tokens", list, [])
    if not texts or not isinstance(texts, list):
        raise wrong_input(f"{file.path} has no tokenizer", "convert the model again, with its tokenizer")
    tokens = {text: place for place, text in enumerate(texts)}
    if len(tokens) != len(texts):
        raise wrong_input(f"{file.path}: `tokenizer.ggml.tokens` has a text twice", "convert the model again")
    model = _key(file, "model", str, "")
    if model not in _MODELS:
        raise wrong_input(
            f"{file.path}: the tokenizer `{model}` is not one of {', '.join(_MODELS)}",
            "use the model as a folder with tokenizer.json",
        )
    made = _MODELS[model](file, tokens)
    kinds = file.keys.get("tokenizer.ggml.token_type", [1] * len(texts))
    if len(kinds) != len(texts):
        raise wrong_input(f"{file.path}: `tokenizer.ggml.token_type` has {len(kinds)} elements", "convert it again")
    library = _library()
    controls = [text for text, kind in zip(texts, kinds, strict=True) if kind == _CONTROL]
    made.add_special_tokens([library.AddedToken(text, special=True, normalized=False) for text in controls])
    own = [text for text, kind in zip(texts, kinds, strict=True) if kind == _USER]
    made.add_tokens([library.AddedToken(text, special=False, normalized=False) for text in own])
    places = {name: file.keys.get(f"tokenizer.ggml.{name}_token_id") for name in ("bos", "eos", "eot", "eom")}
    places = {name: int(at) for name, at in places.items() if isinstance(at, int) and 0 <= at < len(texts)}
    ends = {at for name, at in places.items() if name != "bos"} | {tokens[t] for t in controls if t in _ENDS}
    begins = model == "llama" or file.keys.get("tokenizer.ggml.pre") in _BEGIN
    adds = _key(file, "add_bos_token", bool, begins)
    special = {f"{name}_token": texts[at] for name, at in places.items()}
    template = file.keys.get("tokenizer.chat_template", "")
    first = places.get("bos") if adds else None
    return Vocabulary(made, frozenset(ends), special, template if isinstance(template, str) else "", first)


# --- folders ----------------------------------------------------------------------------------------------------------
def _numbers(value: object) -> Iterable[int]:
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, int) and not isinstance(one, bool)]


def _optional(path: Path) -> dict:
    return json_of(path) if path.exists() else {}


def _of_folder(folder: Path) -> Vocabulary:
    path = folder / "tokenizer.json"
    if not path.exists():
        raise wrong_input(
            f"{folder} has no tokenizer.json",
            "save the tokenizer beside the model: AutoTokenizer.from_pretrained(...).save_pretrained(FOLDER)",
        )
    try:
        made = _library().Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises Exception itself
        raise wrong_input(f"{path} cannot be read: {str(error)[:200]}", "copy or download it again") from error
    said = _optional(folder / "tokenizer_config.json")
    special = {}
    for name in ("bos_token", "eos_token", "unk_token", "pad_token"):
        value = said.get(name)
        text = value.get("content") if isinstance(value, dict) else value
        if isinstance(text, str):
            special[name] = text
    ends = set()
    for file in ("config.json", "generation_config.json"):
        ends.update(_numbers(_optional(folder / file).get("eos_token_id")))
    ends.update(at for text in _ENDS | {special.get("eos_token", "")} if (at := made.token_to_id(text)) is not None)
    template = said.get("chat_template") or ""
    if isinstance(template, list):  # several by name
        named = {one.get("name"): one.get("template") for one in template if isinstance(one, dict)}
        template = named.get("default") or ""
    if not template and (folder / "chat_template.jinja").exists():
        template = (folder / "chat_template.jinja").read_text("utf-8", "replace")
    return Vocabulary(made, frozenset(ends), special, template if isinstance(template, str) else "")


def vocabulary_of(source: Source) -> Vocabulary:
    """Returns the tokenizer of a model. Raises InputError (R0601) if it has none that can be used."""
    made = _of_gguf(source.gguf) if source.gguf else _of_folder(source.path)
    if made.tokenizer.get_vocab_size() > source.config.vocabulary:
        highest = max(made.tokenizer.get_vocab().values())
        if highest >= source.config.vocabulary:
            raise wrong_input(
                f"{source.path}: the tokenizer has token {highest}, but the model {source.config.vocabulary} tokens",
                "use the tokenizer of this model",
            )
    return made
