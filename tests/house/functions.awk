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
# What may begin a definition: gathered up to the brace. Anything that ends a statement begins anew.
/^[a-zA-Z_]/ && !/[;{]$/ { if (head == "") line = FNR; head = head " " $0; next }
/^[ \t]+/ && head != "" && !/[;{]$/ { head = head " " $0; next }
{ head = "" }
