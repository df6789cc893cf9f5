/* SPDX-License-Identifier: MIT
 *
 * Writes standard output. A table is held back in blocks of rows: so its columns are as wide as they need to be, and
 * memory stays bounded. JSON is written row by row.
 */
#include "out.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "need.h"
#include "progress.h"
#include "stream.h"
#include "text.h"

#define BLOCK_ROWS 1000
#define COLUMNS_MAX 16
#define GAP 2
/* How much of a task a table shows if there is no terminal, and how much at least in a narrow one. */
#define BYTES_COLUMNS 60
#define BYTES_COLUMNS_MIN 20
#define NAME_COLUMNS_MIN 10
#define NOTE_COLUMNS 30
/* The width of the names in out_record(). */
#define FIELD_WIDTH 11

/* So much is written at once. */
#define HELD_MAX ((size_t)8 * 1024)
/* More than this that nobody has read is not told elsewhere. */
#define UNREAD_MAX ((size_t)64 * 1024)

static int write_error;

/* What is still to be written; once nobody reads, what nobody has read. */
static char held[UNREAD_MAX];
static size_t n_held;
static bool is_too_much;

static int remember(bool failed)
{
    if (failed && !write_error)
        write_error = errno;
    return write_error;
}

int out_error(void)
{
    return write_error;
}

static char but[OUT_BUT_SIZE];
static bool is_unread_void;

void out_set_but(const char *words)
{
    snprintf(but, sizeof but, "%s", words);
    is_unread_void = true;
}

void out_set_done(void)
{
    out_set_but("what was asked for is done");
    is_unread_void = false;
}

const char *out_but(void)
{
    return but;
}

/* Whatever comes from outside must not steer a terminal. In files and pipes it stays as it is. */
static bool is_terminal(void)
{
    static int answer = -1;
    if (answer < 0)
        answer = isatty(STDOUT_FILENO);
    return answer;
}

/* Lines and tabs stay; all else that steers is escaped. To be freed. */
static char *safe_bytes(const char *data, size_t len, size_t *n)
{
    char *all = NULL;
    FILE *stream = need(open_memstream(&all, n));
    while (len > 0) {
        size_t plain = 0;
        while (plain < len && data[plain] != '\n' && data[plain] != '\t')
            plain++;
        char *shown = text_safe(data, plain);
        fputs(shown, stream);
        free(shown);
        if (plain < len)
            fputc(data[plain++], stream);
        data += plain;
        len -= plain;
    }
    fclose(stream);
    return need(all);
}

char *out_shown(const void *data, size_t len, size_t *n)
{
    if (is_terminal())
        return safe_bytes(data, len, n);
    char *copy = need(malloc(len + 1));
    memcpy(copy, data, len);
    *n = len;
    return copy;
}

char *out_unread(void)
{
    size_t n;
    return write_error == ETIMEDOUT && !is_unread_void && !is_too_much ? safe_bytes(held, n_held, &n) : NULL;
}

static void hold(const char *data, size_t len)
{
    is_too_much |= len > sizeof held - n_held;
    if (is_too_much)
        return;
    memcpy(held + n_held, data, len);
    n_held += len;
}

static void write_now(const char *data, size_t len)
{
    size_t done;
    remember(!stream_write(STDOUT_FILENO, data, len, &done));
    if (write_error == ETIMEDOUT)
        hold(data + done, len - done);
}

static void at_exit(void)
{
    (void)out_flush();
}

/* On a terminal each line is written at once. */
static void write_raw(const char *data, size_t len)
{
    static bool has_begun;
    if (!has_begun)
        atexit(at_exit);
    has_begun = true;
    progress_hide();
    if (n_held + len > HELD_MAX)
        (void)out_flush();
    if (write_error == ETIMEDOUT || (!write_error && len <= HELD_MAX))
        hold(data, len);
    else if (!write_error)
        write_now(data, len);
    if (is_terminal() && memrchr(data, '\n', len))
        (void)out_flush();
}

