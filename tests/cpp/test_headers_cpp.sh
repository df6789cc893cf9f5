#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The headers of C++, by each compiler that is there, with warnings as errors. Proves:
#  1. each compiles alone as C++17; as C++14 they are refused in words
#  2. a program that uses all of them compiles as C++20, without run-time type information
#  3. what may not compile does not, by the first compiler that is there: a callback that answers what is no
#     muster::then, a handler that answers what is no outcome, a time in microseconds, a lease or a worker that is
#     copied, tasks that are gone before they are sent
set -euo pipefail
# shellcheck source=tests/house/lib.sh
. "$MUSTER_SOURCE/tests/house/lib.sh"
flags=(-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror -fsyntax-only -I "$src/include")

# part LINE...: a program with these lines in a function
part() {
    printf '%s\n' '#include <muster/muster.hpp>' '#include <vector>' 'void f(muster::client &c, muster::worker &w);' \
        'void f(muster::client &c, muster::worker &w) {' '(void)c, (void)w;' "$@" '}' >"$dir/part.cpp"
}
# refuses WORDS LINE...: by $compiler
refuses() {
    part "${@:2}"
    finds "headers: by $compiler: ${*:2}" "$1" "$compiler" -std=c++17 "${flags[@]}" "$dir/part.cpp"
}

tried=
for compiler in g++ clang++; do
    command -v "$compiler" >"$dir/out" || continue
    # ---- 1
    for header in "$src"/include/muster/*.hpp; do
        echo "#include <muster/$(basename "$header")>" >"$dir/alone.cpp"
        passes "headers: by $compiler: $header" "$compiler" -std=c++17 "${flags[@]}" "$dir/alone.cpp"
    done
    finds "headers: by $compiler as C++14" 'needs C++17' "$compiler" -std=c++14 "${flags[@]}" "$dir/alone.cpp"
    # ---- 2
    passes "headers: by $compiler as C++20" "$compiler" -std=c++20 -fno-rtti "${flags[@]}" "$src/examples/resizer.cpp"
    # ---- 3
    [[ ! $tried ]] || continue
    tried=$compiler
    part 'c.queues([](const muster_queue_info &) { return muster::then::stop; });' \
        'w.serve("q", [](muster::process &) { return MUSTER_FINISH; });' 'c.take("q", std::chrono::seconds(3));' \
        'c.enqueue_many("q", std::vector<std::string>{"x"});'
    passes "headers: by $compiler: what is right" "$compiler" -std=c++17 "${flags[@]}" "$dir/part.cpp"
    refuses 'a callback returns nothing, or muster::then' 'c.queues([](const muster_queue_info &) { return true; });'
    refuses 'a handler returns nothing' 'w.serve("q", [](muster::process &) { return true; });'
    refuses error 'c.take("q", std::chrono::microseconds(3));'
    refuses delete 'auto copy = c.take("q", muster::ms(3)); auto other = copy;'
    refuses delete 'muster::worker other = w;'
    refuses 'must be strings that live' 'struct gone { struct i { std::string operator*() const { return {}; }' \
        'i &operator++() { return *this; } bool operator!=(const i &) const { return false; } };' \
        'i begin() const { return {}; } i end() const { return {}; } }; c.enqueue_many("q", gone());'
done
[[ $tried ]] || fail 'headers: there is no compiler of C++'
