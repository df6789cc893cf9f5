# SPDX-License-Identifier: MIT
#
# awk -v dir=DIR -v date=DATE -v version=VERSION -f man_words.awk -f man_headers.awk HEADER...: writes libmuster(3), and
# a page for each group of calls that share a comment, into DIR. The other calls of a group are links to it.
#
# A page has the comment of its calls, and the definitions of the types that they name, with their comments. In a comment
# an indented line is an item (`- text`, or `TERM  text`) or code.

FNR == 1 {
    header = FILENAME
    sub(/.*\//, "", header)
    headers[++n_headers] = header
    what = ""
    comment = ""
    item = ""
}

# ---- comments ----
/^\/\*/ || inside_comment {
    if (!inside_comment) {
        comment = ""
        group = ""
    }
    line = $0
    is_end = sub(/ *\*\/ *$/, "", line)
    sub(/^\/\* ?/, "", line)
    sub(/^ \* ?/, "", line)
    if (line !~ /^SPDX-/ && line !~ /^ *\*?$/ || comment != "")
        comment = comment (line == " *" || line == "*" ? "" : line) "\n"
    inside_comment = !is_end
    if (is_end && comment ~ /^----/)
        comment = ""
    if (is_end && !(header in head)) {
        head[header] = comment
        comment = ""
    }
    next
}

# ---- what follows them ----
item == "" && /^$/ { if (group == "") comment = ""; next }
item == "" && /^(#define [A-Z_]+\(|struct [a-z_]+ \{|enum [a-z_]+ \{|typedef |MUSTER_API )/ {
    item = $0 ~ /^#/ ? "macro" : $0 ~ /^MUSTER_API/ ? "call" : $0 ~ /^typedef/ ? "typedef" : "type"
    body = ""
}
item == "" { next }
{ body = body $0 "\n" }
item == "macro" && !/\\$/ || item == "type" && /^\};?|^[a-z].*\};$/ || (item == "call" || item == "typedef") && /;/ { end_item() }