int out_bytes(const void *data, size_t len)
{
    if ((write_error && write_error != ETIMEDOUT) || len == 0)
        return write_error;
    if (is_terminal()) {
        char *shown = safe_bytes(data, len, &len);
        write_raw(shown, len);
        free(shown);
    } else {
        write_raw(data, len);
    }
    return write_error;
}

int out_text(const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    if (len < 0)
        need(NULL);
    out_bytes(text, (size_t)len);
    free(text);
    return write_error;
}

int out_flush(void)
{
    size_t done;
    if (write_error || n_held == 0)
        return write_error;
    remember(!stream_write(STDOUT_FILENO, held, n_held, &done));
    n_held -= done;
    memmove(held, held + done, n_held);
    return write_error;
}

/* ---- without waiting ---- */

int out_some(const char *data, size_t len, int patience_ms, size_t *n)
{
    static int unwaiting = -2;
    *n = 0;
    if (write_error || !stream_has_room(STDOUT_FILENO, patience_ms))
        return write_error;
    if (unwaiting == -2)
        unwaiting = stream_open(STDOUT_FILENO);
    ssize_t written = stream_now(STDOUT_FILENO, unwaiting, data, len);
    if (written >= 0)
        *n = (size_t)written;
    return remember(written < 0 && errno != EAGAIN && errno != EINTR);
}

/* ---- JSON ---- */

/* `key` is a column's, and outlives the object. Ends the program if memory ran out. */
static void add(cJSON *object, const char *key, cJSON *item)
{
    need(item);
    if (!cJSON_AddItemToObjectCS(object, key, item))
        need(NULL);
}

static void add_base64(cJSON *object, const char *key, cJSON *item)
{
    char name[40];
    snprintf(name, sizeof name, "%s_base64", key);
    need(item);
    if (!cJSON_AddItemToObject(object, name, item))
        need(NULL);
}

/* cJSON needs a NUL at the end, which a task may lack. */
static cJSON *json_string(const char *text, size_t len, bool is_base64)
{
    char *copy = is_base64 ? text_base64(text, len) : need(strndup(text, len));
    cJSON *item = need(cJSON_CreateString(copy));
    free(copy);
    return item;
}

static void add_bytes(cJSON *object, const char *key, const char *text, size_t len)
{
    bool is_base64 = !text_is_utf8(text, len);
    (is_base64 ? add_base64 : add)(object, key, json_string(text, len, is_base64));
}

static void add_names(cJSON *object, const char *key, const struct out_cell *cell)
{
    bool is_base64 = false;
    cJSON *array = need(cJSON_CreateArray());
    for (int64_t i = 0; i < cell->number; i++)
        is_base64 |= !text_is_utf8(cell->names[i], strlen(cell->names[i]));
    for (int64_t i = 0; i < cell->number; i++)
        if (!cJSON_AddItemToArray(array, json_string(cell->names[i], strlen(cell->names[i]), is_base64)))
            need(NULL);
    (is_base64 ? add_base64 : add)(object, key, array);
}

static bool is_time(enum out_kind kind)
{
    return kind == OUT_TIME || kind == OUT_SINCE;
}

/* A time in words, too, under the key without "_ms". */
static void add_time(cJSON *object, const char *key, int64_t at_ms)
{
    char name[40], text[TEXT_TIME_SIZE];
    snprintf(name, sizeof name, "%.*s", (int)(strlen(key) - strlen("_ms")), key);
    if (!cJSON_AddItemToObject(object, name,
                               need(at_ms < 0 ? cJSON_CreateNull() : cJSON_CreateString(text_time(text, at_ms)))))
        need(NULL);
}

static size_t count_columns(const struct out_column *columns)
{
    size_t n = 0;
    while (columns[n].heading || columns[n].key)
        n++;
    return n;
}

static cJSON *json_rows(const struct out_rows *rows)
{
    cJSON *array = need(cJSON_CreateArray());
    size_t n_columns = count_columns(rows->columns);
    for (size_t i = 0; i < rows->n; i++)
        if (!cJSON_AddItemToArray(array, out_json_object(rows->columns, rows->cells + i * n_columns)))
            need(NULL);
    return array;
}

