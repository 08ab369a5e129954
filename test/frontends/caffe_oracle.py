"""Runs networks of Caffe in OpenCV 4: caffe_oracle.py FOLDER, which holds net.prototxt and net.caffemodel in folders.
Writes outputs.npy, of the last layer, for the array inputs.npy of each."""

import pathlib
import sys

import cv2
import numpy as np

for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    if not (folder / "inputs.npy").exists():
        continue
    try:
        net = cv2.dnn.readNetFromCaffe(str(folder / "net.prototxt"), str(folder / "net.caffemodel"))
        net.setInput(np.load(folder / "inputs.npy"))
        np.save(folder / "outputs.npy", net.forward())
    except Exception as error:
        print(f"REFUSED {folder.name}: {str(error).strip().splitlines()[-1][:300]}", flush=True)
