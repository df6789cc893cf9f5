# SPDX-License-Identifier: MIT
"""The layouts and numbers of _abi.py are those of the headers, by a C compiler. Proves:
1. each structure has the size and each of its fields the place that the headers give it, and no field is missing
2. each function takes and returns what its prototype says, and the functions that wait release the interpreter
3. the enumerations and the list of errors are those of the headers
4. a layout, a number or a prototype that differs is found"""

import ctypes
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import muster
from muster import _abi, _errors, _handling, _rows
from support import SOURCE

HEADERS = sorted((SOURCE / "include/muster").glob("*.h"))
STRUCTS = [
    kind for kind in vars(_abi).values() if isinstance(kind, type) and issubclass(kind, _abi.Struct) and kind.c_name
]


def run_c(lines):
    """What a C program prints that has these lines in main()."""
    body = "\n".join(lines)
    program = f"#include <muster/muster.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void)\n{{\n{body}\nreturn 0;\n}}\n"
    with tempfile.TemporaryDirectory() as directory:
        made = f"{directory}/abi"
        compile_ = [os.environ.get("CC", "cc"), "-I", SOURCE / "include", "-x", "c", "-", "-o", made]
        subprocess.run(compile_, input=program, text=True, check=True)
        return subprocess.run([made], capture_output=True, text=True, check=True).stdout.split("\n")[:-1]


def offsets_in_c(struct, fields):
    name = f"struct {struct}"
    lines = [f'printf("%zu\\n", sizeof({name}));']
    lines += [f'printf("%zu\\n", offsetof({name}, {field}));' for field in fields]
    return [int(line) for line in run_c(lines)]


def offsets_in_python(kind):
    return [ctypes.sizeof(kind)] + [getattr(kind, field).offset for field, _ in kind._fields_]


def without_comments(path):
    return re.sub(r"/\*.*?\*/", " ", path.read_text(), flags=re.DOTALL)


def fields_in_header(struct):
    """The names of a structure's fields, in their order."""
    text = "\n".join(without_comments(header) for header in HEADERS)
    body = re.search(rf"struct {struct} \{{(.*?)\n\}};", text, re.DOTALL)[1]
    declarations = [" ".join(part.split()) for part in body.split(";") if part.strip()]
    return [re.search(r"(?:\(\*(\w+)\)|(\w+))(?:\[\w+(?: \+ 1)?\])*$", part).group(1, 2) for part in declarations]


def kind_of(c_type):
    """What a C type is for a call: a pointer, or a number and its size."""
    c_type = c_type.replace("const ", "").strip()
    if c_type == "void":
        return "none"
    if "*" in c_type or "[" in c_type or c_type.endswith("_fn"):
        return "pointer"
    if c_type.startswith(("uint64_t", "int64_t", "size_t")):
        return "8 bytes"
    assert c_type.startswith(("int", "enum ", "unsigned")), c_type
    return "4 bytes"


def kind_in_python(kind):
    if kind is None:
        return "none"
    if kind in (ctypes.c_char_p, ctypes.c_void_p) or issubclass(kind, (ctypes._Pointer, ctypes._CFuncPtr)):
        return "pointer"
    return f"{ctypes.sizeof(kind)} bytes"


def prototypes():
    text = "\n".join(without_comments(header) for header in HEADERS)
    found = {}
    for result, name, arguments in re.findall(r"MUSTER_API ([^;(]*?)\b(muster_\w+)\((.*?)\)[^;()]*(?:MUSTER_MUST_CHECK)?;", text, re.DOTALL):
        arguments = re.sub(r"\([^()]*\)", "*", re.sub(r"int \(\*(\w+)\)\(void \*arg\)", "void *", arguments))
        kinds = [] if arguments.strip() == "void" else [kind_of(argument) for argument in arguments.split(",")]
        found[name] = [kind_of(result), *kinds]
    return found


def constants_in_c(names):
    return [int(line) for line in run_c([f'printf("%lld\\n", (long long){name});' for name in names])]


