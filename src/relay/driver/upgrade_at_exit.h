// Upgrades that also add full code to the cache: a process finishes them before it ends, so that the next process finds
// the model there.
#pragma once

#include "relay/driver/upgrade.h"

namespace relay::driver {

// As upgrade(); finish_upgrades() waits for it, and begins it if nothing else has.
std::unique_ptr<runtime::Upgrade> upgrade_with_cache(std::shared_ptr<runtime::KernelCode> code, CompileFull compile);

// Waits for the upgrades of this kind of all models that exist.
void finish_upgrades();

}  // namespace relay::driver
