#include "relay/base/fork_guard.h"

#include <pthread.h>

#include <atomic>
#include <memory>
#include <shared_mutex>

namespace relay {

namespace {
struct State {
  std::shared_mutex working;
  std::atomic<uint64_t> generation{0};
};
State& state() {
  static State* const one = [] {
    State* made = new State;  // never destroyed: threads may outlive main()
    pthread_atfork([] { state().working.lock(); }, [] { state().working.unlock(); },
                   [] {
                     state().generation.fetch_add(1, std::memory_order_relaxed);
                     std::construct_at(&state().working);  // it knows its owner by a thread that the child lacks
                   });
    return made;
  }();
  return *one;
}
}  // namespace

ForkGuard::ForkGuard() { state().working.lock_shared(); }
ForkGuard::~ForkGuard() { state().working.unlock_shared(); }

uint64_t fork_generation() { return state().generation.load(std::memory_order_relaxed); }

}  // namespace relay
