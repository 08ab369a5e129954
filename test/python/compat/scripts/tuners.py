"""The three tuners of TVM on one network, as scripts call them."""

import os
import sys

import numpy as np
import tvm
from tvm import auto_scheduler, autotvm, relay
from tvm import meta_schedule as ms
from tvm.autotvm.tuner import XGBTuner
from tvm.contrib import graph_executor

folder = sys.argv[1]
target = "llvm"
x = relay.var("x", shape=(64, 256))
weight = np.random.default_rng(0).standard_normal((256, 256)).astype("float32")
mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.softmax(relay.nn.dense(x, relay.const(weight)))))
data = np.ones((64, 256), "float32")


def run(lib):
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.set_input("x", data)
    module.run()
    return module.get_output(0).numpy()


expected = run(relay.build(mod, target))

log = os.path.join(folder, "autotvm.log")
tasks = autotvm.task.extract_from_program(mod["main"], target=target, params={})
options = autotvm.measure_option(builder=autotvm.LocalBuilder(), runner=autotvm.LocalRunner(number=10, repeat=1))
for task in tasks:
    callbacks = [autotvm.callback.progress_bar(4), autotvm.callback.log_to_file(log + ".tmp")]
    XGBTuner(task, loss_type="rank").tune(n_trial=4, measure_option=options, callbacks=callbacks)
autotvm.record.pick_best(log + ".tmp", log)
with autotvm.apply_history_best(log), tvm.transform.PassContext(opt_level=3):
    np.testing.assert_allclose(run(relay.build(mod, target)), expected, rtol=1e-5)

log = os.path.join(folder, "auto_scheduler.json")
tasks, weights = auto_scheduler.extract_tasks(mod["main"], {}, target)
scheduler = auto_scheduler.TaskScheduler(tasks, weights)
scheduler.tune(
    auto_scheduler.TuningOptions(
        num_measure_trials=4,
        runner=auto_scheduler.LocalRunner(repeat=10),
        measure_callbacks=[auto_scheduler.RecordToFile(log)],
    )
)
with auto_scheduler.ApplyHistoryBest(log):
    with tvm.transform.PassContext(opt_level=3, config={"relay.backend.use_auto_scheduler": True}):
        np.testing.assert_allclose(run(relay.build(mod, target)), expected, rtol=1e-5)

database = ms.relay_integration.tune_relay(
    mod=mod, params={}, target=target, work_dir=os.path.join(folder, "work"), max_trials_global=4
)
lib = ms.relay_integration.compile_relay(database=database, mod=mod, target=target, params={})
np.testing.assert_allclose(run(lib), expected, rtol=1e-5)
print("done")
