#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The sources of the pages. Proves, and shows on a made-up folder that it would find it:
#  1. no script makes markup from text, and nothing is evaluated: text is set as text
#  2. no page has a script, a handler or a style of its own: the policy of the server forbids them
#  3. nothing names another host; the name space of SVG is no host
#  4. a file has at most 400 lines of at most 120 characters, and says at its head what it is
#  5. what a module imports is exported there; every module is reached from app.js or a page, every style from a page
set -eu
# shellcheck source=tests/house/lib.sh
. "$(dirname "$0")/lib.sh"
export LC_ALL=C.UTF-8 # widths are those of characters

# none WHAT PATTERN FILE...: no file has a line like this
none() {
    local what=$1 pattern=$2
    shift 2
    if grep -nE -- "$pattern" "$@" /dev/null; then
        echo "$what"
        return 1
    fi
}

# The names that a module imports: "FILE NAME" each.
imports() {
    tr '\n' ' ' <"$1" | grep -oE "import [^;]* from '\./[a-z_]+\.js'" | while read -r line; do
        file=$(grep -oE "[a-z_]+\.js" <<<"$line")
        if [[ $line == *'{'* ]]; then
            sed -E 's/.*\{(.*)\}.*/\1/; s/,/\n/g' <<<"$line" | sed -E "s/^ *| *$//g; s/ as .*//; /^$/d; s/^/$file /"
        elif [[ $line != *'* as '* ]]; then
            echo "$file default"
        fi
    done
}

exports_it() { grep -qE "^export ((default )?(async )?(function|const|let|class)\*? ?)$2\b" "$1" ||
    { [[ $2 == default ]] && grep -q '^export default' "$1"; }; }

check_folder() {
    local file name broken=0
    none 'text becomes markup' '(inner|outer)HTML|insertAdjacentHTML|document\.write|createContextualFragment|srcdoc|DOMParser|\beval\(|new Function' \
        "$1"/*.js || broken=1
    none 'of its own, not from a file' '<style|<script>|<script [^s]| on[a-z]+=| style=|javascript:' "$1"/*.html || broken=1
    none 'a style that the policy forbids' "setAttribute\('style'|cssText| style: '" "$1"/*.js || broken=1
    if grep -noE '(https?:)?//[a-z0-9.-]+\.[a-z]+' "$1"/* | grep -v '//www.w3.org$'; then
        echo 'another host'
        broken=1
    fi
    for file in "$1"/*; do
        # A drawing is one long line.
        if [[ $file != *.svg ]] && { (($(wc -l <"$file") > 400)) || grep -v 'data:image' "$file" | grep -qE '.{121}'; }; then
            echo "$file: too long or too wide"
            broken=1
        fi
        if [[ $file != *.svg ]] && ! head -n 3 "$file" | grep -q 'SPDX-License-Identifier: MIT'; then
            echo "$file: no licence at its head"
            broken=1
        fi
        if [[ $file == *.js ]]; then
            while read -r from name; do
                if [[ ! -e $1/$from ]] || ! exports_it "$1/$from" "$name"; then
                    echo "$file: imports $name, which $from does not export"
                    broken=1
                fi
            done < <(imports "$file")
        fi
        name=${file##*/}
        if [[ $name != *.html ]] && ! grep -qE "(/assets/|'\./)$name" "$1"/*.html "$1"/*.js; then
            echo "$file: nothing loads it"
            broken=1
        fi
    done
    return "$broken"
}

passes 'pages' check_folder "$src/src/web/pages"

# ---- it would find each of them
sound() {
    rm -rf "$dir/pages"
    mkdir "$dir/pages"
    printf '<!-- SPDX-License-Identifier: MIT -->\n<script src="/assets/a.js"></script>\n' >"$dir/pages/index.html"
    printf "/* SPDX-License-Identifier: MIT */\nimport { b } from './b.js';\nb();\n" >"$dir/pages/a.js"
    printf '/* SPDX-License-Identifier: MIT */\nexport const b = () => 1;\n' >"$dir/pages/b.js"
}
# broken_by FILE LINE TEXT: with this line, this is said
broken_by() {
    sound
    printf '%s\n' "$2" >>"$dir/pages/$1"
    finds "pages: $2" "$3" check_folder "$dir/pages"
}
sound
passes 'pages: the sound folder' check_folder "$dir/pages"
broken_by a.js 'node.innerHTML = text;' 'text becomes markup'
broken_by a.js 'eval(text);' 'text becomes markup'
broken_by a.js "node.setAttribute('style', text);" 'a style that the policy forbids'
broken_by index.html '<p onclick="go()">' 'of its own'
broken_by index.html '<script>go()</script>' 'of its own'
broken_by index.html '<p style="color: red">' 'of its own'
broken_by b.js "fetch('https://example.org/x');" 'another host'
broken_by b.js "load('//example.org/x');" 'another host'
broken_by b.js "import { c } from './a.js';" 'imports c, which a.js does not export'
broken_by b.js "$(printf 'x%.0s' {1..130})" 'too wide'
broken_by c.js '/* SPDX-License-Identifier: MIT */' 'nothing loads it'
broken_by c.js '1;' 'no licence'
