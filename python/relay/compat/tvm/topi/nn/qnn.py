"""tvm.topi.nn.qnn: the codes of element types that simulated_quantize() takes."""

from ...relay.qnn.op import SQNN_DTYPE_TO_CODE

SQNN_CODE_TO_DTYPE = {code: name for name, code in SQNN_DTYPE_TO_CODE.items()}
SQNN_DISABLE, SQNN_INT8, SQNN_UINT8, SQNN_INT32 = range(4)

__all__ = ["SQNN_CODE_TO_DTYPE", "SQNN_DISABLE", "SQNN_DTYPE_TO_CODE", "SQNN_INT8", "SQNN_INT32", "SQNN_UINT8"]
