"""Imports the modules that every network's process needs, once: those processes are forks of this one. onnx cannot be
imported."""

import os
import pathlib
import sys
import warnings

ZOO = pathlib.Path(__file__).resolve().parent
sys.modules["onnx"] = None
sys.path[:0] = [str(ZOO.parents[1] / "build/models-torch"), str(ZOO.parents[1] / "python")]
warnings.simplefilter("ignore")
os.environ["RELAY_THREADS"] = "1"

import relay.torch  # noqa: E402, F401
import torch  # noqa: E402
import torch.export  # noqa: E402
import torch_front  # noqa: E402, F401
import torch_networks  # noqa: E402
import torch_train  # noqa: E402, F401
import transformers  # noqa: E402, F401
from torch._inductor.fx_passes import joint_graph, post_grad  # noqa: E402

torch.set_num_threads(1)  # a fork must find no threads
torch_networks.load_packages()
joint_graph.lazy_init()
post_grad.lazy_init()
