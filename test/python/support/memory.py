"""The memory that the process has allocated."""

import ctypes


def allocated() -> int:
    """Bytes that malloc and mmap have given to this process and not got back; glibc says it."""

    class Info(ctypes.Structure):
        _fields_ = [(name, ctypes.c_size_t) for name in
                    "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]  # fmt: skip

    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = Info
    info = mallinfo2()
    return info.uordblks + info.hblkhd