static void add_cell(cJSON *object, const struct out_column *column, const struct out_cell *cell)
{
    switch (column->kind) {
    case OUT_TEXT:
        if (cell->text)
            add_bytes(object, column->key, cell->text, strlen(cell->text));
        break;
    case OUT_BYTES:
    case OUT_NOTE:
        if (cell->text)
            add_bytes(object, column->key, cell->text, cell->len);
        break;
    case OUT_NAMES:
        add_names(object, column->key, cell);
        break;
    case OUT_ROWS:
        add(object, column->key, json_rows(cell->rows));
        break;
    case OUT_INTEGER:
        add(object, column->key, cJSON_CreateNumber((double)cell->number));
        break;
    case OUT_REAL:
        add(object, column->key, cJSON_CreateNumber(cell->real));
        break;
    case OUT_YES:
        add(object, column->key, cJSON_CreateBool(cell->number != 0));
        break;
    case OUT_COUNT:
    case OUT_SPAN:
    case OUT_AGE:
    case OUT_TIME:
    case OUT_SINCE:
        add(object, column->key, cell->number < 0 ? cJSON_CreateNull() : cJSON_CreateNumber((double)cell->number));
        break;
    }
}

cJSON *out_json_object(const struct out_column *columns, const struct out_cell *cells)
{
    cJSON *object = need(cJSON_CreateObject());
    size_t n = count_columns(columns);
    for (size_t i = 0; i < n; i++)
        if (columns[i].key)
            add_cell(object, &columns[i], &cells[i]);
    for (size_t i = 0; i < n; i++)
        if (columns[i].key && is_time(columns[i].kind))
            add_time(object, columns[i].key, cells[i].number);
    return object;
}

static _Thread_local out_row_fn *collector;
static _Thread_local void *collector_arg;

void out_collect_by(out_row_fn *fn, void *arg)
{
    collector = fn;
    collector_arg = arg;
}

static int collect(const struct out_column *columns, const struct out_cell *cells, void *array)
{
    if (!cJSON_AddItemToArray(array, out_json_object(columns, cells)))
        need(NULL);
    return 0;
}

void out_collect(struct cJSON *array)
{
    out_collect_by(array ? collect : NULL, array);
}

char *out_json_line(const struct out_column *columns, const struct out_cell *cells)
{
    cJSON *object = out_json_object(columns, cells);
    char *line = need(cJSON_PrintUnformatted(object));
    size_t len = strlen(line);
    cJSON_Delete(object);
    line = need(realloc(line, len + 2));
    memcpy(line + len, "\n", 2);
    return line;
}

int out_json(const struct out_column *columns, const struct out_cell *cells)
{
    if (collector)
        return collector(columns, cells, collector_arg);
    char *line = out_json_line(columns, cells);
    out_bytes(line, strlen(line));
    free(line);
    return write_error;
}

/* ---- tables ---- */

