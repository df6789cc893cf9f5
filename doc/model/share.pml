/* SPDX-License-Identifier: MIT */
/*
 * share.pml: a queue whose tasks are to be shared evenly by three workers. README.md says what is modelled, what is left
 * out, and how to run it.
 *
 * Every d_step is a script, or something that happens to a worker. After each one look() counts anew what the conditions
 * read, and looks for what must never be.
 *
 * -DFAULTS    workers die, restart, join and are swept; handlers stay, end, or answer too late; the queue is paused;
 *             tasks come and go. At any moment all this may end: then there is calm. Without it there is calm from the
 *             start, and the start may be any.
 * -DEQUAL     with FAULTS: the workers have 2, 2 and 2 hands; without it, 1, 2 and 2
 * -DTASKS=n   how many tasks there may be
 * -DROUNDS=n  after so many rounds of calm all must be even
 * -DBREAK_x   breaks a rule: see README.md
 */
#ifndef TASKS
#define TASKS 5
#endif
/* A round is over when each worker has had a heartbeat, and has called `share` if that is what the figures ask for. It
 * does not count if a handler has still to answer, or if a worker has joined so lately that others wait for it. */
#ifndef ROUNDS
#define ROUNDS 4
#endif

/* ---- what is in Redis */

#define NOBODY 0 /* workers are 1, 2, 3 */
#define QUEUE 4
byte owner[TASKS];     /* NOBODY: there is no such task */
byte target[TASKS];    /* the worker that a move is reserved to, or NOBODY */
bool same_life[TASKS]; /* that worker has still the life that the reservation names */

#define GONE 0 /* it has no record */
#define LIVES 1
#define DEAD 2 /* nobody knows it yet */
byte life[4], hands[4];
bool counts[4];
byte coming[4], going[4]; /* how many moves are reserved to it, from it */

#define UNLISTED 0
#define MAY_GET 1
#define LACKS 2
byte gap[4]; /* the list of gaps */

byte lack_age;  /* 0: nobody lacks; 1: noted in this round, 2: in the one before, 3: every worker has had a call since */
byte over_left; /* for how many rounds it is still said that somebody has too much */
#define OVER_ROUNDS 4 /* the one that has begun, and three */
byte joined;    /* 3: somebody does not count yet; 2, 1: it has counted for no round, for one */
bool paused;
byte most_moves; /* so many reservations at once */

/* By the target, reservations of givers that are no more: only if the rule SWEEP is broken. */
byte leftover[4];

/* ---- what is in the workers */

byte runs_in[TASKS]; /* where its handler runs */
bool stays[TASKS];   /* its handler has said no, or nothing in time: it is not asked for now */
bool has_called[4];  /* in this round */

bool calm;
byte rounds;

/* ---- counted by look() */

byte held[4], share[4]; /* share: what is held and what is coming, without what is going */
byte least[4], most[4]; /* what it may be */
byte n_movable[4];      /* processes that may be told to move */
byte running, all_hands, waiting, n_leftover, n_reserved, n_tasks;
bool moved[TASKS];
#ifdef BREAK_LOOK
byte share_before[4];
#endif

/* ---- the properties: what must never be. A search stops at the first, and names it. */

bool two_owners, lost, miscounted, too_many, uneven, needless_move, moved_twice, stuck;

inline demand(truth, wrong)
{
    if
    :: truth
    :: else -> wrong = true; assert(!wrong)
    fi
}

/* Scratch of one step; no part of a state. */
hidden byte a, b, j, k;
hidden short x, y;

#define EACH_WORKER(f) (f(1) && f(2) && f(3))
#define ANY_WORKER(f) (f(1) || f(2) || f(3))

/* Tasks have no names: they are kept in order, so that states that differ in their names alone are one. */
#define RANK(t) (owner[t] + 8 * (target[t] + 4 * (runs_in[t] + 4 * (same_life[t] + 2 * (stays[t] + 2 * moved[t])))))
#define SWAP(field) x = field[b]; field[b] = field[b + 1]; field[b + 1] = x
inline put_in_order()
{
    for (a : 1 .. TASKS - 1) {
        for (b : 0 .. TASKS - 1 - a) {
            if
            :: RANK(b) > RANK(b + 1) ->
                SWAP(owner); SWAP(target); SWAP(runs_in); SWAP(same_life); SWAP(stays); SWAP(moved)
            :: else
            fi
        }
    }
}

