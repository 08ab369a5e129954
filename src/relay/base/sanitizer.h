// The sanitizers that this build has, for code that they slow down or forbid.
#pragma once

#ifndef __has_feature  // of Clang
#define __has_feature(name) 0
#endif

namespace relay {

constexpr bool has_address_sanitizer = __has_feature(address_sanitizer) != 0;
constexpr bool has_thread_sanitizer = __has_feature(thread_sanitizer) != 0;  // allows no threads after a fork

}  // namespace relay
