#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What is installed, and taken away. Proves:
#  1. `cmake --install` puts the command, the library, headers, manual pages, completions, documents, examples and the
#     licence below the prefix, and nothing outside of it
#  2. a program is built with what is there, by find_package(muster) and muster::muster, by pkg-config, and it runs, in
#     C++ by pkg-config, too; a version that does not fit is refused
#  3. the target `uninstall` leaves nothing but what it has not installed; without an install it says so
set -euo pipefail
# shellcheck source=tests/house/lib.sh
. "$(dirname "$0")/lib.sh"
prefix=$dir/prefix
# A build directory has one list of what it installed: this one is put back.
manifest=$MUSTER_BUILD/install_manifest.txt
[[ ! -e $manifest ]] || cp -p "$manifest" "$dir/manifest"
unset DESTDIR

# ---- 1
passes 'install: cmake --install' cmake --install "$MUSTER_BUILD" --prefix "$prefix"
version=$(sed -nE 's/^#define MUSTER_VERSION "(.*)"$/\1/p' "$src/include/muster/version.h")
library=$(dirname "$(cd "$prefix" && find lib* -name muster.pc)")
library=${library%/pkgconfig}
for file in bin/muster libexec/muster-bench "$library/libmuster.so" "$library/libmuster.so.0" "$library/libmuster.so.$version" \
    "$library/libmuster.a" include/muster/muster.h include/muster/muster.hpp "$library/cmake/muster/muster-config.cmake" share/man/man1/muster.1 \
    share/man/man1/muster-work.1 share/man/man3/libmuster.3 share/man/man3/muster_queue_resume.3 share/man/man7/muster-keys.7 \
    share/bash-completion/completions/muster share/zsh/vendor-completions/_muster share/fish/vendor_completions.d/muster.fish \
    share/doc/muster/LICENSE share/doc/muster/README.md share/doc/muster/doc/operations.md share/doc/muster/examples/producer.c \
    share/doc/muster/doc/cpp.md share/doc/muster/examples/producer.cpp; do
    [[ -s $prefix/$file ]] || fail "install: there is no $file"
done
grep -v "^$prefix/" "$manifest" >"$dir/outside" || true
[[ ! -s $dir/outside ]] || fail "install: outside of the prefix: $(cat "$dir/outside")"
passes 'install: the command does not run' "$prefix/bin/muster" --version

# ---- 2: a library with sanitizers wants a program with them
flags=$(sed -nE 's/^MUSTER_SANITIZE:[A-Z]+=(.+)/-fsanitize=\1/p' "$MUSTER_BUILD/CMakeCache.txt")
mkdir "$dir/program"
cat >"$dir/program/main.c" <<'END'
#include <muster/muster.h>
#include <stdio.h>
int main(void)
{
    return puts(muster_version()) < 0 || muster_queue_check("mail") != NULL;
}
END
write_lists() {
    cat >"$dir/program/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(program C)
find_package(muster $1 REQUIRED)
add_executable(program main.c)
target_link_libraries(program PRIVATE muster::muster)
END
}
write_lists "${version%.*}"
passes 'install: find_package' cmake -S "$dir/program" -B "$dir/built" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="$flags"
passes 'install: muster::muster' cmake --build "$dir/built"
passes 'install: the program does not run' "$dir/built/program"
[[ $("$dir/built/program") == "$version" ]] || fail 'install: another library'
write_lists 99.0
finds 'install: version 99.0' 'muster' cmake -S "$dir/program" -B "$dir/refused" -DCMAKE_PREFIX_PATH="$prefix"
if command -v pkg-config >"$dir/out"; then
    export PKG_CONFIG_PATH=$prefix/$library/pkgconfig
    # shellcheck disable=SC2046,SC2086 # words
    passes 'install: pkg-config' "${CC:-cc}" $flags -o "$dir/by-pkg-config" "$dir/program/main.c" $(pkg-config --cflags --libs muster)
    [[ $(LD_LIBRARY_PATH=$prefix/$library "$dir/by-pkg-config") == "$version" ]] || fail 'install: pkg-config: another library'
    cat >"$dir/program/main.cpp" <<'END'
#include <iostream>
#include <muster/muster.hpp>
int main()
{
    const muster::client client;
    std::cout << muster_version() << std::endl;
    return client.stats().commands == 0 ? 0 : 1;
}
END
    # The compiler that the build has, which its sanitizers want; it has none without C++.
    cxx=$(sed -nE 's/^CMAKE_CXX_COMPILER:[A-Z]+=(.+)/\1/p' "$MUSTER_BUILD/CMakeCache.txt")
    if [[ -x $cxx ]]; then
        # shellcheck disable=SC2046,SC2086 # words
        passes 'install: C++' "$cxx" $flags -std=c++17 -o "$dir/in-cpp" "$dir/program/main.cpp" $(pkg-config --cflags --libs muster)
        [[ $(LD_LIBRARY_PATH=$prefix/$library "$dir/in-cpp") == "$version" ]] || fail 'install: C++: another library'
    else
        echo 'not tried, because the build has no compiler of C++: a program in C++'
    fi
fi

# ---- 3
: >"$prefix/share/doc/muster/not-ours"
passes 'install: uninstall' cmake --build "$MUSTER_BUILD" --target uninstall
find "$prefix" -type f -o -type l >"$dir/left"
[[ $(cat "$dir/left") == "$prefix/share/doc/muster/not-ours" ]] || fail "install: left: $(cat "$dir/left")"
[[ ! -d $prefix/include/muster && ! -d $prefix/$library/cmake/muster ]] || fail 'install: empty folders are left'
finds 'install: uninstall a second time' 'nothing was installed' cmake --build "$MUSTER_BUILD" --target uninstall
[[ ! -e $dir/manifest ]] || cp -p "$dir/manifest" "$manifest"