/* Its handler was not told, and has not said no. */
#define MAY_MOVE(t) (target[t] == NOBODY && !stays[t])

inline look()
{
    put_in_order();
    running = 0; all_hands = 0; waiting = 0; n_reserved = 0; n_leftover = 0;
    for (a : 1 .. 3) {
        held[a] = 0; n_movable[a] = 0;
        all_hands = all_hands + (life[a] == GONE -> 0 : hands[a])
    }
    for (a : 0 .. TASKS - 1) {
        if
        :: owner[a] == QUEUE -> waiting++
        :: owner[a] != QUEUE && owner[a] != NOBODY ->
            running++;
            held[owner[a]]++;
            n_movable[owner[a]] = n_movable[owner[a]] + MAY_MOVE(a)
        :: else
        fi;
        n_reserved = n_reserved + (target[a] != NOBODY)
    }
    for (a : 1 .. 3) {
        n_leftover = n_leftover + leftover[a];
        least[a] = (life[a] == GONE -> 0 : running * hands[a] / all_hands);
        most[a] = (life[a] == GONE -> 0 : (running * hands[a] + all_hands - 1) / all_hands);
        share[a] = held[a] + coming[a] - going[a];
        demand(held[a] <= hands[a], too_many)
    }
    demand(running + waiting == n_tasks, lost);
    a = 0; b = 0; x = 0; y = 0; j = 0; k = 0
}

/* How many moves it takes at least, beside those that are on their way. One that is on its way to a former life takes a
 * process away and brings it to nobody. What is left over is nothing. */
#define OFFSET 20 /* a byte is not negative */
inline count_needed(needed)
{
    x = 0; y = 0;
    for (a : 1 .. 3) {
        k = OFFSET + held[a];
        for (b : 0 .. TASKS - 1) {
            if
            :: target[b] != NOBODY -> k = k - (owner[b] == a) + (target[b] == a && same_life[b])
            :: else
            fi
        }
        x = x + (k > OFFSET + most[a] -> k - OFFSET - most[a] : 0);
        y = y + (k < OFFSET + least[a] -> OFFSET + least[a] - k : 0)
    }
    needed = (x > y -> x : y)
}
hidden short needed_before, needed_after;

#define IS_EVEN_AT(i) (held[i] >= least[i] && held[i] <= most[i])

/* ---- who gives to whom */

#define IS_ON (!paused && waiting == 0)
#define SERVES(i) (life[i] == LIVES || life[i] == DEAD)
#ifdef BREAK_ENTRY
#define CAN_GET(i) SERVES(i)
#else
#define CAN_GET(i) (SERVES(i) && counts[i] && held[i] + coming[i] < hands[i] && share[i] < most[i])
#endif
#define CAN_GET_AS(i, as) (gap[i] == as && CAN_GET(i))
#define SOME_CAN_GET_AS(as) (CAN_GET_AS(1, as) || CAN_GET_AS(2, as) || CAN_GET_AS(3, as))

#ifdef BREAK_FLOOR
#define IS_SHORT(i) (share[i] < most[i])
#else
#define IS_SHORT(i) (share[i] < least[i])
#endif
#ifdef BREAK_LOOK
#define IS_OVER(i) (share_before[i] > most[i])
#else
#define IS_OVER(i) (share[i] > most[i])
#endif
#ifdef BREAK_ORDER
#define GIVES_ALL true
#else
#define GIVES_ALL (lack_age == 3 && joined == 0)
#endif
#define GIVES_ONE(i, to) (i != to && CAN_GET_AS(to, gap[to]) && gap[to] != UNLISTED && \
    (gap[to] == LACKS || !SOME_CAN_GET_AS(LACKS)) && \
    (IS_OVER(i) || GIVES_ALL && gap[to] == LACKS && IS_SHORT(to) && share[i] > least[i]))
#define HAS_ROOM (n_reserved + n_leftover < most_moves)
/* Before the calm there may be any list of gaps, and those who wait may have waited long enough. */
#define MAY_GIVE_ONE(i, to) (i != to && CAN_GET(to) && (IS_OVER(i) || IS_SHORT(to) && share[i] > least[i]))
#define GIVES(i, to) (IS_ON && life[i] == LIVES && !has_called[i] && HAS_ROOM && \
    (calm && GIVES_ONE(i, to) || !calm && MAY_GIVE_ONE(i, to)))

#define GIVES_SOMETHING(i) (n_movable[i] > 0 && (GIVES(i, 1) || GIVES(i, 2) || GIVES(i, 3)))

