// A backend outside of Relay: kernels are written as C99, and the system's C compiler makes a library of them.
#pragma once

#include <memory>

#include "relay/codegen/backend.h"

std::unique_ptr<relay::codegen::Backend> cc_backend();
