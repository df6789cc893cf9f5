# SPDX-License-Identifier: MIT
#
# What man_headers.awk and man_keys.awk share: words as roff.

function literal(s) {
    gsub(/\\/, "\\e", s)
    gsub(/-/, "\\-", s)
    gsub(/'/, "\\(aq", s)
    gsub(/`/, "\\(ga", s)
    gsub(/\^/, "\\(ha", s)
    gsub(/~/, "\\(ti", s)
    return s ~ /^\./ ? "\\\\&" s : s
}

# What stands in backquotes is bold; outside of it `mark` finds more.
function prose(s, mark,   parts, n, i, out) {
    n = split(s, parts, "`")
    for (i = 1; i <= n; i++)
        out = out (i % 2 ? marked(literal(parts[i]), mark) : "\\fB" literal(parts[i]) "\\fR")
    gsub(/\\\\&/, "\\\\\\&", out)
    return out ~ /^[.]/ ? "\\&" out : out
}

function marked(s, mark) {
    if (mark == "calls")
        gsub(/muster_[a-z_0-9]+\(\)/, "\\fB&\\fR", s)
    if (mark == "markdown") {
        while (match(s, /\[[^]]*\]\([^)]*\)/))
            s = substr(s, 1, RSTART - 1) link_text(substr(s, RSTART + 1, RLENGTH - 1)) substr(s, RSTART + RLENGTH)
        while (match(s, /\*\*[^*]+\*\*/))
            s = substr(s, 1, RSTART - 1) "\\fB" substr(s, RSTART + 2, RLENGTH - 4) "\\fR" substr(s, RSTART + RLENGTH)
        while (match(s, /\*[^*]+\*/))
            s = substr(s, 1, RSTART - 1) "\\fI" substr(s, RSTART + 1, RLENGTH - 2) "\\fR" substr(s, RSTART + RLENGTH)
    }
    return s
}

function link_text(s) {
    sub(/\].*/, "", s)
    return s
}
