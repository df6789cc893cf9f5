/* SPDX-License-Identifier: MIT
 *
 * A request of the API: what was asked, and its answer. A request is a verb of the command: its path, parameters and body
 * become the verb's operands and options, are checked as these are, and the rows that it prints with --json become the
 * answer. So the API knows nothing that the command does not know, and has the same shapes.
 */
#ifndef WEB_ASK_H
#define WEB_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command.h"
#include "out.h"

struct cJSON;
struct muster_client;

#define ASK_STARS_MAX 2

struct ask;
typedef void ask_fn(struct ask *a);

/*
 * What can be asked for.
 *
 *   method, path  "GET" or "POST"; a `*` in the path stands for one name
 *   verb, args    which verb, and what becomes of the parameters; see ask_run_verb(). Any other parameter is refused
 *   shape         of the answer
 *   run           in place of the verb
 *   count         POST: the row's key with how many it was done to; NULL: a row is one
 */
enum ask_shape { ASK_ITEMS, ASK_PAGE, ASK_ONE, ASK_DONE };
struct route {
    const char *method, *path;
    const struct command *verb;
    const char *args;
    enum ask_shape shape;
    ask_fn *run;
    const char *count;
};

struct ask {
    const struct route *route;
    const struct call *like; /* whose connection */
    struct muster_client *client;
    char *stars[ASK_STARS_MAX];
    struct cJSON *params; /* an object: those of the query, or the body's */

    size_t from, size;   /* the page: how many rows are before it, and how many it has at most */
    const char *args;    /* of the verb that runs */
    bool is_whole;       /* `items` are all there are, although the route has pages */
    int status;          /* of HTTP; 0: it has no answer yet */
    struct cJSON *items; /* rows */
    out_row_fn *row_fn;  /* NULL; or what takes them, with row_arg, in the place of `items` */
    void *row_arg;
    struct cJSON *whole; /* the answer's object, if it is none of rows */
    char *error, *message;
    struct cJSON *notes;
    char **texts; /* what was made of parameters */
    size_t n_texts;
};

/* Takes over `params`. */
struct ask *ask_new(const struct route *route, struct cJSON *params);
void ask_free(struct ask *a);

/* Does it change something? */
bool ask_is_change(const struct ask *a);

/* On the thread that may wait for Redis. */
void ask_run(struct ask *a);

/* Run a verb; its rows are added to `items`. Returns its exit code. `args` are words with blanks between:
 *
 *     $0           an operand: the path's first name
 *     ?name        operands: the parameter, or each of its list
 *     :text        an operand: this text
 *     opt=$0, opt=?name, opt=:text   an option and its value; none if there is no such parameter
 *     opt=+?name, opt=-?name         the same, with this sign before the value
 *     opt, opt?name                  a flag; if the parameter is true
 */
int ask_run_verb(struct ask *a, const struct command *verb, const char *args);

/* The text of a parameter, which may be a name; NULL if it is missing. What is no text is refused (json_value.h). */
const char *ask_param(struct ask *a, const char *name);
bool ask_has(const struct ask *a, const char *name);

/* Is it true, or 1? Anything but true, false, 1 and 0 is refused. */
bool ask_flag(struct ask *a, const char *name);
int64_t ask_number(struct ask *a, const char *name, int64_t fallback, int64_t most);

/* Refuse. */
void ask_refuse(struct ask *a, int status, const char *error, const char *message);
/* By the library's error, if it is one, in the words and with the status that a verb would have. */
void ask_refuse_error(struct ask *a, int err);
void ask_refuse_param(struct ask *a, const char *name, const char *why);

/* Refuse an object that has a member more than once: which one is meant? */
void ask_refuse_twice(struct ask *a, const struct cJSON *object);

/* The answer as text, to be freed. */
char *ask_text(struct ask *a);

/* {"error":..., "message":...}, to be freed. */
char *ask_error_text(const char *error, const char *message);

#endif
