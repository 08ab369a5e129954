"""Hostile sizes, shapes and attributes in Relay text."""

from harness import Kinds, either, fine, refused
from texts import BIG, main, tensor

kinds = Kinds("program")

kinds(
    "empty-of-huge",
    "no elements, but a dimension of 2^62",
    refused("R0405", "elements"),
    lambda v: v.program(main("nn.relu(%x)", tensor(v.one_of([f"{BIG}, 0", f"0, {BIG}"])))),
)
kinds(
    "huge-input",
    "more elements than 64 bits count",
    refused("R0601 R0405 R0603", "elements"),
    lambda v: v.program(
        main("nn.relu(%x)", tensor(v.one_of([f"{BIG}, {BIG}", f"{2**63 - 1}", "65536, 65536, 65536, 65536"])))
    ),
)
kinds(
    "huge-literal-dimension",
    "a dimension that 64 bits do not hold",
    refused("R0102"),
    lambda v: v.program(main("%x", tensor(v.one_of([str(2**63), str(10**30), "9" * 10_000])))),
)
kinds(
    "negative-dimension",
    "a dimension below zero",
    refused("R01 R03"),
    lambda v: v.program(main("%x", tensor(v.one_of(["-1", "0 - 1", "2 - 3, 4", f"-{BIG}"])))),
)
kinds(
    "zeros-bomb",
    "zeros of 2^62 elements",
    refused("R0405 R0603", "elements|memory|bytes"),
    lambda v: v.program(
        main(f'{v.one_of(["zeros", "ones"])}(shape=[{v.one_of([BIG, 2**60, 10**15])}], dtype="float32")')
    ),
)
kinds(
    "zeros-memory",
    "zeros of 40 GB: folded to a constant, or given to the system",
    refused("R0603 R0405", "memory|elements"),
    lambda v: v.program(main('zeros(shape=[100000, 100000], dtype="float32")')),
)
kinds(
    "zeros-empty",
    "zeros of shape (2^62, 0)",
    refused("R0405", "elements"),
    lambda v: v.program(main(f'{v.one_of(["zeros", "ones"])}(shape=[{BIG}, 0], dtype="float32")')),
)
kinds(
    "zeros-negative",
    "zeros of a negative shape",
    refused("R0206 R0302 R03"),
    lambda v: v.program(main(f'zeros(shape=[{v.one_of([-1, -(2**31), -BIG, -(2**63)])}], dtype="float32")')),
)
kinds(
    "broadcast-bomb",
    "broadcast_to 2^60 elements",
    refused("R0405 R0603"),
    lambda v: v.program(main("broadcast_to(%x, shape=[1048576, 1048576, 1048576])", tensor("1"))),
)
kinds(
    "tile-bomb",
    "tile whose product overflows",
    refused("R0405 R0603 R0302 R0206"),
    lambda v: v.program(
        main(f"tile(%x, reps=[{v.one_of([BIG, 2**40, -3])}, {v.one_of([BIG, 2**40, 3])}])", tensor("4, 4"))
    ),
)
kinds(
    "repeat-bomb",
    "repeat past 64 bits",
    refused("R0405 R0603 R0302 R0206"),
    lambda v: v.program(main(f"repeat(%x, repeats={v.one_of([BIG, 2**50, -1])}, axis=0)", tensor("4, 4"))),
)
kinds(
    "pad-bomb",
    "pad by 2^62",
    refused("R0405 R0603 R0302 R0206"),
    lambda v: v.program(
        main(
            f"nn.pad(%x, 0f, pad_width=[[{p}, {p}], [0, 0]])" if (p := v.one_of([BIG, 2**50, -5])) else "",
            tensor("4, 4"),
        )
    ),
)
kinds(
    "arange-bomb",
    "a range of 10^18 numbers",
    refused("R0405 R0603 R0302 R0206 R0303"),
    lambda v: v.program(main('arange(0i64, 1000000000000000000i64, 1i64, dtype="int64")')),
)
kinds(
    "one-hot-bomb",
    "one_hot of 2^62",
    refused("R0405 R0603 R0302 R0206"),
    lambda v: v.program(
        main(
            f'one_hot(%x, 1f, 0f, depth={v.one_of([BIG, 2**50, -1])}, axis=-1, dtype="float32")',
            tensor("4", dtype="int32"),
        )
    ),
)
CONV = "nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3], {})"
CONV_PARAMETERS = tensor("1, 3, 8, 8") + ", " + tensor("4, 3, 3, 3", "w")
for attribute in ("padding", "strides", "dilation"):
    kinds(
        f"conv-{attribute}",
        f"a convolution whose {attribute} overflow",
        refused("R0206 R0302 R0405 R0603"),
        lambda v, a=attribute: v.program(
            main(CONV.format(f"{a}=[{n}, {n}]"), CONV_PARAMETERS)
            if (n := v.one_of([-1, -(2**63), -BIG] if a == "strides" else [BIG, 2**63 - 1, -BIG, -1]))
            else ""
        ),
    )
