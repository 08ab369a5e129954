// Calibration data in files.
#pragma once

#include "relay/driver/quantise/runs.h"
#include "relay/input/inputs.h"
#include "relay/input/npy.h"

namespace relay::driver {

struct SampleFiles {
  Samples samples;
  std::vector<Tensor> labels{};  // one for each sample, if they were asked for
};

// Reads samples of the inputs of @main.
//
//   FILE.npz   an array for each input, by name: of the input's shape, with one more axis in front, or with a multiple
//              of the input's first size, as for single pictures of a batch
//   FOLDER     .npz files as above; .npy files, of the only input; .relay files, expressions for the only input;
//              folders, a sample each, with a file NAME.npy or NAME.relay for each input
//
// `labels`: the name of an array of classes in the .npz files; empty if there is none. Diagnoses data of another type
// or shape, inputs without data, and an empty set.
Result<SampleFiles> read_samples(const std::string& path, const ir::Module& module, const std::string& labels);
// The same for arrays; `name` is for messages.
Status add_samples(const input::NamedArrays& arrays, const std::string& name, const std::vector<input::Port>& ports,
                   const std::string& labels, SampleFiles* out);

// The module with parameters of @main replaced by these values. Diagnoses names, types and shapes that do not fit.
Result<ir::Module> bind_weights(const ir::Module& module, const input::NamedArrays& weights, const std::string& name);

}  // namespace relay::driver