static size_t terminal_columns(void)
{
    struct winsize size;
    return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static char *names_text(const struct out_cell *cell)
{
    char *joined = NULL;
    size_t len = 0;
    FILE *stream = need(open_memstream(&joined, &len));
    for (int64_t i = 0; i < cell->number; i++)
        fprintf(stream, "%s%s", i ? "," : "", cell->names[i]);
    fclose(stream);
    char *text = text_printable(need(joined), len, SIZE_MAX);
    free(joined);
    return text;
}

static char *bytes_text(const struct out_cell *cell, size_t columns)
{
    return cell->text ? text_printable(cell->text, cell->len, columns) : need(strdup("-"));
}

static int64_t now_ms;

void out_set_now(int64_t at_ms)
{
    now_ms = at_ms;
}

static void time_text(char out[TEXT_TIME_SIZE], enum out_kind kind, int64_t at_ms)
{
    if (now_ms <= 0)
        text_time(out, at_ms);
    else if (kind == OUT_SINCE)
        text_age(out, now_ms - at_ms);
    else
        text_ago(out, now_ms, at_ms);
}

static char *number_text(const struct out_column *column, const struct out_cell *cell)
{
    char text[TEXT_TIME_SIZE] = "-";
    switch (column->kind) {
    case OUT_COUNT:
        if (cell->number >= 0)
            snprintf(text, sizeof text, "%" PRId64, cell->number);
        break;
    case OUT_INTEGER:
        snprintf(text, sizeof text, "%" PRId64, cell->number);
        break;
    case OUT_REAL:
        snprintf(text, sizeof text, "%.1f", cell->real);
        break;
    case OUT_SPAN:
        if (cell->number >= 0)
            text_span(text, cell->number);
        break;
    case OUT_AGE:
        if (cell->number >= 0)
            text_age(text, cell->number);
        break;
    case OUT_TIME:
    case OUT_SINCE:
        if (cell->number >= 0)
            time_text(text, column->kind, cell->number);
        break;
    default:
        break;
    }
    return need(strdup(text));
}

char *out_cell_text(const struct out_column *column, const struct out_cell *cell)
{
    switch (column->kind) {
    case OUT_TEXT:
        return cell->text ? text_printable(cell->text, strlen(cell->text), SIZE_MAX) : need(strdup("-"));
    case OUT_BYTES:
        return bytes_text(cell, terminal_columns() ? terminal_columns() : BYTES_COLUMNS);
    case OUT_NOTE:
        return bytes_text(cell, NOTE_COLUMNS);
    case OUT_NAMES:
        return names_text(cell);
    case OUT_YES:
        return need(strdup(cell->number ? "yes" : "no"));
    default:
        return number_text(column, cell);
    }
}

static size_t width_of(const struct out_table *t, size_t column, size_t n_columns, const char *heading)
{
    size_t width = strlen(heading);
    for (size_t row = 0; row < t->n_rows; row++) {
        size_t columns = text_columns(t->texts[row * n_columns + column]);
        width = columns > width ? columns : width;
    }
    return width;
}

static void print_cell(const struct out_column *column, const char *text, size_t width, bool is_last)
{
    int pad = (int)(width - text_columns(text));
    bool is_number = column->kind == OUT_COUNT || column->kind == OUT_INTEGER || column->kind == OUT_REAL;
    int before = is_number ? pad : 0;
    int after = is_last ? 0 : pad - before + GAP;
    out_text("%*s%s%*s%s", before, "", text, after, "", is_last ? "\n" : "");
}

static void print_row(const struct out_column *const *shown, char *const *texts, const size_t *widths, size_t n)
{
    for (size_t i = 0; i < n; i++)
        print_cell(shown[i], texts ? texts[i] : shown[i]->heading, widths[i], i + 1 == n);
}

/* Puts the columns with a heading into `shown`, and returns their number. */
static size_t columns_shown(const struct out_table *t, const struct out_column *shown[COLUMNS_MAX])
{
    size_t n = 0;
    for (const struct out_column *c = t->columns; c->heading || c->key; c++)
        if (c->heading)
            shown[n++] = c;
    return n;
}

static bool may_be_cut(enum out_kind kind)
{
    return kind == OUT_TEXT || kind == OUT_BYTES || kind == OUT_NOTE || kind == OUT_NAMES;
}

/* How narrow a column may get: a task's bytes tell nothing in a few letters. */
static size_t narrowest(enum out_kind kind)
{
    return kind == OUT_BYTES ? BYTES_COLUMNS_MIN : NAME_COLUMNS_MIN;
}

static size_t total_width(const size_t *widths, size_t n)
{
    size_t total = (n - 1) * GAP;
    for (size_t i = 0; i < n; i++)
        total += widths[i];
    return total;
}

/* In a terminal a row has one line: the widest column that may be cut gives way, one letter after the other. */
static void fit(const struct out_column *const *shown, size_t *widths, size_t n)
{
    size_t room = terminal_columns();
    while (room > 0 && total_width(widths, n) > room) {
        size_t widest = n;
        for (size_t i = 0; i < n; i++)
            if (may_be_cut(shown[i]->kind) && widths[i] > narrowest(shown[i]->kind) &&
                widths[i] > strlen(shown[i]->heading) && (widest == n || widths[i] > widths[widest]))
                widest = i;
        if (widest == n)
            return;
        widths[widest]--;
    }
}

static void cut_columns(struct out_table *t, const size_t *widths, size_t n)
{
    for (size_t i = 0; i < t->n_rows * n; i++)
        text_cut(t->texts[i], widths[i % n]);
}

static void print_block(struct out_table *t)
{
    const struct out_column *shown[COLUMNS_MAX];
    size_t widths[COLUMNS_MAX], n = columns_shown(t, shown);
    for (size_t i = 0; i < n; i++)
        widths[i] = width_of(t, i, n, shown[i]->heading);
    fit(shown, widths, n);
    cut_columns(t, widths, n);
    if (!t->has_heading)
        print_row(shown, NULL, widths, n);
    t->has_heading = true;
    for (size_t row = 0; row < t->n_rows; row++)
        print_row(shown, &t->texts[row * n], widths, n);
    for (size_t i = 0; i < t->n_rows * n; i++)
        free(t->texts[i]);
    t->n_rows = 0;
}

int out_row(struct out_table *t, const struct out_cell *cells)
{
    const struct out_column *shown[COLUMNS_MAX];
    t->has_rows = true;
    if (t->to)
        return t->to(t->columns, cells, t->arg);
    if (t->json)
        return out_json(t->columns, cells);
    size_t n = columns_shown(t, shown);
    if (!t->texts)
        t->texts = need(calloc(BLOCK_ROWS * n, sizeof *t->texts));
    for (size_t i = 0; i < n; i++)
        t->texts[t->n_rows * n + i] = out_cell_text(shown[i], &cells[shown[i] - t->columns]);
    if (++t->n_rows == BLOCK_ROWS)
        print_block(t);
    return out_error();
}

void out_headings(struct out_table *t)
{
    if (!t->json && !t->has_heading)
        print_block(t);
}

void out_table_end(struct out_table *t)
{
    if (t->n_rows > 0)
        print_block(t);
    free(t->texts);
    t->texts = NULL;
}

/* ---- one thing ---- */

static bool is_empty(const struct out_column *column, const struct out_cell *cell)
{
    switch (column->kind) {
    case OUT_TEXT:
        return !cell->text || !*cell->text;
    case OUT_BYTES:
    case OUT_NOTE:
        return !cell->text;
    case OUT_YES:
    case OUT_NAMES:
        return cell->number == 0;
    case OUT_COUNT:
    case OUT_SPAN:
    case OUT_AGE:
    case OUT_TIME:
    case OUT_SINCE:
        return cell->number < 0;
    case OUT_ROWS:
        return cell->rows->n == 0;
    default:
        return false;
    }
}

static void print_rows(const struct out_rows *rows)
{
    size_t n = count_columns(rows->columns);
    for (size_t i = 0; i < rows->n * n; i++) {
        char *text = out_cell_text(&rows->columns[i % n], &rows->cells[i]);
        out_text("%s%s%s", *text ? "  " : "", text, i % n == n - 1 ? "\n" : "");
        free(text);
    }
}

static void print_field(const struct out_column *column, const struct out_cell *cell)
{
    bool is_bytes = column->kind == OUT_BYTES || column->kind == OUT_NOTE;
    if (column->kind == OUT_ROWS) {
        out_text("%s\n", column->heading);
        print_rows(cell->rows);
        return;
    }
    char *text = is_bytes ? bytes_text(cell, SIZE_MAX) : out_cell_text(column, cell);
    out_text("%-*s %s\n", FIELD_WIDTH, column->heading, text);
    free(text);
}

int out_record(const struct out_column *columns, const struct out_cell *cells)
{
    for (; columns->heading || columns->key; columns++, cells++)
        if (columns->heading && !is_empty(columns, cells))
            print_field(columns, cells);
    return out_error();
}
