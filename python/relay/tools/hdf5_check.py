"""Reads everything in an HDF5 file, from a path or from stdin, and forgets it. Run before such a file is read in the
process that imports it: HDF5 does not end, or crashes, on some damaged files.

    hdf5_check.py FILE|- SECONDS     ended by SIGXCPU after SECONDS of processor time

Ends with status 0 for every answer of HDF5, errors included: the importer meets them again, and reports them.
"""

import contextlib
import io
import math
import resource
import sys

SMALL, MOST_RATIO = 64 << 20, 64  # as in the importer: larger datasets are refused there without being read


def visit(group, seen):
    import h5py

    pending = [group]
    while pending:
        held = pending.pop()
        with contextlib.suppress(Exception):
            address = h5py.h5o.get_info(held.id).addr
            if address in seen:
                continue
            seen.add(address)
        for name in list_of(lambda held=held: held.attrs):
            with contextlib.suppress(Exception):
                held.attrs[name]
        if isinstance(held, h5py.Dataset):
            with contextlib.suppress(Exception):
                if not held.external and held.nbytes <= max(SMALL, MOST_RATIO * held.id.get_storage_size()):
                    held[()]
            continue
        for name in list_of(lambda held=held: held):
            with contextlib.suppress(Exception):
                if isinstance(held.get(name, getlink=True), h5py.HardLink):
                    pending.append(held[name])


def list_of(names):
    try:
        return list(names())
    except Exception:  # of h5py, for a damaged file
        return []


def main():
    import h5py

    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    used = resource.getrusage(resource.RUSAGE_SELF)
    allowed = math.ceil(used.ru_utime + used.ru_stime + float(sys.argv[2]))
    if most == resource.RLIM_INFINITY or allowed < most:
        resource.setrlimit(resource.RLIMIT_CPU, (allowed, most))
    source = io.BytesIO(sys.stdin.buffer.read()) if sys.argv[1] == "-" else open(sys.argv[1], "rb")
    with contextlib.suppress(Exception), h5py.File(source, "r") as file:
        for name in ("model_config", "keras_version"):
            with contextlib.suppress(Exception):
                file.attrs[name]
        visit(file, set())


if __name__ == "__main__":
    main()
