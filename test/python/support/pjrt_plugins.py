"""The PJRT plugins that tests run programs on: `make build/test-stablehlo/plugins/ready` installs them."""

import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "build" / "test-stablehlo" / "plugins"
ALL = {
    "xla-cpu-pjrt": FOLDER / "xla_plugins" / "xla_cpu_pjrt" / "xla_cpu_pjrt.so",
    "lammps-jax-pjrt-cpu": FOLDER / "lammps_jax_pjrt_cpu" / "pjrt_c_api_cpu_plugin.so",
}
HEADER = FOLDER / "xla_plugins" / "xla_cpu_pjrt" / "include" / "pjrt_c_api.h"
WHY = "the plugin is not installed: make build/test-stablehlo/plugins/ready"
