/* SPDX-License-Identifier: MIT
 *
 * muster completion: what a shell needs to complete the words of this command. The shells' own part is small: it asks
 * the command for what can stand in a place, so that it is always in step with it.
 */
#include <string.h>

#include "candidates.h"
#include "command.h"
#include "complain.h"
#include "out.h"

/* bash breaks words at ':' and '=', too, and replaces only the last piece: the pieces before it are put together, and
 * taken off what is answered. */
static const char bash[] =
    "# Completion of muster for bash: eval \"$(muster completion bash)\"\n"
    "_muster() {\n"
    "    local rest=${COMP_LINE:0:COMP_POINT} last=${COMP_WORDS[COMP_CWORD]} words=() piece line kept i\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        piece=${COMP_WORDS[i]}\n"
    "        if ((i > 0)) && [[ $rest != [[:space:]]* ]]; then\n"
    "            words[${#words[@]} - 1]+=$piece\n"
    "        else\n"
    "            rest=${rest#\"${rest%%[![:space:]]*}\"}\n"
    "            words+=(\"$piece\")\n"
    "        fi\n"
    "        rest=${rest#\"$piece\"}\n"
    "    done\n"
    "    [[ $last == [:=] ]] && last=\n"
    "    kept=${words[${#words[@]} - 1]}\n"
    "    kept=${kept%\"$last\"}\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        case $line in\n"
    "        $'\\tfile') compopt -o default ;;\n"
    "        $'\\tcommand') mapfile -t COMPREPLY < <(compgen -c -- \"$last\") ;;\n"
    "        *)\n"
    "            line=${line%%$'\\t'*}\n"
    "            printf -v line %q \"${line#\"$kept\"}\"\n"
    "            COMPREPLY+=(\"$line\")\n"
    "            ;;\n"
    "        esac\n"
    "    done < <(\"${words[0]}\" completion --candidates -- \"${words[@]:1}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _muster muster\n";

static const char zsh[] = "#compdef muster\n"
                          "# Completion of muster for zsh: in a folder of $fpath as _muster, or\n"
                          "# eval \"$(muster completion zsh)\"\n"
                          "_muster() {\n"
                          "    local -a lines values texts\n"
                          "    local line\n"
                          "    lines=(\"${(@f)$(\"${words[1]}\" completion --candidates -- \"${(@Q)words[2,CURRENT]}\" "
                          "2>/dev/null)}\")\n"
                          "    for line in \"${lines[@]}\"; do\n"
                          "        case $line in\n"
                          "        '') ;;\n"
                          "        $'\\tfile') _files; return ;;\n"
                          "        $'\\tcommand') _command_names -e; return ;;\n"
                          "        *) values+=(\"${line%%$'\\t'*}\"); texts+=(\"${line//$'\\t'/  -- }\") ;;\n"
                          "        esac\n"
                          "    done\n"
                          "    compadd -l -d texts -a values\n"
                          "}\n"
                          "if [[ ${funcstack[1]} == _muster ]]; then _muster \"$@\"; else compdef _muster muster; fi\n";

static const char fish[] = "# Completion of muster for fish: muster completion fish | source\n"
                           "function __muster_candidates\n"
                           "    set -l words (commandline -opc)\n"
                           "    set -l program $words[1]\n"
                           "    set -e words[1]\n"
                           "    set -l last (commandline -ct)\n"
                           "    set -l lines ($program completion --candidates -- $words \"$last\" 2>/dev/null)\n"
                           "    switch \"$lines[1]\"\n"
                           "        case \\tfile\n"
                           "            __fish_complete_path \"$last\"\n"
                           "        case \\tcommand\n"
                           "            __fish_complete_command\n"
                           "        case '*'\n"
                           "            printf '%s\\n' $lines\n"
                           "    end\n"
                           "end\n"
                           "complete -c muster -f -a '(__muster_candidates)'\n";

static const struct {
    const char *name, *script;
} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

enum { CANDIDATES };

static const struct opt options[] = {
    [CANDIDATES] = {.name = "candidates",
                    .help = "print what can take the place of the last WORD of a command line; WORDs follow `muster`"},
    {.help = NULL},
};

static int print_script(const struct call *call, const char *name)
{
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(shells[i].name, name) == 0) {
            out_text("%s", shells[i].script);
            return EXIT_DONE;
        }
    return complain_usage(call, "there is no completion for '%s': SHELL is bash, zsh or fish", name);
}

static int run(const struct call *call)
{
    if (call->own[CANDIDATES].set && call->rest && call->n_operands == 0) {
        candidates_print(call, call->rest);
        return EXIT_DONE;
    }
    if (call->own[CANDIDATES].set || call->rest || call->n_operands == 0)
        return complain_usage(call, "give a SHELL, or --candidates -- WORD...");
    return print_script(call, call->operands[0]);
}

const struct command cmd_completion = {
    .name = "completion",
    .operands = "{SHELL | --candidates -- WORD...}",
    .summary = "Print what makes a shell (bash, zsh, fish) complete commands, options and names",
    .about =
        "Names of queues, workers, tags and processes are those that Redis has at that moment, with the --url and\n"
        "--prefix of the line that is being typed, or of the environment. Without an answer in a quarter of a\n"
        "second there are none.\n",
    .examples = "eval \"$(muster completion bash)\"\nmuster completion fish | source\n"
                "muster completion --candidates -- queues --js\n",
    .options = options,
    .max_operands = 1,
    .takes_command = true,
    .run = run,
};
