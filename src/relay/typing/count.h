// A count of inference's work, for tests of how much is inferred repeatedly.
#pragma once

#include <cstdint>

namespace relay::typing {

// The number of types that inference has written into nodes in this thread.
int64_t types_written();

}  // namespace relay::typing
