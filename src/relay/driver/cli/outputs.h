// Output files: checked before the work is done, written after it.
#pragma once

#include <string>

#include "relay/input/npy.h"

namespace relay::cli {

// Checks that a file could be written at `path`, without writing it.
Status check_output_file(const std::string& path);

// Creates the folder and its parents unless they exist.
Status make_folder(const std::string& path);

// The argument of `relay run --output`: a .npz, .npy or .txt file, or a folder for .npy files (no extension, or a / at
// the end), or - for text on stdout.
Status check_outputs(const std::string& path);
bool is_stdout(const std::string& path);
Status write_outputs(const std::string& path, const input::NamedArrays& outputs);

}  // namespace relay::cli
