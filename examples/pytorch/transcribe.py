#!/usr/bin/env python3
"""Transcribes a sound with a Whisper of random weights: the numbers of tokens, as transformers itself gives them.

.venv/bin/python examples/pytorch/transcribe.py
"""

import relay.hf
import torch
import transformers


def main():
    torch.manual_seed(0)
    transformers.logging.set_verbosity_error()
    config = transformers.WhisperConfig(
        vocab_size=200, num_mel_bins=80, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, max_source_positions=100,
        max_target_positions=64, decoder_start_token_id=1, bos_token_id=1, eos_token_id=2, pad_token_id=0,
        suppress_tokens=None, begin_suppress_tokens=None,
    )  # fmt: skip
    seconds = torch.arange(2 * 16000) / 16000
    sound = torch.sin(2 * torch.pi * (220 + 110 * seconds) * seconds)
    extractor = transformers.WhisperFeatureExtractor(feature_size=80, chunk_length=2)
    features = extractor(sound.numpy(), sampling_rate=16000, return_tensors="pt").input_features
    eager = transformers.WhisperForConditionalGeneration(config).eval()
    fast = relay.hf.load(eager)
    tokens, wanted = (model.generate(features, max_new_tokens=12, do_sample=False) for model in (fast, eager))
    assert tokens.equal(wanted)
    print(*tokens[0].tolist())


if __name__ == "__main__":
    main()
