"""Runs one network in DarkNet's own library (Debian's package `darknet`), in a process that darknet_run.py starts.

    darknet_oracle.py LIBRARY CFG WEIGHTS INPUTS.npy COUNT OUTPUTS.npy: runs the network on each of the inputs in turn,
    and writes the COUNT numbers of each result.

The library is linked to four libraries of OpenCV for windows and cameras only. `dev/setup darknet` makes empty ones.
"""

import ctypes
import sys

import numpy as np


def main():
    library, cfg, weights, inputs, count, outputs = sys.argv[1:]
    lib = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    lib.load_network.restype = ctypes.c_void_p
    lib.load_network.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int]
    lib.network_predict.restype = ctypes.POINTER(ctypes.c_float)
    lib.network_predict.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    net = lib.load_network(cfg.encode(), weights.encode(), 0)
    results = []
    for one in np.load(inputs):
        one = np.ascontiguousarray(one, np.float32)
        results.append(np.ctypeslib.as_array(lib.network_predict(net, one.ctypes.data), (int(count),)).copy())
    np.save(outputs, np.stack(results))


if __name__ == "__main__":
    main()
