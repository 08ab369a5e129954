// The program `relay`.
#include "relay/driver/cli/cli.h"

int main(int argc, char** argv) { return relay::cli::run_command_line(argc, argv); }
