// The machine that an artifact is for, as the runtime checks it.
#pragma once

#include <algorithm>

#include "relay/base/text.h"
#include "relay/machine/target_desc.h"
#include "relay/runtime/artifacts/artifact.h"

namespace relay::exec {

inline runtime::ArtifactTarget artifact_target(const TargetDesc& target) {
  std::vector<std::string> features = target.features;
  // Code with SVE is for one length of its vectors.
  if (std::find(features.begin(), features.end(), "+sve") != features.end())
    features.push_back(format("+sve-bits-{}", target.vector_bytes * 8));
  return {target.name, target.triple, target.cpu, std::move(features)};
}

}  // namespace relay::exec
