"""On what registry_run.py runs the models of registry_packages.py: what people ship inside packages, and nothing in
Relay was made for."""

import pathlib

import numpy as np
import skimage.data
from PIL import Image


def ints(shape, most):
    """Integers from 0 to before `most`."""
    return np.random.default_rng(3).integers(0, most, shape)


def page(batch, height, width):
    """Parts of a scanned page of a book, with values from -1 to 1: what finds and reads text finds some."""
    whole = Image.open(pathlib.Path(skimage.data.__file__).parent / "page.png").convert("RGB")
    parts = [whole.crop((0, 40 * i, width, 40 * i + height)) for i in range(batch)]
    return np.stack([np.asarray(part).transpose(2, 0, 1) for part in parts]) / 127.5 - 1


def graphs(*sizes):
    """Inputs of a network over graphs: molecules with these numbers of atoms, each atom bound to the next."""
    atoms = sum(sizes)
    bonds = np.stack([np.arange(atoms - 1), np.arange(1, atoms)])
    return {
        "feat": (atoms, 85),
        "edge_feat": (2 * (atoms - 1), 13),
        "edge_index": np.concatenate([bonds, bonds[::-1]], axis=1),
        "laplacian_eigvec": (atoms, 8),
        "laplacian_eigval": (atoms, 8),
        "rw_return_probs": (atoms, 16),
        "batch": np.repeat(np.arange(len(sizes)), sizes),
        "graph_slots": (len(sizes),),
    }


RATE = np.array(16000)
SOUNDS = [
    {"waveforms": (1, 16000), "waveforms_lens": np.array([16000])},
    {"waveforms": (2, 24000), "waveforms_lens": np.array([24000, 17000])},
]

