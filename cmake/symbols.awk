# SPDX-License-Identifier: MIT
#
# awk -v node=NAME -f symbols.awk HEADER...: a linker's version script that exports what the headers mark MUSTER_API, and
# nothing else.

/^MUSTER_API / { call = "" }
/^MUSTER_API /, /;/ {
    call = call " " $0
    if (/;/ && match(call, /muster_[a-z_0-9]+ *\(/))
        names[++n] = substr(call, RSTART, RLENGTH - 1)
}
END {
    print node " {\nglobal:"
    for (i = 1; i <= n; i++)
        print "    " names[i] ";"
    print "local:\n    *;\n};"
    exit n == 0
}
