"""Seeds of the readers' corpora: the files that hostile kinds write (test/hostile), and valid ones."""

import io
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "hostile"))

SUFFIXES = {
    "onnx": (".onnx",),
    "tflite": (".tflite",),
    "format": (".relay",),
    "relay": (".relay",),
    "artifact": (".rart",),
    "npy": (".npy", ".npz"),
    "safetensors": (".safetensors",),
    "schedule": (".txt",),
}
FAMILIES = {
    "onnx": "model.",
    "tflite": "lite.",
    "format": "program.",
    "relay": "program.",
    "artifact": "artifact.",
    "npy": "array.",
    "safetensors": "program.weights",
    "schedule": "program.schedule",
}

SCHEDULES = [
    "rule any: words\nstage d: root\n  loops i0/1:parallel i1/8 i0/1:unroll i1/1:vector\n"
    "stage c: at d.2 registers\n  loops k0/1 i0/1:unroll i1/1\n",
    "stage d: root\n  prefetch_tile a\n  loops i0/4:peeled i1/1\n"
    "stage c: inline\n  prefetch b k0/16\nlayout b: 1/4,0,1%4\n",
    "stage c: root\n  loops i0/1 i1/1 k0/1:skip_padding\nstage d: at c.1 scratch ring i0\nlayout c: 1,0\n",
]


def of(reader, largest):
    """Files of at most `largest` bytes, each once."""
    import run as hostile
    from harness import BIN, Variant

    found = {text.encode() for text in SCHEDULES} if reader == "schedule" else set()
    if reader == "onnx":
        found |= models()
    if reader == "tflite":
        found |= lite_models()
    if reader == "npy":
        found |= arrays()
    for kind in hostile.all_kinds():
        if not kind.name.startswith(FAMILIES[reader]) or kind.long:
            continue
        for index in range(9 if reader in ("safetensors", "schedule") else 2):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    kind.make(Variant(kind.name, index, 9, 1, pathlib.Path(folder), BIN / "relay"))
                except Exception as error:  # what needs a program or a system that is not there
                    print(f"{kind.name}: {error}", file=sys.stderr)
                for path in pathlib.Path(folder).rglob("*"):
                    if path.suffix in SUFFIXES[reader] and path.is_file() and path.stat().st_size <= largest:
                        found.add(path.read_bytes())
    return sorted(found)


def arrays():
    import numpy as np

    found = set()
    for array in (
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.asfortranarray(np.ones((3, 2), ">i2")),
        np.array(True),
    ):
        file = io.BytesIO()
        np.save(file, array)
        found.add(file.getvalue())
        for save in (np.savez, np.savez_compressed):
            file = io.BytesIO()
            save(file, a=array, b=array)
            found.add(file.getvalue())
    return found


def lite_models():
    """The small models of the TFLite tests."""
    sys.path.insert(0, str(ROOT / "test" / "python" / "tflite"))
    import elementwise_cases  # noqa: F401
    import quantised_cases  # noqa: F401
    import shape_cases  # noqa: F401
    import window_cases  # noqa: F401
    from cases import CASES

    return {case.model()[0] for case in CASES}


def models():
    """Sparse tensors, strings, maps: what the hostile kinds have none of."""
    from onnx import TensorProto, helper

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy")
    values = helper.make_tensor("w", TensorProto.FLOAT, [2], [5.0, 7.0])
    found = set()
    for shape, at in (([2], [1, 5]), ([2, 2], [0, 1, 1, 2])):
        sparse = helper.make_sparse_tensor(values, helper.make_tensor("", TensorProto.INT64, shape, at), [2, 3])
        add = helper.make_node("Add", ["x", "w"], ["y"])
        constant = helper.make_node("Constant", [], ["w"], sparse_value=sparse)
        for graph in (
            helper.make_graph([add], "g", [x], [y], sparse_initializer=[sparse]),
            helper.make_graph([constant, add], "g", [x], [y]),
        ):
            found.add(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())
    s, t = (helper.make_tensor_value_info(name, TensorProto.STRING, [2]) for name in "st")
    words = helper.make_tensor("w", TensorProto.STRING, [1], [b"cat"])
    nodes = [
        helper.make_node("CategoryMapper", ["s"], ["i"], domain="ai.onnx.ml", cats_int64s=[4], cats_strings=["cat"]),
        helper.make_node("Concat", ["s", "w"], ["c"], axis=0),
        helper.make_node("Gather", ["c", "i"], ["t"]),
    ]
    graph = helper.make_graph(nodes, "g", [s], [t], [words])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    found.add(helper.make_model(graph, opset_imports=imports).SerializeToString())
    for child in (1, 9):  # 9: there is no such node
        tree = helper.make_node(
            "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1,
            nodes_treeids=[0] * 3, nodes_nodeids=[0, 1, 2], nodes_featureids=[1, 0, 0], nodes_values=[0.5, 0.0, 0.0],
            nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids=[child, 0, 0], nodes_falsenodeids=[2, 0, 0],
            target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0], target_weights=[1.5, 2.5],
        )  # fmt: skip
        graph = helper.make_graph([tree], "g", [x], [helper.make_empty_tensor_value_info("y")])
        found.add(helper.make_model(graph, opset_imports=imports).SerializeToString())
    return found
