"""Text from a model: prompts, the loop over tokens, answers with their figures."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..errors import bad_option, wrong_input
from .answer import Answer, Writer
from .chat import Message, chat_text
from .decoder import Decoder, State
from .pieces import Pieces
from .running import Member
from .sampling import Sampler, Sampling
from .source import opened
from .speculation import Draft, Lookup, check_same_vocabulary
from .vocabulary import vocabulary_of

Propose = Callable[[list[int]], list[int]]


def decoded(state: State, prompt: Sequence[int], sampler: Sampler, propose: Propose, answer: Answer) -> Iterator[int]:
    """Yields tokens that follow the prompt, without end. `propose` returns tokens that may come next."""
    rows, proposed, tokens = state.feed(np.array([prompt])), [], list(prompt)
    while True:
        token = sampler.choose(rows[0], tokens)
        tokens.append(token)
        yield token
        if proposed and proposed[0] == token:
            rows, proposed = rows[1:], proposed[1:]
            answer.accepted += 1
            continue
        state.lengths -= len(proposed)
        room = state.positions - int(state.lengths[0]) - 1
        proposed = propose(tokens)[: max(room, 0)]
        answer.proposed += len(proposed)
        rows = state.feed(np.array([[token, *proposed]]), every=True)[0]


class Stream:
    """The pieces of an answer as they are generated: iterate over it. `answer` is what there is so far."""

    def __init__(self, steps: Iterator[str], answer: Answer):
        self.steps, self.answer = steps, answer

    steps: Iterator[str]
    """The text that each token adds, often empty. A loop over it can be left after every token."""

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        while not (text := next(self.steps)):
            pass
        return text


class Model:
    """A model that generates text: a decoder and its tokenizer.

    path: a GGUF file, or a folder with config.json, safetensors files and tokenizer.json.
    threads: as in relay.compile.
    cache: True to look for the compiled program among those of earlier processes, and to store it there.
    kv_cache: "int8" to keep keys and values in a quarter of the memory, rounded; "float32" by default.
    precision: "int8_inputs" to round the inputs of products with weights of four bits to 8 bits, in the blocks of the
        weights. This is faster, and adds an error of about 0.6 % to each product.
    weights: "int8", "int4" or "bf16" to round matrices of wider floats when the model is opened, so that a step reads
        less memory. Integers have a scale for each 32 neighbours of a row; with "int4", the last product has 8 bits.
    Raises InputError (R0601) with the place if the model is damaged or of an unknown kind.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        threads: int | None = None,
        cache: bool = True,
        kv_cache: str = "float32",
        precision: str = "as_written",
        weights: str = "as_stored",
    ):
        source = opened(path)
        self.path, self.config = source.path, source.config
        self.vocabulary = vocabulary_of(source)
        self.decoder = Decoder(source, cache, kv_cache, weights, threads=threads, precision=precision)
        self.default_tokens = _DEFAULT_TOKENS  # of an answer whose length is not given

    @property
    def cached(self) -> bool:
        """True if the compiled program came from the cache."""
        return self.decoder.compiled.cached is not None

    @property
    def notes(self) -> list[str]:
        """Messages about the cache."""
        return self.decoder.notes

    @property
    def description(self) -> str:
        """The network and the types of its weights."""
        rounded = "" if self.decoder.form == "as_stored" else f", rounded to {self.decoder.form}"
        types = _listed(self.decoder.weights.types)
        return f"{self.config.family}, {len(self.config.layers)} layers, weights {types}{rounded}"

    def tokens_of(self, prompt: str | Sequence[Message], chat: bool) -> list[int]:
        """Returns the tokens of a prompt."""
        messages = [{"role": "user", "content": prompt}] if chat and isinstance(prompt, str) else prompt
        if isinstance(messages, str):
            tokens = self.vocabulary.encode(messages)
        else:
            tokens = self.vocabulary.encode(chat_text(self.vocabulary, messages), plain=False)
        if not tokens:
            raise wrong_input("the prompt is empty", "give at least a word")
        return tokens

    def _positions(self, prompt: int, max_tokens: int | None, context: int | None) -> int:
        """Returns the positions of a state. Raises an error if the prompt does not fit."""
        most = self.config.context
        if context is not None and not 1 <= context <= most:
            raise bad_option(f"context is {context}, but {self.path} has 1 to {most} positions", "give a smaller one")
        limit = context or most
        if prompt >= limit:
            raise wrong_input(
                f"the prompt has {prompt} tokens, but the context of {self.path} is {limit}",
                "give a shorter prompt" + (f", or a context of up to {most}" if limit < most else ""),
            )
        if max_tokens is None:
            return min(limit, prompt + self.default_tokens)
        if prompt + max_tokens > limit:
            raise wrong_input(
                f"{prompt} tokens of the prompt and {max_tokens} of the answer are more than the context of {limit}",
                f"generate up to {limit - prompt} tokens, or give a shorter prompt",
            )
        return prompt + max_tokens

    def _proposer(self, positions: int, speculate: int, draft: Model | None) -> Propose:
        if speculate < 0:
            raise bad_option(
                f"speculate is {speculate}, but must be at least 0", "give the number of tokens to propose"
            )
        if draft is None:
            return Lookup(speculate) if speculate else lambda tokens: []
        check_same_vocabulary(
            self.vocabulary.tokenizer.get_vocab(), draft.vocabulary.tokenizer.get_vocab(), str(draft.path)
        )
        return Draft(draft.decoder, positions, speculate or _DEFAULT_PROPOSALS)

    def stream(
        self,
        prompt: str | Sequence[Message],
        *,
        chat: bool = False,
        max_tokens: int | None = None,
        stop: str | Sequence[str] = (),
        context: int | None = None,
        speculate: int = 0,
        draft: Model | None = None,
        **sampling,
    ) -> Stream:
        """Returns the answer to a prompt as a stream of texts. The arguments are those of relay.generate."""
        sampler = Sampler(_sampling(max_tokens, sampling))
        tokens = self.tokens_of(prompt, chat or not isinstance(prompt, str))
        positions = self._positions(len(tokens), max_tokens, context)
        propose = self._proposer(positions, speculate, draft)
        answer = Answer(prompt_tokens=len(tokens))
        made = decoded(self.decoder.state(positions), tokens, sampler, propose, answer)
        return Stream(self._texts(made, self._writer(answer, positions - len(tokens), stop)), answer)

    def member(
        self,
        prompt: str | Sequence[Message],
        *,
        max_tokens: int | None = None,
        stop: str | Sequence[str] = (),
        context: int | None = None,
        **sampling,
    ) -> Member:
        """Returns an answer for a Running to generate together with others."""
        sampler = Sampler(_sampling(max_tokens, sampling))
        tokens = self.tokens_of(prompt, not isinstance(prompt, str))
        positions = self._positions(len(tokens), max_tokens, context)
        writer = self._writer(Answer(prompt_tokens=len(tokens)), positions - len(tokens), stop)
        return Member(tokens, positions, sampler, writer)

    def _texts(self, made: Iterator[int], writer: Writer) -> Iterator[str]:
        answer, begin = writer.answer, time.perf_counter()
        for token in made:
            if not answer.prompt_seconds:
                answer.prompt_seconds, begin = time.perf_counter() - begin, time.perf_counter()
            answer.seconds = time.perf_counter() - begin
            yield writer.add(token)
            if answer.ended:
                return

    def batch(
        self,
        prompts: Sequence[str | Sequence[Message]],
        *,
        chat: bool = False,
        max_tokens: int | None = None,
        stop: str | Sequence[str] = (),
        context: int | None = None,
        **sampling,
    ) -> list[Answer]:
        """Returns the answers to several prompts. They are generated together: each run reads the weights once for all
        of them. Answer i draws its random numbers from seed + i."""
        how = _sampling(max_tokens, sampling)
        asked = [self.tokens_of(prompt, chat or not isinstance(prompt, str)) for prompt in prompts]
        if not asked:
            return []
        counts = np.array([len(tokens) for tokens in asked])
        each = [self._positions(int(count), max_tokens, context) for count in counts]
        samplers = [Sampler(dataclasses.replace(how, seed=how.seed and how.seed + i)) for i in range(len(asked))]
        writers = [
            self._writer(Answer(prompt_tokens=int(n)), most - int(n), stop)
            for n, most in zip(counts, each, strict=True)
        ]
        begin = time.perf_counter()
        padded = np.zeros((len(asked), counts.max()), np.int64)
        for row, tokens in zip(padded, asked, strict=True):
            row[: len(tokens)] = tokens
        state = self.decoder.state(max(each), len(asked))
        rows = state.feed(padded, counts)
        first = time.perf_counter()
        while running := [i for i, writer in enumerate(writers) if not writer.answer.ended]:
            following, added = np.zeros((len(asked), 1), np.int64), np.zeros(len(asked), np.int64)
            for i in running:
                following[i] = token = samplers[i].choose(rows[i], asked[i])
                asked[i].append(token)
                writers[i].add(token)
                added[i] = not writers[i].answer.ended
            if added.any():
                rows = state.feed(following, added)
        for writer in writers:
            writer.answer.prompt_seconds, writer.answer.seconds = first - begin, time.perf_counter() - first
        return [writer.answer for writer in writers]

    def _writer(self, answer: Answer, most: int, stop: str | Sequence[str]) -> Writer:
        stops = [stop] if isinstance(stop, str) else stop
        return Writer(answer, Pieces(self.vocabulary, stops), self.vocabulary.ends, most)