# The runs of each model, all from one compilation: inputs by name, as shapes of random floats or as arrays.
RUNS = {
    "layout_cdla": [{"image": (1, 3, 800, 608)}],
    "ppocr_v6_det": [{"x": page(1, 320, 320)}, {"x": page(2, 96, 160)}],
    "ppocr_v6_rec": [{"x": page(1, 48, 320)}, {"x": page(2, 48, 100)}],
    "ppocr_v5_det": [{"x": page(1, 320, 320)}, {"x": page(2, 96, 160)}],
    "ppocr_v5_rec": [{"x": page(1, 48, 320)}, {"x": page(2, 48, 100)}],
    "ppocr_v4_det": [{"x": page(1, 320, 320)}, {"x": page(2, 96, 160)}],
    "ppocr_v4_rec": [{"x": page(1, 48, 320)}, {"x": page(2, 48, 100)}],
    "ppocr_v2_cls": [{"x": page(1, 48, 192)}, {"x": page(3, 48, 100)}],
    "ppocr_v3_det": [{"x": page(1, 320, 320)}, {"x": page(2, 96, 160)}],
    "ppocr_v2_rec": [{"x": page(1, 32, 100)}, {"x": page(2, 32, 320)}],
    "ddddocr_old": [{"input1": (1, 1, 64, 160)}, {"input1": (1, 1, 64, 77)}],
    "ddddocr": [{"input1": (1, 1, 64, 160)}, {"input1": (1, 1, 64, 77)}],
    "ddddocr_det": [{"images": (1, 3, 416, 416)}],
    "captcha_slider": [{"images": (1, 3, 640, 640)}],
    "nudenet": [{"images": (1, 3, 320, 320)}, {"images": (2, 3, 192, 256)}],
    "open_nsfw": [{"input:0": (1, 224, 224, 3)}, {"input:0": (3, 224, 224, 3)}],
    "yahoo_open_nsfw": [{"input_0": (1, 224, 224, 3)}, {"input_0": (2, 224, 224, 3)}],
    "blazeface_front": [{"input:0": (1, 128, 128, 3)}],
    "blazeface_back": [{"input:0": (1, 256, 256, 3)}],
    "silero_ifless": [{"input": (b, 576), "sr": RATE, "state": (2, b, 128)} for b in (1, 3)],
    "silero_16k": [{"input": (b, 576), "state": (2, b, 128), "sr": RATE} for b in (1, 3)],
    "silero_sequence": [{"input": (n, 576), "h": (1, 1, 128), "c": (1, 1, 128)} for n in (1, 20)],
    "silero_half": [{"input": (b, 576), "state": (2, b, 128)} for b in (1, 3)],
    "silero_v4": [{"input": (b, n), "sr": RATE, "h": (2, b, 64), "c": (2, b, 64)} for b, n in ((1, 512), (2, 1536))],
    "wake_melspectrogram": [{"input": (1, 1280)}, {"input": (2, 4000)}],
    "wake_embedding": [{"input_1": (1, 76, 32, 1)}, {"input_1": (5, 76, 32, 1)}],
    "wake_alexa": [{"onnx::Flatten_0": (1, 16, 96)}],
    "wake_jarvis": [{"x.1": (1, 16, 96)}],
    "wake_timer": [{"onnx::Flatten_0": (1, 34, 96)}],
    "smart_turn": [{"input_features": (1, 80, 800)}, {"input_features": (2, 80, 800)}],
    "aecmos_16k": [{"input": (1, 3, n, 160), "h0": (4, 1, 64)} for n in (64, 100)],
    "aecmos_48k": [{"input": (1, 3, n, 160), "h0": (4, 1, 96)} for n in (64, 100)],
    "plcmos": [{"degraded_audio": (1, 1, n, 257), "rater_embed": (1, 64)} for n in (64, 100)],
    "dnsmos_p808": [{"input_1": (1, 900, 120)}, {"input_1": (2, 900, 120)}],
    "dnsmos_bak_ovr": [{"input_1": (1, 901, 161)}],
    "dnsmos": [{"input_1": (1, 144160)}],
    "tashkeel": [
        {"char_inputs": ints((b, n), 30), "diac_inputs": ints((b, n), 10), "input_lengths": np.arange(n, n - b, -1)}
        for b, n in ((1, 64), (2, 37))
    ],
    "nakdimon": [{"input_1": ints((1, 64), 40).astype(np.float32)}, {"input_1": ints((2, 31), 40).astype(np.float32)}],
    "lac_encoder": [{"token_ids": ints((1, n), 5000), "length": np.array([n])} for n in (64, 17)],
    "chars2vec": [{"lstm_input": (1, 12, 59)}, {"lstm_input": (4, 7, 59)}],
    "paraphrase_minilm": [
        {"input_ids": ints((b, n), 20000), "attention_mask": np.ones((b, n), np.int64)} for b, n in ((1, 64), (3, 20))
    ],
    "minimol": [graphs(20), graphs(9, 14, 30)],
    "pyannote_segmentation": [{"input": (1, 1, 16000)}, {"input": (1, 1, 40000)}],
    "asr_kaldi": SOUNDS,
    "asr_whisper": SOUNDS,
    "asr_gigaam": SOUNDS,
    "asr_nemo": SOUNDS,
    "asr_wespeaker": SOUNDS,
    "asr_resample": SOUNDS,
    "emotion_trees": [{"float_input": (1, 14)}, {"float_input": (5, 14)}],
    "traffic_boosting": [{"X": (1, 261)}, {"X": (4, 261)}],
    "traffic_pair": [{"x": (1, 15, 64)}, {"x": (3, 15, 40)}],
    "g2p_bert": [{"input_1": ints((1, 32), 30)}, {"input_1": ints((3, 32), 30)}],
    "g2p_encoder": [{"input_1": (1, 12, 28)}, {"input_1": (2, 20, 28)}],
    "g2p_decoder": [{"input_2": (b, 1, 32), "input_3": (b, 256), "input_4": (b, 256)} for b in (1, 2)],
    "hibari": [{"ids": ints((1, n), 40), "speed": np.ones(1)} for n in (20, 33)],
    "pmsh_encoder": [{"input_image": (1, 3, 64, 256)}, {"input_image": (2, 3, 64, 256)}],
    "pmsh_decoder": [
        {
            "input_feature": (1, 256, 256),
            "input_ref_ids": ints((1, n), 20),
            "input_ref_key_padding_mask": np.zeros((1, 1, 1, n)),
        }
        for n in (3, 8)
    ],
    "rivagan_encoder": [{"frame": (1, 3, 1, 64, 64), "data": (1, 32)}, {"frame": (2, 3, 1, 48, 80), "data": (2, 32)}],
    "rivagan_decoder": [{"frame": (1, 3, 1, 64, 64)}, {"frame": (2, 3, 1, 48, 80)}],
    "vk_captcha": [{"image": (1, 130, 50, 3)}, {"image": (2, 130, 50, 3)}],
    "captcha_crnn": [{"image": (1, 3, 60, 160)}, {"image": (3, 3, 60, 160)}],
    "silero_v5_encoder": [{"input": (1, 576)}, {"input": (7, 576)}],
    "silero_v5_decoder": [{"input": (b, 128), "state": (2, b, 128)} for b in (1, 3)],
    "age": [{"images": (1, 3, 64, 64)}, {"images": (4, 3, 64, 64)}],
    "gender": [{"images": (1, 3, 32, 32)}, {"images": (4, 3, 32, 32)}],
    "surfaces_boosting": [{"input": (1, 4)}, {"input": (7, 4)}],
    "surfaces_neighbours": [{"input": (1, 4)}, {"input": (7, 4)}],
    "surfaces_validity": [{"input": (1, 4)}, {"input": (7, 4)}],
}

# Allowed differences, relative to the largest value of an output, for models that need more than the rounding of
# float32. A quantised network rounds factors to one of 256 steps, and an earlier rounding decides which. ONNX Runtime
# without its own optimisations differs from itself by 2e-3 (smart_turn) and 2e-2 (hibari, with 77 such products).
TOLERANCES = {"smart_turn": 2e-3, "hibari": 6e-2}
