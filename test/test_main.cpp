// The main function of every unit test program: goes to the repository's root, then runs the tests.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (chdir(RELAY_ROOT) != 0) {
    std::perror("cannot go to " RELAY_ROOT);
    return 1;
  }
  return RUN_ALL_TESTS();
}
