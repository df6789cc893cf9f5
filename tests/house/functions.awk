# SPDX-License-Identifier: MIT
#
# Prints each function that the given C files define: FILE LINE LENGTH static|shared NAME. The formatter sees to the form
# that this rests on: a definition begins at column 0, and its braces stand alone there. The length runs from the line of
# the name to the closing brace.
FNR == 1 { head = ""; inside = 0 }
inside && /^}$/ {
    print FILENAME, line, FNR - line + 1, kind, name
    inside = 0
    head = ""
    next
}
inside { next }
/^{$/ && head ~ /\(/ {
    kind = head ~ /(^| )static / ? "static" : "shared"
    gsub(/__attribute__\(\(([^()]|\([^()]*\))*\)\)/, "", head)
    sub(/ *\(.*/, "", head)
    name = head
    sub(/.*[ *]/, "", name)
    inside = 1
    next
}
# Lines that may begin a definition are gathered up to the brace. A line that ends a statement begins a new gathering.
/^[a-zA-Z_]/ && !/[;{]$/ { if (head == "") line = FNR; head = head " " $0; next }
/^[ \t]+/ && head != "" && !/[;{]$/ { head = head " " $0; next }
{ head = "" }
