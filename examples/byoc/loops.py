"""A user-defined code generator: a loop in C for each region of elementwise operators.

    python examples/byoc/loops.py

The four parts: choosing operators, generating code for a region, partitioning, and running the program.
"""

import numpy as np

import relay

FORMULAS = {
    "add": "{} + {}",
    "multiply": "{} * {}",
    "subtract": "{} - {}",
    "nn.relu": "({0} > 0 ? {0} : 0)",
    "tanh": "tanhf({})",
}


def takes(call):
    """Returns True for float32 calls whose arguments all have the result's shape."""
    types = [call.checked_type, *(arg.checked_type for arg in call.args)]
    return call.checked_type.dtype == "float32" and all(type == types[0] for type in types)


for name in FORMULAS:
    relay.byoc.supports("loops", name, takes)


@relay.byoc.register_codegen("loops")
def generate(function):
    """The function of a region in C: inputs are arrays 0, 1, .., then come the outputs."""
    results = function.body.fields if isinstance(function.body, relay.Tuple) else [function.body]
    names = {param: f"in{i}[k]" for i, param in enumerate(function.params)}
    lines, constants = [], []

    def visit(e):
        if isinstance(e, relay.Constant):
            names[e] = f"c{len(constants)}[k]"
            constants.append(e.data)
        elif isinstance(e, relay.Call):
            names[e] = f"v{len(lines)}"
            lines.append(f"const float {names[e]} = {FORMULAS[e.op.name].format(*(names[a] for a in e.args))};")

    relay.analysis.post_order_visit(function.body, visit)
    lines += [f"out{i}[k] = {names[r]};" for i, r in enumerate(results)]
    arrays = [f"in{i}" for i in range(len(function.params))] + [f"out{i}" for i in range(len(results))]
    arrays += [f"c{i}" for i in range(len(constants))]
    pointers = "\n".join(f"float* {name} = a[{i}].data;" for i, name in enumerate(arrays))
    return relay.byoc.CSource(
        f"""#include <math.h>
int {function.attrs["global_symbol"]}(const relay_external_array* a, int32_t threads) {{
  {pointers}
  int64_t n = 1;
  for (int d = 0; d < a[{len(function.params)}].rank; ++d) n *= a[{len(function.params)}].shape[d];
  for (int64_t k = 0; k < n; ++k) {{ {" ".join(lines)} }}
  return 0;
}}
""",
        tuple(constants),
    )


if __name__ == "__main__":
    x, y = (relay.var(name, shape=("n", 64)) for name in "xy")
    w = relay.const(np.eye(64, dtype="float32") * 2)
    mod = relay.IRModule.from_expr(relay.nn.dense(relay.nn.relu(relay.tanh(x) * y) + y, w))
    mod = relay.byoc.partition(relay.transform.InferType()(mod), "loops")
    print(relay.byoc.report(mod))
    model = relay.compile(mod)
    a, b = np.random.default_rng(0).standard_normal((2, 3, 64), dtype="float32")
    error = np.abs(model(a, b) - relay.evaluate(mod, [a, b])).max()
    print("steps:", [step["symbol"] for step in model.report["external"]], "error below 1e-6:", error < 1e-6)