inline note_gap(i)
{
    if
    :: CAN_GET(i) && IS_SHORT(i) -> gap[i] = LACKS
    :: CAN_GET(i) && !IS_SHORT(i) && over_left > 0 -> gap[i] = MAY_GET
    :: else -> gap[i] = UNLISTED
    fi
}

/* The script `share`, as far as it gives one process. One that gives more is several of these. */
inline reserve(t, to)
{
    x = owner[t];
    printf("worker %d reserves a move to %d\n", x, to);
    count_needed(needed_before);
    demand(needed_before > 0, needless_move);
    target[t] = to; same_life[t] = true;
#ifndef BREAK_RESERVE
    coming[to]++;
#endif
    going[owner[t]]++;
    demand(held[to] + coming[to] <= hands[to] && share[to] < most[to], too_many);
    count_needed(needed_after);
#ifdef FAULTS
    demand(needed_after <= needed_before, needless_move);
#else
    demand(needed_after < needed_before, needless_move);
#endif
    share[to]++;
    if
    :: calm -> note_gap(to)
    :: else
    fi
}

#ifdef BREAK_WAIT
#define HAS_MORE_TO_GIVE(i) false
#else
#define HAS_MORE_TO_GIVE(i) (IS_OVER(i) && n_movable[i] > 0)
#endif

/* The script `share`, if it gives nothing, or after all that it has given. */
inline call_share(i)
{
    for (a : 1 .. 3) {
        if
        :: gap[a] != UNLISTED && share[i] > least[i] && !CAN_GET(a) -> gap[a] = UNLISTED
        :: else
        fi
    }
    note_gap(i);
    if
    :: gap[1] != LACKS && gap[2] != LACKS && gap[3] != LACKS ->
        lack_age = 0;
#ifndef BREAK_OVER
        over_left = (IS_OVER(i) && joined <= 1 -> OVER_ROUNDS : over_left)
#else
        skip
#endif
    :: else -> lack_age = (lack_age == 0 || HAS_MORE_TO_GIVE(i) -> 1 : lack_age)
    fi;
    has_called[i] = true;
    printf("worker %d calls: the gaps are now %d %d %d\n", i, gap[1], gap[2], gap[3])
}

/* A heartbeat shows nothing to call for. */
#define IS_CONTENT(i) (!IS_ON || !IS_SHORT(i) && !IS_OVER(i) && (over_left == 0 || share[i] >= most[i]) && \
    (lack_age == 0 || share[i] <= least[i]))

/* ---- what ends a reservation */

inline count_down(i)
{
#ifndef BREAK_RESERVE
    demand(coming[i] > 0, miscounted);
    coming[i]--
#else
    skip
#endif
}

inline release(t)
{
    if
    :: target[t] != NOBODY ->
        demand(going[owner[t]] > 0, miscounted);
        going[owner[t]]--;
        if
#ifdef BREAK_LIFE
        :: true
#else
        :: same_life[t]
#endif
            -> count_down(target[t])
        :: else
        fi
    :: else
    fi;
    target[t] = NOBODY; same_life[t] = false
}

inline drop_leftover(i)
{
    leftover[i]--;
    count_down(i)
}

/* A life ends in Redis. */
inline end_life(i)
{
    for (a : 0 .. TASKS - 1) {
        if
        :: owner[a] == i && target[a] != NOBODY ->
#ifdef BREAK_SWEEP
            leftover[target[a]] = leftover[target[a]] + same_life[a];
            target[a] = NOBODY; same_life[a] = false
#else
            release(a)
#endif
        :: owner[a] != i && target[a] == i -> same_life[a] = false
        :: else
        fi
    }
    leftover[i] = 0;
    coming[i] = 0; going[i] = 0; gap[i] = UNLISTED
}

inline begin_handler(t)
{
    demand(runs_in[t] == NOBODY, two_owners);
    runs_in[t] = (life[owner[t]] == LIVES -> owner[t] : NOBODY)
}

/* ---- workers */

