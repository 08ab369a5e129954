"""Text from decoders: GGUF files and folders with safetensors files.

    relay.generate("model.gguf", "The capital of France is")
    model = relay.decoding.Model("folder")                     # compiled once for many calls
    for text in model.stream("Why is the sky blue?", chat=True): print(text, end="", flush=True)

source.py opens a model, families/ describe it, network.py is its program, decoder.py runs it, and generation.py is the
loop over tokens.
"""

from .answer import Answer
from .generation import Model, Stream, generate
from .sampling import Sampling

__all__ = ["Answer", "Model", "Sampling", "Stream", "generate"]
