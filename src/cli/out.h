/* SPDX-License-Identifier: MIT
 *
 * Standard output: rows as a table for people or as JSON lines, both from one list of columns; and raw bytes.
 *
 * The first failure to write is remembered, and nothing is written after it; main() turns it into the exit code.
 */
#ifndef CLI_OUT_H
#define CLI_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Print bytes or text as they are. Returns non-zero if standard output cannot be written any more. */
int out_bytes(const void *data, size_t len);
int out_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Write as much as standard output takes now; wait for so long until it takes anything. `*n`: how much it was; 0: nobody
 * reads. Not to be mixed with the others here. Returns as out_bytes(). */
int out_some(const char *data, size_t len, int patience_ms, size_t *n);
/* What is said of so many lines that were left out for that: a uint64_t goes with it. */
#define OUT_LEFT_OUT "%" PRIu64 " lines that nobody read in time, or that could not be written"

/* What out_bytes() would write of these; to be freed. */
char *out_shown(const void *data, size_t len, size_t *n);

/* Write everything now. Returns as out_bytes(). */
int out_flush(void);

/* Why standard output cannot be written, as an errno; 0: it can. */
int out_error(void);

/* What was to be printed, and was not, because nobody has read it before a signal ended the program: safe for a terminal,
 * to be freed. NULL: nothing, too much, or it is said by out_set_but() what became of it. */
char *out_unread(void);

/* What is so although standard output could not be written: words for the line that says it. "" at first. */
#define OUT_BUT_SIZE 200
void out_set_but(const char *words);
void out_set_done(void); /* what was asked for is done */
const char *out_but(void);

enum out_kind {
    OUT_TEXT,    /* `text` */
    OUT_BYTES,   /* `text` and `len`: any bytes; the table shows the beginning */
    OUT_NOTE,    /* the same, but the table shows less */
    OUT_COUNT,   /* `number`; -1 is none */
    OUT_INTEGER, /* `number`, which may be negative */
    OUT_REAL,    /* `real` */
    OUT_YES,     /* `number`: yes or no */
    OUT_SPAN,    /* `number`: ms; -1 is unknown */
    OUT_AGE,     /* the same, and the table rounds it */
    OUT_TIME,    /* `number`: Unix time in ms; -1 is none. The table says how long ago; JSON has ISO 8601, too */
    OUT_SINCE,   /* the same, and the table says for how long */
    OUT_NAMES,   /* `number` strings at `names` */
    OUT_ROWS     /* `rows`: a list of its own; not for a table */
};

/* A column is in the table if it has a heading, and in JSON if it has a key. A list of columns ends with one that has
 * neither. In JSON, text that is not UTF-8 becomes base64, and its key ends in "_base64". Text that is NULL is missing:
 * a dash in a table, and left out of JSON. */
struct out_column {
    const char *heading, *key;
    enum out_kind kind;
};

struct out_cell {
    const char *text;
    size_t len;
    int64_t number;
    double real;
    const char *const *names;
    const struct out_rows *rows;
};

/* `n` rows, with a cell for each column. */
struct out_rows {
    const struct out_column *columns;
    const struct out_cell *cells;
    size_t n;
};

/* Takes a row instead of its being printed. The cells are borrowed until it returns. A value that is not 0 ends the list. */
typedef int out_row_fn(const struct out_column *columns, const struct out_cell *cells, void *arg);

/* Print one row as a JSON object on a line of its own. Returns as out_bytes(). */
int out_json(const struct out_column *columns, const struct out_cell *cells);

/* Add what this thread prints by out_json() to this array from now on, instead of printing it; NULL: print again. */
struct cJSON;
void out_collect(struct cJSON *array);
/* The same, to a function that takes each row, with `arg`. */
void out_collect_by(out_row_fn *fn, void *arg);

/* The row's object; to be deleted. */
struct cJSON *out_json_object(const struct out_column *columns, const struct out_cell *cells);

/* The same line as a string, which the caller frees. */
char *out_json_line(const struct out_column *columns, const struct out_cell *cells);

/* Print one thing for people: a line for each column with a heading and a cell that is not empty. Returns as
 * out_bytes(). */
int out_record(const struct out_column *columns, const struct out_cell *cells);

/* What time it is by the clock of the rows' times, for tables. Without it, or with 0, they have points in time. */
void out_set_now(int64_t now_ms);

/* A list that is being printed. `json`: an object for each row instead of a table. `to`: each row goes there, with `arg`,
 * and nothing is printed. */
struct out_table {
    const struct out_column *columns;
    out_row_fn *to;
    void *arg;
    bool json, has_heading, has_rows;
    size_t n_rows;
    char **texts;
};

/* Add a row with a cell for each column; the cells are borrowed until it returns. Returns as out_bytes(). */
int out_row(struct out_table *t, const struct out_cell *cells);

/* What a table shows of a cell, printable, to be freed. Bytes and notes are cut. */
char *out_cell_text(const struct out_column *column, const struct out_cell *cell);

/* After the last row: print the headings if there were no rows. */
void out_headings(struct out_table *t);

/* Print the rows that are left, and free them. */
void out_table_end(struct out_table *t);

#endif