function end_item(   name) {
    if (item == "call") {
        add_call()
    } else {
        name = body
        sub(/\n.*/, "", name)
        if (item == "typedef") {
            name = body
            sub(/\(.*/, "", name)
            sub(/.*[ *]/, "", name)
        } else {
            sub(/^(#define|struct|enum) /, "", name)
            sub(/[ (].*/, "", name)
        }
        definition[name] = body
        definition_comment[name] = comment
        definition_kind[name] = item
        comment = ""
    }
    item = ""
}

function add_call(   name, prototype) {
    prototype = body
    sub(/^MUSTER_API /, "", prototype)
    sub(/ MUSTER_MUST_CHECK;/, ";", prototype)
    gsub(/[ \n]+/, " ", prototype)
    sub(/ $/, "", prototype)
    name = prototype
    sub(/\(.*/, "", name)
    sub(/.*[ *]/, "", name)
    if (group == "") {
        group = name
        groups[++n_groups] = name
        group_header[name] = header
        group_comment[name] = comment
    }
    members[group] = members[group] (members[group] == "" ? "" : " ") name
    prototypes[group] = prototypes[group] folded(prototype) "\n"
}

# ---- pages ----

function folded(s,   parts, n, i, line, out) {
    n = split(s, parts, ", ")
    line = parts[1]
    for (i = 2; i <= n; i++)
        if (length(line) + length(parts[i]) > 68) {
            out = out line ",\n"
            line = "    " parts[i]
        } else {
            line = line ", " parts[i]
        }
    return out line
}

function first_sentence(s) {
    gsub(/\n/, " ", s)
    sub(/^ +/, "", s)
    if (match(s, /[.:;] /))
        s = substr(s, 1, RSTART - 1)
    sub(/[. ]+$/, "", s)
    return s
}

function indent_of(s) {
    match(s, /^ */)
    return RLENGTH
}

# Puts a comment as paragraphs, items and code.
function put_comment(s, file,   lines, n, i, line, mode, item_indent, at) {
    n = split(s, lines, "\n")
    mode = "begin"
    for (i = 1; i <= n; i++) {
        line = lines[i]
        at = indent_of(line)
        if (line ~ /^ *$/) {
            if (mode == "code" && i < n && indent_of(lines[i + 1]) >= 2) {
                print "" > file
                continue
            }
            if (mode == "code")
                print ".EE" > file
            if (mode != "begin")
                mode = "gap"
            continue
        }
        if (mode == "item" && at > item_indent) {
            put_text(substr(line, at + 1), file)
            continue
        }
        if (at >= 1 && line ~ /^ *- /) {
            mode = leave(mode, file, "item")
            print ".IP \\(bu 2" > file
            put_text(substr(line, at + 3), file)
            item_indent = at
            continue
        }
        if (at >= 2 && mode != "code" && match(substr(line, at + 1), /[^ ]  +[^ ]/)) {
            mode = leave(mode, file, "item")
            print ".TP" > file
            print literal(substr(line, at + 1, RSTART)) > file
            line = substr(line, at + RSTART + RLENGTH - 1)
            put_text(line, file)
            item_indent = at
            continue
        }
        if (at >= 2 || mode == "code" && at) {
            if (mode != "code") {
                print (mode == "begin" ? "" : ".PP\n") ".EX" > file
            }
            mode = "code"
            put_literal(substr(line, 3), file)
            continue
        }
        if (mode != "text") {
            leave(mode, file, "text")
            if (mode != "begin")
                print ".PP" > file
        }
        mode = "text"
        put_text(line, file)
    }
    if (mode == "code")
        print ".EE" > file
}

function leave(mode, file, to) {
    if (mode == "code")
        print ".EE" > file
    return to
}

function put_text(s, file) {
    s = prose(s, "calls")
    print (s ~ /^\\\(aq/ ? "\\&" s : s) > file
}

function put_literal(s, file) {
    s = literal(s)
    sub(/^\\\\&/, "\\\\\\&", s)
    print s > file
}

function put_code(s, file,   lines, n, i) {
    n = split(s, lines, "\n")
    print ".EX" > file
    for (i = 1; i < n; i++)
        put_literal(lines[i], file)
    print ".EE" > file
}

function put_types(text, file, deep,   words, n, i, w) {
    n = split(text, words, /[^a-zA-Z_0-9]+/)
    for (i = 1; i <= n; i++) {
        w = words[i]
        if (!(w in definition) || definition_kind[w] == "macro" || ((file, w) in is_put))
            continue
        is_put[file, w] = 1
        if (!((file, "types") in is_put)) {
            is_put[file, "types"] = 1
            print ".SH TYPES" > file
        }
        print ".SS " literal(w) > file
        if (definition_comment[w] != "") {
            put_comment(definition_comment[w], file)
            print ".PP" > file
        }
        put_code(definition[w], file)
        if (definition_kind[w] == "typedef" || deep)
            put_types(definition[w], file, 0)
    }
}

function open_page(name, about, names,   file) {
    file = dir "/" name ".3"
    print ".\\\" Made from the public headers." > file
    print ".TH " literal(name) " 3 \"" date "\" \"muster " version "\" \"muster\"" > file
    print ".SH NAME" > file
    print names " \\- " about > file
    return file
}

function write_group(name,   file, list, n, i, names) {
    n = split(members[name], list, " ")
    for (i = 1; i <= n; i++)
        names = names (i > 1 ? ", " : "") list[i]
    brief[name] = prose(first_sentence(group_comment[name]), "")
    file = open_page(name, brief[name], names)
    print ".SH SYNOPSIS" > file
    put_code("#include <muster/" group_header[name] ">\n\n" prototypes[name], file)
    print ".SH DESCRIPTION" > file
    put_comment(group_comment[name], file)
    put_types(prototypes[name], file, 0)
    print ".SH SEE ALSO\n.BR libmuster (3)" > file
    close(file)
    for (i = 2; i <= n; i++)
        system("ln -s " name ".3 '" dir "/" list[i] ".3'")
}

function write_overview(   file, i, j, list, n) {
    file = open_page("libmuster", "the C library of muster, a worker\\-registry task queue on Redis", "libmuster")
    print ".SH SYNOPSIS" > file
    put_code("#include <muster/muster.h>\n\ncc PROGRAM.c $(pkg-config --cflags --libs muster)\n", file)
    print ".SH DESCRIPTION" > file
    print "Each call has a page, which tells what it does and what is true after each of its errors." > file
    for (i = 1; i <= n_headers; i++) {
        if (headers[i] == "muster.h" || headers[i] == "export.h")
            continue
        print ".SH " literal(toupper(headers[i])) > file
        put_comment(head[headers[i]], file)
        for (j = 1; j <= n_groups; j++) {
            if (group_header[groups[j]] != headers[i])
                continue
            n = split(members[groups[j]], list, " ")
            print ".TP\n.BR " groups[j] " (3)" > file
            for (n_at = 2; n_at <= n; n_at++)
                print ".TQ\n.BR " list[n_at] " (3)" > file
            print brief[groups[j]] > file
        }
    }
    print ".SH ERRORS" > file
    put_comment(definition_comment["MUSTER_ERRORS"], file)
    print ".SH SEE ALSO\n.BR muster (1),\n.BR muster\\-keys (7)" > file
    close(file)
}

END {
    for (g = 1; g <= n_groups; g++)
        write_group(groups[g])
    write_overview()
}
