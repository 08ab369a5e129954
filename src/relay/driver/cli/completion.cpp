// relay completion: prints a shell's completion script.
#include <iostream>

#include "relay/driver/cli/cli.h"
#include "relay/driver/cli/tree.h"

namespace relay::cli {

void add_completion(CLI::App& app, SelectedVerb& selected) {
  CLI::App* verb = add_verb(app, "completion", "Print a script that makes a shell complete relay's command lines",
                            "  eval \"$(relay completion bash)\"                    in ~/.bashrc\n"
                            "  source <(relay completion zsh)                     in ~/.zshrc\n"
                            "  relay completion fish > ~/.config/fish/completions/relay.fish");
  std::shared_ptr<std::string> shell = std::make_shared<std::string>();
  verb->add_option("SHELL", *shell, "The shell")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  verb->callback([shell, &app, &selected] {
    selected.run = [shell, &app] {
      std::cout << (*shell == "bash"  ? bash_completion(app)
                    : *shell == "zsh" ? zsh_completion(app)
                                      : fish_completion(app));
      return ok();
    };
  });
}

}  // namespace relay::cli
