# What a build for fuzzing (RELAY_FUZZ, preset fuzz) compiles with coverage and sanitizers: the layers that read files of
# strangers, and what they read into. The others are compiled as always, and come out of the compiler's cache.
set(RELAY_FUZZED_LAYERS base tensor scalar runtime/program runtime text typing input lower/schedule frontend/common frontend/onnx
    frontend/tflite)
# function: as in flags.cmake.
set(RELAY_FUZZED_OPTIONS -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=function -fno-sanitize-recover=all
                         -fno-omit-frame-pointer -O1)
