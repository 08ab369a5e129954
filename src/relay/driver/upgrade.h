// Full code for an executable that begins with fast code. It is compiled in the background and exchanged between runs.
//
//   executable->set_upgrade(upgrade(executable->code(), compile_full));
//
// The work begins before the second run, so that a program that runs once costs no more than that, or when something
// waits for it. Its threads have a low priority. It is stopped when the executable is destroyed and at the end of the
// process. After an error, the executable keeps its fast code, and wait() returns the error. In a forked child, the
// next run begins the work again.
#pragma once

#include <functional>

#include "relay/runtime/executable.h"

namespace relay::driver {

// Called on another thread, under an InterruptScope. May be called once in each process.
using CompileFull = std::function<Result<std::shared_ptr<const runtime::KernelLibrary>>()>;

std::unique_ptr<runtime::Upgrade> upgrade(std::shared_ptr<runtime::KernelCode> code, CompileFull compile);
// The same for work that also adds full code to the cache: a process finishes it before it ends, so that the next one
// finds the model there.
std::unique_ptr<runtime::Upgrade> upgrade_with_cache(std::shared_ptr<runtime::KernelCode> code, CompileFull compile);

// Waits for the upgrades with the cache of all models that exist, and begins those that nothing else has begun.
void finish_upgrades();

}  // namespace relay::driver
