# SPDX-License-Identifier: MIT
#
# awk -v programs=N -f cpp_parts.awk PAGE: the blocks of C++ of a page that are no programs of their own, which are all
# but the first N, as one file: each is the body of a function that has a client and a worker.

BEGIN {
    print "#include <muster/muster.hpp>\n#include <deque>\n#include <iostream>\n#include <thread>"
    print "using namespace std::chrono_literals;"
}
/^```/ {
    if (is_part)
        print "}"
    is_part = $0 == "```cpp" && ++seen > programs
    if (is_part)
        print "[[maybe_unused]] static void part_" seen "(muster::client &client, muster::worker &worker)\n{\n" \
            "    (void)client, (void)worker;\n#line " FNR + 1 " \"doc/cpp.md\""
    next
}
is_part
END { exit seen <= programs }
