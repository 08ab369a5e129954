"""Small networks of DarkNet: sections after [net], by name. Each is run twice, so that states show.

DarkNet's library crashes on [deconvolutional] (it divides by zero groups when it loads weights) and [batchnorm] (it
writes to an array that it has not allocated), and [softmax] with spatial=1 reads beyond its input. The tests of
test/python/darknet compare these with NumPy."""

IMAGE = (4, 12, 10)
CONV = "[convolutional]\nfilters=6\nsize=3\nstride=1\npad=1\nactivation="
# DarkNet allocates the columns that [local] and [crnn] need only for the convolutions of a network.
LARGE = "[convolutional]\nfilters=4\nsize=7\npad=1\nactivation=leaky\n"
NAMES = ("linear", "logistic", "relu", "leaky", "relie", "ramp", "tanh", "elu", "selu", "loggy", "plse", "stair",
         "hardtan", "lhtan")  # fmt: skip


def _cases():
    for name in NAMES:
        yield f"activation {name}", f"{CONV}{name}\n[activation]\nactivation={name}", {}
    yield "conv normalised", f"{CONV}leaky\nbatch_normalize=1", {}
    yield "conv strided", "[conv]\nfilters=5\nsize=5\nstride=2\npad=1\nactivation=leaky", {}
    yield "conv padding", "[conv]\nfilters=5\nsize=3\nstride=2\npadding=2\nactivation=relu", {}
    yield "conv groups", f"{CONV}relu\n[conv]\nfilters=8\nsize=3\ngroups=2\npad=1\nactivation=linear", {}
    yield "conv 1x1", "[convolutional]\nactivation=linear\nfilters=3", {}
    yield "conv flipped", f"{CONV}relu\nflipped=1", {}
    yield "conv xnor", f"{CONV}relu\nxnor=1\nbatch_normalize=1", {}
    yield "connected", "[connected]\noutput=7\nactivation=relu\n[connected]\noutput=5\nactivation=linear", {}
    yield "connected normalised", "[conn]\noutput=7\nactivation=leaky\nbatch_normalize=1", {}
    yield "local", f"{LARGE}[local]\nfilters=5\nsize=3\nstride=1\npad=1\nactivation=leaky", {}
    yield "local valid", f"{LARGE}[local]\nfilters=3\nsize=3\nstride=2\npad=0\nactivation=linear", {}
    for size, stride, padding in ((2, 2, None), (2, 1, None), (3, 2, 0), (3, 1, None), (5, 1, None), (3, 3, 1)):
        around = "" if padding is None else f"\npadding={padding}"
        yield f"maxpool {size} {stride} {padding}", f"[maxpool]\nsize={size}\nstride={stride}{around}", {}
    yield "avgpool softmax", f"{CONV}linear\n[avgpool]\n[softmax]", {}
    yield "softmax groups", f"{CONV}linear\n[avgpool]\n[softmax]\ngroups=2\ntemperature=0.5", {}
    for size in (3, 5):
        yield f"normalization {size}", f"{CONV}linear\n[normalization]\nsize={size}\nalpha=0.1\nbeta=0.6\nkappa=2", {}
    yield "l2norm", f"{CONV}linear\n[l2norm]", {}
    yield "logistic", f"{CONV}linear\n[logistic]", {}
    yield "dropout cost", f"{CONV}relu\n[dropout]\nprobability=.5\n[connected]\noutput=4\nactivation=linear\n[cost]", {}
    yield "crop", "[crop]\ncrop_height=8\ncrop_width=7\nflip=1", {}
    yield "crop noadjust", "[crop]\ncrop_height=12\ncrop_width=6\nnoadjust=1", {}
    yield "route", f"{CONV}relu\n{CONV}tanh\n[route]\nlayers=-1,0\n[route]\nlayers=-2", {}
    yield "route two", f"{CONV}relu\n{CONV}tanh\n[route]\nlayers = -1, 0", {}
    yield "shortcut", f"{CONV}relu\n{CONV}linear\n[shortcut]\nfrom=-2\nactivation=leaky", {}
    deep = "[conv]\nfilters=9\nsize=3\nstride=2\npad=1\nactivation=linear"
    yield "shortcut smaller", f"{CONV}relu\n{deep}\n[shortcut]\nfrom=-2\nactivation=linear", {}
    yield "shortcut larger", f"{deep}\n[upsample]\nstride=2\n{CONV}relu\n[shortcut]\nfrom=0\nactivation=linear", {}
    yield "upsample", "[upsample]\nstride=3", {}
    yield "upsample scaled", "[upsample]\nstride=2\nscale=0.5", {}
    yield "reorg", "[reorg]\nstride=2", {}
    yield "reorg reverse", "[reorg]\nstride=2\nreverse=1", {}
    yield "reorg flatten", "[reorg]\nstride=1\nflatten=1", {}
    yield "reorg flatten reverse", "[reorg]\nstride=1\nflatten=1\nreverse=1", {}
    head = "[convolutional]\nfilters={}\nsize=1\nactivation=linear\n"
    yield "yolo", head.format(24) + "[yolo]\nmask=0,2,3\nclasses=3\nnum=4\nanchors=1,2, 3,4, 5,6, 7,8", {}
    yield "region", head.format(24) + "[region]\nclasses=3\nnum=3\ncoords=4\nanchors=1,2,3,4,5,6", {}
    yield "region softmax", head.format(24) + "[region]\nclasses=3\nnum=3\nsoftmax=1\nanchors=1,2,3,4,5,6", {}
    cells = "[connected]\noutput=99\nactivation=linear\n[detection]\nside=3\nclasses=1\nnum=2\ncoords=4\n"
    yield "detection", cells, {}
    yield "detection softmax", cells.replace("99", "117").replace("classes=1", "classes=3") + "softmax=1", {}
    for kind in ("rnn", "gru", "lstm"):
        for steps in (1, 3):
            for more in ("", "batch_normalize=1\n") if kind != "rnn" else ("", "shortcut=1\n"):
                text = f"[{kind}]\noutput=6\n{more}"
                yield f"{kind} {steps} {more.strip()}", text + ("activation=tanh" if kind == "rnn" else ""), {
                    "inputs": 5, "steps": steps}  # fmt: skip
    yield "gru tanh", "[gru]\noutput=6\ntanh=1", {"inputs": 5, "steps": 2}
    yield "two recurrent", "[lstm]\noutput=6\n[gru]\noutput=4\n[connected]\noutput=3", {"inputs": 5, "steps": 2}
    yield "crnn", f"{LARGE}[crnn]\nhidden_filters=5\noutput_filters=3\nactivation=leaky\nbatch_normalize=1", {}
    yield "crnn shortcut", f"{LARGE}[crnn]\nhidden_filters=5\noutput_filters=3\nactivation=relu\nshortcut=1", {}


def cases():
    """The cases: name, configuration, shape of the input."""
    for name, text, how in _cases():
        steps = how.get("steps", 1)
        if "inputs" in how:
            net, shape = f"inputs={how['inputs']}", (steps, how["inputs"])
        else:
            channels, height, width = IMAGE
            net, shape = f"channels={channels}\nheight={height}\nwidth={width}", (1, *IMAGE)
        yield name, f"[net]\nbatch=1\nsubdivisions=1\ntime_steps={steps}\n{net}\n{text}\n", shape
