// For tests: AMX in software, on machines that lack it. While an AmxEmulator exists, an illegal instruction that is
// one of AMX's is decoded and computed, and the program continues behind it. So the very machine code that Relay emits
// runs. Each thread has its own tiles. Intel's Software Developer's Manual, volumes 1 (chapter 18) and 2, defines the
// meaning.
//
// An instruction that a machine would refuse ends the test with a message: tiles that are not configured, or whose
// shapes do not fit.
#pragma once

#if defined(__x86_64__)

#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "relay/base/tile_permission.h"

namespace relay::codegen {

class AmxEmulator {
 public:
  static constexpr int tiles = 8, most_rows = 16, most_bytes = 64;

  // The state of a thread.
  struct State {
    bool configured = false;
    uint16_t bytes[tiles] = {};  // in a row
    uint8_t rows[tiles] = {};
    uint8_t data[tiles][most_rows][most_bytes] = {};
    long products = 0, loads = 0, stores = 0, configurations = 0;  // instructions so far
  };
  static State& state() {
    static thread_local State of_thread;
    return of_thread;
  }

  // Asks for the machine's own tiles, and emulates if there are none.
  AmxEmulator() : emulates_(!tile_permission().granted) {
    if (!emulates_) return;
    state();  // exists before a signal needs it
    struct sigaction action = {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGILL, &action, &before_);
  }
  ~AmxEmulator() {
    if (emulates_) sigaction(SIGILL, &before_, nullptr);
  }
  AmxEmulator(const AmxEmulator&) = delete;
  AmxEmulator& operator=(const AmxEmulator&) = delete;
  bool emulates() const { return emulates_; }

 private:
  // An instruction with the prefix VEX of three bytes, map 0F38, 128 bits, W0.
  struct Instruction {
    enum Prefix : uint8_t { None, P66, PF3, PF2 } prefix;
    uint8_t opcode;
    int reg, third;  // ModRM.reg, VEX.vvvv
    bool is_memory;
    int second;        // ModRM.rm, if it is a register
    uint64_t address;  // of memory, without the index
    uint64_t stride;   // index times scale
    int64_t length;
  };

  [[noreturn]] static void stop(const char* why) {
    const ssize_t written = write(STDERR_FILENO, why, std::strlen(why));
    static_cast<void>(written);
    std::abort();
  }

  static uint64_t general_register(const ucontext_t& c, int number) {
    static constexpr int order[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    return static_cast<uint64_t>(c.uc_mcontext.gregs[order[number]]);
  }

  static bool decode(const ucontext_t& c, Instruction& out) {  // false for any other instruction
    const uint8_t* at = reinterpret_cast<const uint8_t*>(c.uc_mcontext.gregs[REG_RIP]);
    const uint8_t* p = at;
    if (*p++ != 0xC4) return false;
    const uint8_t first = *p++, second = *p++;
    if ((first & 31) != 2 || (second & 0x84) != 0) return false;  // map 0F38; W0, L0
    const int x = (first & 0x40) ? 0 : 8, b = (first & 0x20) ? 0 : 8;
    out.prefix = static_cast<Instruction::Prefix>(second & 3);
    out.third = (~second >> 3) & 15;
    out.opcode = *p++;
    if (out.opcode != 0x49 && out.opcode != 0x4B && out.opcode != 0x5C && out.opcode != 0x5E) return false;
    const uint8_t modrm = *p++;
    const int mode = modrm >> 6;
    out.reg = (modrm >> 3) & 7, out.second = modrm & 7;
    out.is_memory = mode != 3;
    out.address = out.stride = 0;
    if (out.is_memory) {
      int displacement = mode == 1 ? 1 : mode == 2 ? 4 : 0;
      bool to_next = false;  // relative to the next instruction
      if (out.second == 4) {
        const uint8_t sib = *p++;
        const int index = ((sib >> 3) & 7) + x, base = (sib & 7) + b;
        if (index != 4) out.stride = general_register(c, index) << (sib >> 6);
        if ((sib & 7) == 5 && mode == 0)
          displacement = 4;
        else
          out.address = general_register(c, base);
      } else if (out.second == 5 && mode == 0) {
        displacement = 4, to_next = true;
      } else {
        out.address = general_register(c, out.second + b);
      }
      if (displacement == 1) out.address += static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(*p)));
      if (displacement == 4) {
        int32_t d = 0;
        std::memcpy(&d, p, sizeof d);
        out.address += static_cast<uint64_t>(static_cast<int64_t>(d));
      }
      p += displacement;
      if (to_next) out.address += reinterpret_cast<uint64_t>(p);
    }
    out.length = p - at;
    return true;
  }

  static void configure(State& s, const uint8_t* memory) {
    constexpr int bytes_at = 16, rows_at = 48;
    s = {.products = s.products, .loads = s.loads, .stores = s.stores, .configurations = s.configurations + 1};
    if (memory[0] == 0) return;
    if (memory[0] != 1) stop("ldtilecfg: there is no such palette\n");
    for (int t = 0; t < tiles; ++t) {
      std::memcpy(&s.bytes[t], memory + bytes_at + 2 * t, 2);
      s.rows[t] = memory[rows_at + t];
      if (s.rows[t] > most_rows || s.bytes[t] > most_bytes || (s.rows[t] == 0) != (s.bytes[t] == 0))
        stop("ldtilecfg: a shape that tiles cannot have\n");
    }
    s.configured = true;
  }