class Layouts(unittest.TestCase):
    def test_each_structure_is_laid_out_as_in_c(self):
        self.assertGreater(len(STRUCTS), 25)
        for kind in STRUCTS:
            with self.subTest(kind.c_name):
                fields = [field for field, _ in kind._fields_]
                self.assertEqual(offsets_in_python(kind), offsets_in_c(kind.c_name, fields))

    def test_no_field_is_missing(self):
        for kind in STRUCTS:
            with self.subTest(kind.c_name):
                names = [one or other for one, other in fields_in_header(kind.c_name)]
                self.assertEqual([field for field, _ in kind._fields_], names)

    def test_rows_that_are_unpacked_have_the_same_places(self):
        for kind, packed in ((_abi.Item, _abi.ITEM), (_abi.Answer, _abi.ANSWER)):
            self.assertEqual(packed.size, ctypes.sizeof(kind))
            numbers = list(range(1, 1 + len(kind._fields_)))
            row = kind.from_buffer_copy(packed.pack(*numbers))
            self.assertEqual([getattr(row, field) for field, _ in kind._fields_], numbers)

    def test_a_layout_that_differs_is_found(self):
        class Wrong(_abi.Struct):
            _fields_ = [("data", ctypes.c_void_p), ("len", ctypes.c_int)]

        self.assertNotEqual(offsets_in_python(Wrong)[1:] + [0], offsets_in_c("muster_task", ["data", "len"]))

    def test_numbers_that_would_be_cut_off_are_refused(self):
        with self.assertRaises(OverflowError):
            _abi.new(_abi.WorkerOptions, hands=2**32 + 1)
        with self.assertRaises(OverflowError):
            _rows.c_spec(muster.JobSpec(priority=2**31))


class Functions(unittest.TestCase):
    def test_each_function_is_called_by_its_prototype(self):
        known = prototypes()
        for name, (result, *arguments) in {**_abi.BLOCKING, **_abi.QUICK}.items():
            with self.subTest(name):
                self.assertEqual([kind_in_python(result), *map(kind_in_python, arguments)], known[name])

    def test_another_prototype_is_found(self):
        self.assertEqual(prototypes()["muster_queue_length"], ["4 bytes", "pointer", "pointer", "pointer"])
        self.assertEqual(prototypes()["muster_version"], ["pointer"])


class Numbers(unittest.TestCase):
    def test_constants_are_those_of_c(self):
        names = list(_abi.CONSTANTS)
        self.assertEqual(constants_in_c(names), [_abi.CONSTANTS[name] for name in names])

    def test_lists_of_names_are_those_of_c_and_whole(self):
        text = "\n".join(without_comments(header) for header in HEADERS)
        lists = {
            "muster_event_type": ("MUSTER_EVENT_", _abi.EVENTS),
            "muster_stop_reason": ("MUSTER_", ("GO_ON", *("STOP_" + n for n in _abi.STOP_REASONS[1:]))),
        }
        for enum, (prefix, names) in lists.items():
            body = re.search(rf"enum {enum} \{{(.*?)\}}", text, re.DOTALL)[1]
            in_c = re.findall(r"MUSTER_\w+", body)
            self.assertEqual(in_c, [prefix + name.upper() for name in names])
            self.assertEqual(constants_in_c(in_c), list(range(len(in_c))))
        in_c = [f"MUSTER_LISTEN_{name.upper()}" for name in _abi.LISTEN_KINDS]
        self.assertEqual(constants_in_c(in_c), [1, 2, 4, 8])
        self.assertEqual(constants_in_c(["MUSTER_LISTEN_ALL"]), [15])
        in_c = [f"MUSTER_HEARD_{name.upper()}" for name in _abi.HEARD]
        self.assertEqual(constants_in_c(in_c), list(range(1, 1 + len(_abi.HEARD))))
        self.assertEqual([reason.name.lower() for reason in muster.StopReason], list(_abi.STOP_REASONS))
        self.assertEqual([int(reason) for reason in muster.StopReason], list(range(len(_abi.STOP_REASONS))))
        for prefix, names in (("JOB_", _rows.JOB_STATES), ("JOB_END_", _rows.JOB_ENDS), ("BATCH_", _rows.BATCH_STATES)):
            in_c = [f"MUSTER_{prefix}{name.upper()}" for name in names]
            self.assertEqual(constants_in_c(in_c), list(range(len(names))))
        self.assertEqual(constants_in_c(["MUSTER_JOB_STATE_COUNT", "MUSTER_JOB_END_COUNT", "MUSTER_OVERLAP_COUNT"]),
                         [len(_rows.JOB_STATES), len(_rows.JOB_ENDS), len(_rows.OVERLAPS)])
        self.assertEqual(constants_in_c(["MUSTER_OVERLAP_QUEUE", "MUSTER_JOBS_NEWEST"]),
                         [_rows.OVERLAPS.index("queue"), _rows.ORDERS.index("newest")])

    def test_each_error_has_a_class(self):
        in_c = re.findall(r"X\((E_[A-Z_]+), (-\d+), ", Path(SOURCE / "include/muster/error.h").read_text())
        mine = {kind.name: kind.code for kind in _errors.ERRORS.values()}
        self.assertEqual(mine, {name: int(number) for name, number in in_c})
        for kind in _errors.ERRORS.values():
            self.assertIs(getattr(muster, kind.__name__), kind)
            self.assertTrue(kind.__doc__)

    def test_warnings_and_news_are_events(self):
        self.assertLessEqual(_handling.WARNINGS | _handling.NEWS, set(_abi.EVENTS))


if __name__ == "__main__":
    unittest.main()