kinds(
    "conv-stride-huge",
    "a stride beyond the picture: one pixel",
    fine(),
    lambda v: v.program(
        main(CONV.format(f"strides=[{n}, {n}]"), CONV_PARAMETERS) if (n := v.one_of([2**31, 2**39, 2**40])) else ""
    ),
)
kinds(
    "conv-zero",
    "a stride, dilation or group of zero",
    refused("R0206 R0302"),
    lambda v: v.program(
        main(CONV.format(v.one_of(["strides=[0, 0]", "dilation=[0, 0]", "groups=0", "groups=-1"])), CONV_PARAMETERS)
    ),
)
kinds(
    "conv-kernel",
    "a kernel size that the weight does not have",
    refused("R0206 R0302"),
    lambda v: v.program(
        main(
            f"nn.conv2d(%x, %w, channels=4, kernel_size=[{n}, {n}])"
            if (n := v.one_of([0, -1, BIG])) is not None
            else "",
            CONV_PARAMETERS,
        )
    ),
)
kinds(
    "pool-huge",
    "a pool window of 2^62",
    refused("R0206 R0302 R0405 R0603"),
    lambda v: v.program(
        main(
            f"nn.{v.one_of(['max', 'avg'])}_pool2d(%x, pool_size=[{n}, {n}], padding=[{p}, {p}])"
            if (n := BIG) and (p := v.one_of([0, BIG, -1])) is not None
            else "",
            tensor("1, 3, 8, 8"),
        )
    ),
)
kinds(
    "axis-far",
    "an axis that does not exist",
    refused("R0206 R0302"),
    lambda v: v.program(main(f"nn.softmax(%x, axis={v.one_of([2, -3, BIG, -(2**63), 2**31])})", tensor("4, 4"))),
)
kinds(
    "axes-far",
    "axes of a sum that do not exist",
    refused("R0206 R0302"),
    lambda v: v.program(main(f"sum(%x, axis=[{v.one_of([2, -3, BIG, -(2**63), 2**31])}])", tensor("4, 4"))),
)
kinds(
    "transpose-twice",
    "a permutation that is none",
    refused("R0206 R0302"),
    lambda v: v.program(
        main(f"transpose(%x, axes=[{v.one_of(['0, 0', '0', '0, 2', '0, 1, 2', f'0, {BIG}'])}])", tensor("4, 4"))
    ),
)
kinds(
    "slice-far",
    "a slice with bounds and steps at the ends of 64 bits",
    either("R0206 R0302"),
    lambda v: v.program(
        main(
            f"strided_slice(%x, begin=[{v.one_of([-(2**63), BIG, 0])}], end=[{v.one_of([2**63 - 1, -(2**63)])}], "
            f"strides=[{v.one_of([1, -1, 2**63 - 1, -(2**63)])}])",
            tensor("8"),
        )
    ),
)
kinds(
    "slice-stride-zero",
    "a slice with a step of zero",
    refused("R0206 R0302"),
    lambda v: v.program(main("strided_slice(%x, begin=[0], end=[4], strides=[0])", tensor("8"))),
)
kinds(
    "reshape-overflow",
    "a reshape whose sizes' product wraps to the right number",
    refused("R0302 R0206 R0405"),
    lambda v: v.program(
        main(
            "reshape(%x, newshape="
            f"[{v.one_of(['4294967296, 4294967296', '-1, -1', '-5', '0, 0, 0', f'{2**63 - 1}, -1'])}])",
            tensor("4"),
        )
    ),
)
kinds(
    "take-scalar-far",
    "an index beyond 64 bits",
    refused("R0102"),
    lambda v: v.program(main(f"take(%x, {2**64}i64, axis=0)", tensor("4"))),
)
kinds(
    "resize-bomb",
    "a picture resized to 2^31 squared",
    refused("R0405 R0603 R0206 R0302"),
    lambda v: v.program(main("image.resize2d(%x, size=[4294967296, 4294967296])", tensor("1, 3, 8, 8"))),
)
kinds(
    "divide-by-zero",
    "an integer divided by zero",
    fine(),
    lambda v: v.program(main("divide(%x, %y)", "%x: int32, %y: int32"), "--input", "x=1", "--input", "y=0"),
)
kinds(
    "divide-overflow",
    "the least integer divided by -1",
    fine(),
    lambda v: v.program(
        main(f"{v.one_of(['divide', 'mod', 'floor_divide', 'floor_mod'])}(%x, %y)", "%x: int32, %y: int32"),
        "--input",
        "x=-2147483648",
        "--input",
        "y=-1",
    ),
)
kinds(
    "fold-divide-zero",
    "constants divided by zero while they are folded",
    fine(),
    lambda v: v.program(
        main(
            f"{v.one_of(['divide', 'mod', 'floor_divide'])}"
            f"({v.one_of([1, '(0 - 2147483647 - 1)'])}, {v.one_of([0, -1])})"
        )
    ),
)
kinds(
    "dimension-division",
    "a dimension divided by zero",
    refused("R01 R03"),
    lambda v: v.program(main("%x", tensor(v.one_of(["n // 0", "4 // 0", "n % 0"]) + ","))),
)
kinds(
    "symbolic-overflow",
    "symbolic sizes whose product overflows at run time",
    refused("R0601 R0603 R0405 R0302"),
    lambda v: v.program(
        main("reshape(add(%x, %y), newshape=[-1])", tensor("n, 1") + ", " + tensor("1, m", "y")),
        "--shape",
        f"x={2**33},1",
        "--shape",
        f"y=1,{2**33}",
    ),
)
