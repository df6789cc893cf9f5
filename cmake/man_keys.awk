# SPDX-License-Identifier: MIT
#
# awk -v date=DATE -v version=VERSION -f man_words.awk -f man_keys.awk doc/keys.md: muster-keys(7) on standard output.
#
# A row of a table becomes an item: its first cell, and below it the others, each after the heading of its column.

BEGIN {
    print ".\\\" Made from doc/keys.md."
    print ".TH MUSTER\\-KEYS 7 \"" date "\" \"muster " version "\" \"muster\""
    after_heading = 1
    print ".SH NAME\nmuster\\-keys \\- keys and channels of muster in Redis\n.SH DESCRIPTION"
}
/^```/ {
    is_code = !is_code
    print is_code ? (after_heading ? "" : ".PP\n") ".EX" : ".EE"
    after_heading = 0
    next
}
is_code { print protected(literal($0)); next }
/^# / { next }
/^## / { print ".SH " protected(literal(toupper(substr($0, 4)))); after_heading = 1; next }
/^### / { print ".SS " protected(literal(substr($0, 5))); after_heading = 1; next }
/^$/ { in_table = 0; is_open = 0; next }
/^\|[-|]+$/ { next }
/^\|/ {
    row = $0
    gsub(/\\\|/, SUBSEP, row)
    n = split(substr(row, 2, length(row) - 2), cells, "|")
    for (i = 1; i <= n; i++) {
        gsub(/^ +| +$/, "", cells[i])
        gsub(SUBSEP, "|", cells[i])
    }
    if (!in_table) {
        in_table = 1
        for (i = 1; i <= n; i++)
            heading[i] = cells[i]
        next
    }
    after_heading = 0
    print ".TP"
    first = cells[1] == "" ? 2 : 1
    print text(cells[first])
    for (i = first + 1; i <= n; i++)
        if (cells[i] != "")
            print (i > first + 1 ? ".br\n" : "") (n > 2 ? "\\fI" literal(heading[i]) "\\fR: " : "") text(cells[i])
    next
}
/^- / {
    after_heading = 0
    print ".IP \\(bu 2"
    print text(substr($0, 3))
    is_open = 1
    next
}
{
    if (!is_open && !after_heading)
        print ".PP"
    is_open = 1
    after_heading = 0
    sub(/^ +/, "")
    print text($0)
}

function protected(s) {
    sub(/^\\\\&/, "\\\\\\&", s)
    return s
}
function text(s) {
    s = prose(s, "markdown")
    return s ~ /^\\\(aq/ ? "\\&" s : s
}
