// Where results go: checked before the work is done, written after it.
#pragma once

#include <string>

#include "relay/input/npy.h"

namespace relay::cli {

// Whether a file could be written there; nothing is written yet.
Status check_output_file(const std::string& path);

// The folder with those around it, unless it is there.
Status make_folder(const std::string& path);

// Of `relay run --output`: a file .npz, .npy or .txt, or a folder of .npy (no extension, or a / at the end).
Status check_outputs(const std::string& path);
Status write_outputs(const std::string& path, const input::NamedArrays& outputs);

}  // namespace relay::cli
