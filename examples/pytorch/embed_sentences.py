#!/usr/bin/env python3
"""Embeds sentences with a BERT of random weights, and prints their similarities.

.venv/bin/python examples/pytorch/embed_sentences.py
"""

import relay.hf
import torch
import transformers

SENTENCES = ["the cat sat on the mat", "a cat is on a mat", "rain is falling on the town today"]


def main():
    torch.manual_seed(0)
    known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted({word for one in SENTENCES for word in one.split()})]
    tokenizer = transformers.BertTokenizer(vocab={word: place for place, word in enumerate(known)})
    config = transformers.BertConfig(
        vocab_size=len(known), hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128
    )
    eager = transformers.BertModel(config).eval()
    fast = relay.hf.load(eager)
    batch = tokenizer(SENTENCES, padding=True, return_tensors="pt")

    def embed(model):
        """The mean of the words' vectors, of length 1."""
        with torch.no_grad():
            words = model(**batch).last_hidden_state
        mask = batch["attention_mask"][..., None]
        return torch.nn.functional.normalize((words * mask).sum(1) / mask.sum(1), dim=-1)

    vectors = embed(fast)
    torch.testing.assert_close(vectors, embed(eager), rtol=1e-4, atol=1e-5)
    for row in vectors @ vectors.t():
        print("  ".join(f"{one:.3f}" for one in row))


if __name__ == "__main__":
    main()