def _listed(words: Sequence[str]) -> str:
    """Returns "a", "a and b", or "a, b and c"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _sampling(max_tokens: int | None, how: dict) -> Sampling:
    """Returns the sampling of these options. Raises an error for a value out of range."""
    if max_tokens is not None and max_tokens < 1:
        raise bad_option(f"max_tokens is {max_tokens}, but must be at least 1", "give the length of the answer")
    return Sampling(**how)


def generate(
    model: Model | str | os.PathLike[str],
    prompt: str | Sequence[Message] | Sequence[str],
    *,
    stream: bool = False,
    **options,
) -> str | list[str] | Stream:
    """Returns the text that a model generates for a prompt.

    model: a GGUF file, a folder with config.json, safetensors files and tokenizer.json, or relay.decoding.Model, which
    is compiled once for many calls.
    prompt: a text; messages of a chat, {"role": "user", "content": ".."}; or a list of texts, whose answers are
    returned as a list and generated together.
    stream: True to return an iterator over pieces of the text as they are generated; its `answer` has the tokens and
    the speeds.

    Options:
    chat: True to put a text in the model's chat template.
    max_tokens: the length of the answer, in tokens; 256 by default, or what the context leaves.
    stop: a text or texts that end the answer. They are not part of it.
    context: the positions of prompt and answer; the model's by default.
    temperature, top_k, top_p, min_p, repetition_penalty, repetition_window, seed: see relay.decoding.Sampling. By
    default, the most probable token is chosen.
    speculate: the tokens that are proposed in each step, from what followed the same words before, and checked in one
    run. The answer does not depend on it.
    draft: a smaller Model of the same vocabulary that makes the proposals.

    Raises InputError with the place if the model is damaged or of an unknown kind, or a context is beyond the model's.
    """
    model = model if isinstance(model, Model) else Model(model)
    if not isinstance(prompt, str) and all(isinstance(one, str) for one in prompt):
        if stream:
            raise bad_option("several prompts cannot be streamed", "leave out stream, or call generate for each")
        return [answer.text for answer in model.batch(prompt, **options)]
    made = model.stream(prompt, **options)
    return made if stream else "".join(made)


_DEFAULT_TOKENS = 256
_DEFAULT_PROPOSALS = 4
