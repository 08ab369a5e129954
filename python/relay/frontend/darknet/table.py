"""The list of imported layers of DarkNet, with their converters, by the name of the section."""

from __future__ import annotations

from . import heads, layers, recurrent

LAYERS = {
    "convolutional": layers.convolutional,
    "deconvolutional": layers.deconvolutional,
    "connected": layers.connected,
    "local": layers.local,
    "batchnorm": layers.batchnorm,
    "maxpool": layers.maxpool,
    "avgpool": layers.avgpool,
    "softmax": layers.softmax,
    "normalization": layers.normalization,
    "l2norm": layers.l2norm,
    "activation": layers.activation,
    "logistic": layers.logistic,
    "dropout": layers.identity,
    "cost": layers.identity,
    "crop": layers.crop,
    "route": layers.route,
    "shortcut": layers.shortcut,
    "upsample": layers.upsample,
    "reorg": layers.reorg,
    "scale_channels": layers.scale_channels,
    "sam": layers.sam,
    "yolo": heads.yolo,
    "region": heads.region,
    "detection": heads.detection,
    "rnn": recurrent.rnn,
    "crnn": recurrent.crnn,
    "gru": recurrent.gru,
    "lstm": recurrent.lstm,
}
HEADS = ("yolo", "region", "detection")
