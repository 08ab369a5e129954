// What inference has done, for tests of how much it looks at again.
#pragma once

#include <cstdint>

namespace relay::typing {

// How many types inference has written into nodes, in this thread since it began.
int64_t types_written();

}  // namespace relay::typing
