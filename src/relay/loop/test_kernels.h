// Kernels of tests, from their text.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "relay/base/diagnostics.h"
#include "relay/loop/loop.h"

namespace relay::loop::test {

inline Kernel parsed(const std::string& text) {
  Result<Kernel> k = parse_kernel(text);
  EXPECT_TRUE(k) << (k ? "" : render(k.errors())) << text;
  return k ? *k : Kernel{};
}

// The text with its first `what` replaced.
inline std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const size_t at = text.find(what);
  EXPECT_NE(at, text.npos) << what;
  return at == text.npos ? text : text.replace(at, what.size(), with);
}

// The first message of verify(), or "accepted".
inline std::string refusal(const std::string& text) {
  const Diagnostics errors = verify(parsed(text));
  return errors.empty() ? "accepted" : errors[0].message;
}

// Each row of 12 numbers reversed by a block: two arrays of one name, for halves of it. `rows`: a number, or "n" for a
// size that is known when the kernel runs.
inline std::string reversed_rows(const std::string& rows) {
  return "kernel reversed(x: float32[" + rows + ", 12] read, y: float32[" + rows + ", 12]), shape (" +
         (rows == "n" ? rows : "") + "), task t < 1 {\n  for i in 0.." + rows + R"( block {
    for j in 0..6 thread {
      {
        alloc row: float32[6] in shared
        row[j] = x[i, j]
        barrier
        y[i, 6 + j] = row[5 - j]
      }
      {
        alloc row: float32[6] in shared
        row[j] = x[i, 6 + j]
        barrier
        y[i, j] = row[5 - j]
      }
    }
  }
}
)";
}

}  // namespace relay::loop::test