proctype worker(byte i)
{
end:
    do
    :: atomic {
        if
        :: d_step { calm && life[i] == LIVES && !has_called[i] && IS_CONTENT(i) -> has_called[i] = true }
        :: d_step { calm && life[i] == LIVES && !has_called[i] && !IS_CONTENT(i) && !GIVES_SOMETHING(i) -> call_share(i) }
#ifdef FAULTS
        :: d_step { !calm && life[i] == LIVES ->
            printf("worker %d dies\n", i);
            life[i] = DEAD;
            for (a : 0 .. TASKS - 1) {
                runs_in[a] = (runs_in[a] == i -> NOBODY : runs_in[a])
            };
            a = 0 }
        :: d_step { !calm && life[i] == DEAD ->
            printf("worker %d is back\n", i);
            end_life(i);
            life[i] = LIVES;
            for (a : 0 .. TASKS - 1) {
                if
                :: owner[a] == i -> begin_handler(a)
                :: else
                fi
            };
            a = 0 }
        :: d_step { life[i] == DEAD ->
            printf("worker %d is swept\n", i);
            end_life(i);
            for (a : 0 .. TASKS - 1) {
                owner[a] = (owner[a] == i -> QUEUE : owner[a])
            }
            life[i] = GONE; counts[i] = false }
        :: d_step { !calm && life[i] == GONE ->
            printf("worker %d joins\n", i);
            life[i] = LIVES }
        :: d_step { !calm && life[i] == LIVES && !counts[i] ->
            printf("worker %d counts\n", i);
            counts[i] = true }
        :: d_step { leftover[i] > 0 -> printf("what was left over to worker %d lapses\n", i); drop_leftover(i) }
#endif
        fi;
        d_step { look() }
    }
    od
}

/* ---- processes and their handlers */

/* Of tasks that are alike one is enough. */
#define IS_FIRST(t) (t == 0 || RANK(t) != RANK(t - 1))
#define IS_HELD(t) (IS_FIRST(t) && owner[t] != NOBODY && owner[t] != QUEUE && life[owner[t]] == LIVES)
#define FREE(i) (SERVES(i) -> hands[i] - held[i] : 0)
#define IS_FREER(i, than) (FREE(i) * hands[than] >= FREE(than) * hands[i])
#define IS_FREEST(i) (FREE(i) > 0 && IS_FREER(i, 1) && IS_FREER(i, 2) && IS_FREER(i, 3))

/* The end "move". */
inline move(t)
{
    x = target[t];
    y = same_life[t];
    release(t);
    if
    :: y && SERVES(x) && held[x] < hands[x] && !paused ->
        printf("a process moves from %d to %d\n", owner[t], x);
        owner[t] = x;
        begin_handler(t);
        demand(!moved[t], moved_twice)
#ifndef FAULTS
        ; moved[t] = true
#endif
    :: else ->
        printf("worker %d gives back\n", owner[t]);
#ifdef BREAK_BACK
        owner[t] = NOBODY
#else
        owner[t] = QUEUE
#endif
    fi
}

#define HANDED_TO(i) IS_FIRST(t) && owner[t] == QUEUE && !paused && IS_FREEST(i)

proctype process(byte t)
{
    byte to;
end:
    do
    :: atomic {
        if
        :: IS_HELD(t) && MAY_MOVE(t) && GIVES(owner[t], 1) -> to = 1
        :: IS_HELD(t) && MAY_MOVE(t) && GIVES(owner[t], 2) -> to = 2
        :: IS_HELD(t) && MAY_MOVE(t) && GIVES(owner[t], 3) -> to = 3
        :: d_step { HANDED_TO(1) -> owner[t] = 1; begin_handler(t) }
        :: d_step { HANDED_TO(2) -> owner[t] = 2; begin_handler(t) }
        :: d_step { HANDED_TO(3) -> owner[t] = 3; begin_handler(t) }
        :: d_step { IS_HELD(t) && runs_in[t] != NOBODY && target[t] != NOBODY -> runs_in[t] = NOBODY }
#ifdef BREAK_END
        :: d_step { IS_HELD(t) && target[t] != NOBODY -> move(t) }
#else
        :: d_step { IS_HELD(t) && runs_in[t] == NOBODY && target[t] != NOBODY -> move(t) }
#endif
#ifdef FAULTS
        :: d_step { !calm && IS_HELD(t) && runs_in[t] != NOBODY && target[t] != NOBODY ->
            printf("a handler of worker %d stays, or its time is over\n", owner[t]);
#ifdef BREAK_LAPSE
            going[owner[t]]--; target[t] = NOBODY; same_life[t] = false;
#else
            release(t);
#endif
            stays[t] = true }
        :: d_step { !calm && IS_HELD(t) && runs_in[t] != NOBODY ->
            printf("a handler of worker %d ends\n", owner[t]);
            release(t);
            owner[t] = NOBODY; runs_in[t] = NOBODY; stays[t] = false; n_tasks-- }
        :: d_step { !calm && IS_HELD(t) && stays[t] ->
            printf("a handler of worker %d answers too late\n", owner[t]);
            runs_in[t] = NOBODY; stays[t] = false; owner[t] = QUEUE }
        :: d_step { !calm && IS_FIRST(t) && owner[t] == NOBODY ->
            printf("a task is enqueued\n");
            owner[t] = QUEUE; n_tasks++ }
#endif
        fi;
        d_step {
            if
            :: to != 0 -> j = to; reserve(t, j)
            :: else
            fi;
            to = 0;
            look()
        }
    }
    od
}

