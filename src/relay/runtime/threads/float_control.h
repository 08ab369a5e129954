// The processor's control word for floating-point arithmetic, which each thread has for itself.
//
//   const FloatScope scope(FloatControl::now().flushing());   // subnormal numbers count as zero from here
//   kernel(...);
//                                                             // the previous word is back
//
// Kernels run with the word of their program (program/program.h: Program::keeps_subnormals); code of others, such as
// external functions, runs with the caller's.
#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace relay::runtime {

// Rounding, exceptions and the treatment of subnormal numbers. The flags of exceptions that occurred are not part of
// it. The same everywhere on processors that have no such word.
class FloatControl {
 public:
  // That of the calling thread.
  static FloatControl now() {
#if defined(__x86_64__)
    return FloatControl(_mm_getcsr() & ~flags);
#elif defined(__aarch64__)
    uint64_t word;
    asm volatile("mrs %0, fpcr" : "=r"(word));
    return FloatControl(word);
#else
    return FloatControl(0);
#endif
  }
  // Sets it for the calling thread.
  void set() const {
#if defined(__x86_64__)
    _mm_setcsr(static_cast<uint32_t>(word_));
#elif defined(__aarch64__)
    asm volatile("msr fpcr, %0" : : "r"(word_));
#endif
  }
  // The same, but subnormal operands count as zero, and subnormal results become zero, of the same sign.
  FloatControl flushing() const { return FloatControl(word_ | flush); }
  // The same, but subnormal numbers are computed like others.
  FloatControl keeping() const { return FloatControl(word_ & ~flush); }
  // True if the processor can flush subnormal numbers.
  static constexpr bool can_flush() { return flush != 0; }

  FloatControl() = default;
  bool operator==(const FloatControl&) const = default;

 private:
  explicit FloatControl(uint64_t word) : word_(word) {}
#if defined(__x86_64__)
  static constexpr uint64_t flush = 0x8040, flags = 0x3F;  // MXCSR: FTZ and DAZ
#elif defined(__aarch64__)
  static constexpr uint64_t flush = uint64_t{1} << 24;  // FPCR.FZ: operands and results
#else
  static constexpr uint64_t flush = 0;
#endif
  uint64_t word_ = 0;
};

// Sets a word for the calling thread until the end of the scope.
class FloatScope {
 public:
  explicit FloatScope(FloatControl wanted) : before_(FloatControl::now()), changes_(wanted != before_) {
    if (changes_) wanted.set();
  }
  ~FloatScope() {
    if (changes_) before_.set();
  }
  FloatScope(const FloatScope&) = delete;
  FloatScope& operator=(const FloatScope&) = delete;

 private:
  const FloatControl before_;
  const bool changes_;
};

// The word with which the kernels of a program run.
inline FloatControl kernel_control(bool keeps_subnormals) {
  const FloatControl now = FloatControl::now();
  return keeps_subnormals ? now.keeping() : now.flushing();
}

}  // namespace relay::runtime