  static void store_configuration(const State& s, uint8_t* memory) {
    std::memset(memory, 0, 64);
    if (!s.configured) return;
    memory[0] = 1;
    for (int t = 0; t < tiles; ++t) {
      std::memcpy(memory + 16 + 2 * t, &s.bytes[t], 2);
      memory[48 + t] = s.rows[t];
    }
  }

  static void need(const State& s, int tile) {
    if (!s.configured || tile >= tiles || s.rows[tile] == 0) stop("a tile is used that is not configured\n");
  }

  static float flushed(float v) { return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0F, v) : v; }
  static float widened(const uint8_t* at, bool bfloat16) {
    uint16_t half = 0;
    std::memcpy(&half, at, 2);
    if (!bfloat16) {
      _Float16 value = 0;
      std::memcpy(&value, &half, sizeof value);
      return static_cast<float>(value);
    }
    const uint32_t bits = static_cast<uint32_t>(half) << 16;
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return flushed(value);
  }

  // sums[m][n] += left[m][k] * right[k][n], with groups of 4 bytes in k.
  static void multiply(State& s, const Instruction& i) {
    const int c = i.reg, a = i.second, b = i.third;
    need(s, c), need(s, a), need(s, b);
    if (s.bytes[c] != s.bytes[b] || s.rows[c] != s.rows[a] || s.bytes[a] != 4 * s.rows[b] || a == b || a == c || b == c)
      stop("a product of tiles whose shapes do not fit\n");
    const bool left_signed = i.prefix == Instruction::PF2 || i.prefix == Instruction::PF3,
               right_signed = i.prefix == Instruction::PF2 || i.prefix == Instruction::P66;
    auto byte = [](uint8_t v, bool is_signed) { return is_signed ? static_cast<int8_t>(v) : static_cast<int32_t>(v); };
    for (int m = 0; m < s.rows[c]; ++m)
      for (int n = 0; n < s.bytes[c] / 4; ++n) {
        uint8_t* sum = &s.data[c][m][4 * n];
        if (i.opcode == 0x5E) {
          uint32_t value = 0;
          std::memcpy(&value, sum, 4);
          for (int k = 0; k < s.rows[b]; ++k)
            for (int g = 0; g < 4; ++g)
              value += static_cast<uint32_t>(byte(s.data[a][m][4 * k + g], left_signed) *
                                             byte(s.data[b][k][4 * n + g], right_signed));
          std::memcpy(sum, &value, 4);
          continue;
        }
        // Even and odd numbers are summed apart; each step is rounded once.
        float parts[2] = {0, 0}, value = 0;
        for (int k = 0; k < s.rows[b]; ++k)
          for (int g = 0; g < 2; ++g)
            parts[g] = flushed(std::fma(widened(&s.data[a][m][4 * k + 2 * g], i.prefix == Instruction::PF3),
                                        widened(&s.data[b][k][4 * n + 2 * g], i.prefix == Instruction::PF3), parts[g]));
        std::memcpy(&value, sum, 4);
        value = flushed(flushed(value) + flushed(parts[0] + parts[1]));
        std::memcpy(sum, &value, 4);
      }
    for (int m = s.rows[c]; m < most_rows; ++m) std::memset(s.data[c][m], 0, most_bytes);
    ++s.products;
  }

  static bool execute(State& s, const Instruction& i) {
    if (i.opcode == 0x5C || i.opcode == 0x5E) {
      if (i.is_memory || (i.opcode == 0x5C && i.prefix != Instruction::PF3 && i.prefix != Instruction::PF2))
        return false;
      return multiply(s, i), true;
    }
    if (i.opcode == 0x49) {
      uint8_t* memory = reinterpret_cast<uint8_t*>(i.address);
      if (i.prefix == Instruction::None && i.is_memory)
        configure(s, memory);
      else if (i.prefix == Instruction::None)  // tilerelease
        s = {.products = s.products, .loads = s.loads, .stores = s.stores, .configurations = s.configurations};
      else if (i.prefix == Instruction::P66 && i.is_memory)
        store_configuration(s, memory);
      else if (i.prefix == Instruction::PF2 && !i.is_memory)
        need(s, i.reg), std::memset(s.data[i.reg], 0, sizeof s.data[i.reg]);
      else
        return false;
      return true;
    }
    if (!i.is_memory || i.prefix == Instruction::None) return false;
    need(s, i.reg);
    const bool stores = i.prefix == Instruction::PF3;
    if (!stores) std::memset(s.data[i.reg], 0, sizeof s.data[i.reg]);
    for (int r = 0; r < s.rows[i.reg]; ++r) {
      uint8_t *memory = reinterpret_cast<uint8_t*>(i.address + static_cast<uint64_t>(r) * i.stride),
              *row = s.data[i.reg][r];
      std::memcpy(stores ? memory : row, stores ? row : memory, s.bytes[i.reg]);
    }
    ++(stores ? s.stores : s.loads);
    return true;
  }

  static void handle(int, siginfo_t*, void* context) {
    ucontext_t& c = *static_cast<ucontext_t*>(context);
    Instruction i{};
    if (decode(c, i) && execute(state(), i))
      c.uc_mcontext.gregs[REG_RIP] += i.length;
    else
      signal(SIGILL, SIG_DFL);  // the instruction is run again, and ends the program
  }

  const bool emulates_;
  struct sigaction before_ = {};
};

}  // namespace relay::codegen

#endif