/* ---- time, and what comes from outside */

#define HAS_HAD_ROUND(i) (life[i] == GONE || life[i] == LIVES && has_called[i])
#define IS_ROUND_OVER (EACH_WORKER(HAS_HAD_ROUND) && (waiting == 0 || FREE(1) + FREE(2) + FREE(3) == 0))
#define IS_NEW(i) (life[i] == LIVES && !counts[i])

inline end_round()
{
    printf("a round ends\n");
    rounds = (n_reserved == 0 && n_leftover == 0 && joined == 0 -> rounds + 1 : rounds);
    joined = (joined > 0 -> joined - 1 : 0);
    for (a : 1 .. 3) {
        has_called[a] = false;
#ifdef BREAK_LOOK
        share_before[a] = share[a];
#endif
        counts[a] = (life[a] == LIVES -> true : counts[a])
    }
    over_left = (over_left > 0 -> over_left - 1 : 0);
    lack_age = (lack_age == 0 || lack_age == 3 -> lack_age : lack_age + 1);
    demand(rounds < ROUNDS || EACH_WORKER(IS_EVEN_AT), uneven)
}

inline begin()
{
    if
#if defined(EQUAL) || !defined(FAULTS)
    :: hands[1] = 2; hands[2] = 2; hands[3] = 2
#else
    :: hands[1] = 1; hands[2] = 2; hands[3] = 2
#endif
#ifndef FAULTS
    :: hands[1] = 3; hands[2] = 3; hands[3] = 3
    :: hands[1] = 1; hands[2] = 2; hands[3] = 4
    :: hands[1] = 4; hands[2] = 1; hands[3] = 5
#endif
    fi;
    most_moves = TASKS;
#ifndef FAULTS
    if
    :: most_moves = 1
    :: skip
    fi;
#endif
    for (to : 1 .. 3) {
        life[to] = LIVES;
        if
        :: counts[to] = true
#ifdef FAULTS
        :: skip
#else
        :: joined = 3
#endif
        fi
    }
    for (to : 0 .. TASKS - 1) {
        if
        :: held[1] < hands[1] -> owner[to] = 1; held[1]++
        :: held[2] < hands[2] -> owner[to] = 2; held[2]++
        :: held[3] < hands[3] -> owner[to] = 3; held[3]++
        :: owner[to] = NOBODY
        fi;
        runs_in[to] = owner[to];
        n_tasks = n_tasks + (owner[to] != NOBODY)
    }
    to = 0
}

/* The faults are over. The list of gaps and the flags may be anything. */
inline calm_down()
{
    printf("calm\n");
    if
    :: skip
    :: over_left = OVER_ROUNDS; lack_age = 3; gap[1] = LACKS; gap[2] = LACKS; gap[3] = LACKS
    fi;
    d_step {
        calm = true; paused = false;
        joined = (ANY_WORKER(IS_NEW) -> 3 : 0);
        for (a : 0 .. TASKS - 1) {
            stays[a] = false
        };
        a = 0
    }
}

active proctype world()
{
    byte to;
    atomic {
        begin();
#ifndef FAULTS
        calm = true;
#endif
        d_step { look() };
        printf("hands %d %d %d\n", hands[1], hands[2], hands[3]);
        printf("held %d %d %d\n", held[1], held[2], held[3]);
        run worker(1); run worker(2); run worker(3);
        for (to : 0 .. TASKS - 1) {
            run process(to)
        }
        to = 0
    }
end:
    do
    :: atomic {
        if
        :: d_step { calm && IS_ROUND_OVER && rounds < ROUNDS -> end_round() }
#ifdef FAULTS
        :: d_step { !calm -> paused = !paused }
        :: !calm -> calm_down()
#endif
        fi;
        d_step { look() }
    }
    :: timeout -> demand(rounds == ROUNDS, stuck); break
    od
}
