# SPDX-License-Identifier: MIT
"""What muster tells: rows of lists, records, and what is to be put. Times are Unix times in seconds, by Redis' clock;
spans are seconds. None: there is none, or it is not known."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any, Optional, Sequence, Union

from . import _abi
from ._library import Data, Text, bytes_at, c_bytes, data, ms, name_or_none, names, text, text_or_none


def _span(value: int) -> Optional[float]:
    return None if value < 0 else value / 1000


def _time(value: int) -> Optional[float]:
    return value / 1000 if value else None


def _texts(pointer: Any, n: int) -> list[str]:
    return [text(pointer[i]) for i in range(n)]


JOB_STATES = ("scheduled", "depends", "waiting", "running", "failed", "complete", "recurring", "held")
JOB_ENDS = ("complete", "failed", "cancelled", "gone")
OVERLAPS = ("", "allow", "skip", "queue")
BATCH_STATES = ("open", "closed", "ended")
ORDERS = ("", "oldest", "newest")


def _name_of(number: int, known: Sequence[str]) -> str:
    return known[number] if 0 <= number < len(known) else "unknown"


# ---- queues, workers, processes


@dataclass(frozen=True)
class Queue:
    """A queue, and how much it holds."""

    name: str
    waiting: int  # tasks and jobs that a worker could take now
    running: int  # in somebody's hands
    delayed: int  # tasks that wait until a retry's delay is over, and scheduled jobs
    depends: int  # jobs that wait for other jobs
    recurring: int  # jobs that make others
    complete: int  # complete jobs whose records are kept
    failed: int  # on the failed list
    cancelled: int
    idle: int  # workers that wait for a task of it
    paused: bool
    failed_bytes: int
    failed_dropped: int
    came: int  # how many have ever come into it
    went: int  # how many have left its line
    oldest: Optional[float]  # for how long at least the oldest of what waits has waited; None: nothing waits
    oldest_error: Optional[float]  # how much longer it may be
    share_even: bool
    hands: int  # how many hands serve it, over all workers
    moved: int
    held: int  # jobs that are held, because as many of their key run as may
    stalled: int  # tasks and jobs whose lease lapsed
    died: int  # tasks and jobs that a worker held when it died


def queue_row(q: Any) -> Queue:
    return Queue(
        name=text(q.name),
        waiting=q.waiting,
        running=q.running,
        delayed=q.delayed,
        depends=q.depends,
        recurring=q.recurring,
        complete=q.complete,
        failed=q.failed,
        cancelled=q.cancelled,
        idle=q.idle,
        paused=bool(q.paused),
        failed_bytes=q.failed_bytes,
        failed_dropped=q.failed_dropped,
        came=getattr(q, "in"),
        went=q.out,
        oldest=_span(q.oldest_ms),
        oldest_error=_span(q.oldest_error_ms),
        share_even=bool(q.share_even),
        hands=q.hands,
        moved=q.moved,
        held=q.held,
        stalled=q.stalled,
        died=q.died,
    )


@dataclass(frozen=True)
class WorkerShare:
    """What a worker holds of a queue that shares evenly; its share is from `least` to `most`."""

    queue: str
    hands: int
    holds: int
    least: int
    most: int


@dataclass(frozen=True)
class WorkerInfo:
    """A registered worker."""

    id: str
    epoch: int  # which life of this id: a larger one is later
    host: str
    version: str
    pid: int
    alive: bool
    permanent: bool
    heard: Optional[float]  # how long ago it was last heard
    ttl: float
    started_at: Optional[float]
    hands: int
    held: int
    queues: list[str]
    shares: list[WorkerShare]


def worker_row(w: Any) -> WorkerInfo:
    shares = [w.shares[i] for i in range(w.n_shares)]
    return WorkerInfo(
        id=text(w.id),
        epoch=w.epoch,
        host=text(w.host),
        version=text(w.version),
        pid=w.pid,
        alive=bool(w.alive),
        permanent=bool(w.permanent),
        heard=_span(w.heard_ms),
        ttl=w.ttl_ms / 1000,
        started_at=_time(w.started_at_ms),
        hands=w.hands,
        held=w.held,
        queues=_texts(w.queues, w.n_queues),
        shares=[WorkerShare(text(s.queue), s.hands, s.holds, s.least, s.most) for s in shares],
    )


@dataclass(frozen=True)
class ProcessInfo:
    """A process: a task or job in somebody's hands."""

    id: str
    worker: str  # ".lease": it is under a lease
    queue: str
    job: Optional[str]  # the job's id
    token: int
    started_at: Optional[float]
    ends_at: Optional[float]  # when its lease ends
    cancelled: bool
    progress: str
    task: bytes  # Client.processes() gives at most 64 KiB of it
    holder: Optional[str] = None  # the name under which its lease was taken
    length: int = 0  # how many bytes the task has


def process_row(p: Any) -> ProcessInfo:
    return ProcessInfo(
        id=text(p.id),
        worker=text(p.worker),
        queue=text(p.queue),
        job=text_or_none(p.job),
        token=p.token,
        started_at=_time(p.started_at_ms),
        ends_at=_time(p.ends_at_ms),
        cancelled=bool(p.cancelled),
        progress=text(p.progress),
        task=bytes_at(p.task, p.len),
        holder=text_or_none(p.holder),
        length=p.whole_len,
    )


@dataclass(frozen=True)
class Waiting:
    """Something that waits: a task, or a job (its id). Position 0 is the next out."""

    position: int
    task: bytes  # at most 64 KiB of it
    job: Optional[str]
    length: int  # how many bytes it has


def waiting_row(t: Any) -> Waiting:
    return Waiting(t.position, bytes_at(t.data, t.len), text_or_none(t.job), t.whole_len)


@dataclass(frozen=True)
class Failure:
    """A task or job that failed. `entry` names it for Client.replay() and drop()."""

    entry: str
    queue: str
    process: str
    worker: str
    group: str
    message: str
    failed_at: Optional[float]
    job: Optional[str]
    task: bytes  # at most 64 KiB of it
    holder: Optional[str] = None  # the name under which the lease of that process was taken
    length: int = 0  # how many bytes the task has


def failure_row(f: Any) -> Failure:
    return Failure(
        entry=text(f.entry),
        queue=text(f.queue),
        process=text(f.process),
        worker=text(f.worker),
        group=text(f.group),
        message=text(bytes_at(f.message.data, f.message.len)),
        failed_at=_time(f.failed_at_ms),
        job=text_or_none(f.job),
        task=bytes_at(f.task, f.len),
        holder=text_or_none(f.holder),
        length=f.whole_len,
    )


# ---- jobs


@dataclass(frozen=True)
class Backoff:
    """How long a retry waits that does not state a delay: `delay` before the first one; doubled with each further one
    if `exponential`, up to `longest`; shortened by a random part of up to `jitter` percent."""

    delay: float
    longest: Optional[float] = None
    exponential: bool = False
    jitter: int = 0


@dataclass(frozen=True)
class JobEvent:
    """A line of a job's history."""

    at: Optional[float]
    what: str
    text: str


@dataclass(frozen=True)
class Job:
    """A job's record. Texts are "" where there is none. job.h explains each field."""

    id: str
    queue: str
    state: str  # one of JOB_STATES
    data: bytes
    priority: int
    retries: int  # how many it may have
    retried: int  # how many it has had: this attempt is number retried + 1
    crashes: int
    tracked: bool
    cancelled: bool
    put_at: Optional[float]
    since: Optional[float]  # since when it is in its state
    due_at: Optional[float]
    limit: Optional[float]
    every: Optional[float]
    backoff: Backoff
    made: int
    worker: str
    process: str
    group: str
    message: str
    result: Optional[bytes]  # None: there is none, which is not the same as b""
    tags: list[str]
    after: list[str]
    after_end: list[str]
    after_failure: list[str]
    before: list[str]
    parents: list[str]
    blocked_by: list[str]
    history: list[JobEvent]
    unique: bool
    batch: str
    cron: str
    zone: str
    backlog: int
    ticks: list[float]
    start: Optional[float]
    until: Optional[float]
    count: int
    overlap: str
    queued: bool
    made_by: str
    key: str
    holder: str  # running: the name under which its lease was taken
    length: int  # of its data and of its result; a list and peek_job() have at most 64 KiB of each
    result_length: int
    before_count: int  # how many jobs wait for it; `before` has at most 300 of them


def job_row(j: Any) -> Job:
    history = [j.history[i] for i in range(j.n_history)]
    b = j.backoff
    return Job(
        id=text(j.id),
        queue=text(j.queue),
        state=_name_of(j.state, JOB_STATES),
        data=bytes_at(j.data.data, j.data.len),
        priority=j.priority,
        retries=j.retries,
        retried=j.retried,
        crashes=j.crashes,
        tracked=bool(j.tracked),
        cancelled=bool(j.cancelled),
        put_at=_time(j.put_at_ms),
        since=_time(j.since_ms),
        due_at=_time(j.due_at_ms),
        limit=_time(j.limit_ms),
        every=_time(j.every_ms),
        backoff=Backoff(b.delay_ms / 1000, _time(b.max_ms), bool(b.exponential), b.jitter_percent),
        made=j.made,
        worker=text(j.worker),
        process=text(j.process),
        group=text(j.group),
        message=text(bytes_at(j.message.data, j.message.len)),
        result=bytes_at(j.result.data, j.result.len) if j.result.data else None,
        tags=_texts(j.tags, j.n_tags),
        after=_texts(j.after, j.n_after),
        after_end=_texts(j.after_end, j.n_after_end),
        after_failure=_texts(j.after_failure, j.n_after_failure),
        before=_texts(j.before, j.n_before),
        parents=_texts(j.parents, j.n_parents),
        blocked_by=_texts(j.blocked_by, j.n_blocked_by),
        history=[JobEvent(_time(e.at_ms), text(e.what), text(e.text)) for e in history],
        unique=bool(j.unique),
        batch=text(j.batch),
        cron=text(j.cron),
        zone=text(j.zone),
        backlog=j.backlog,
        ticks=[j.ticks[i] / 1000 for i in range(j.n_ticks)],
        start=_time(j.from_ms),
        until=_time(j.until_ms),
        count=j.count,
        overlap=_name_of(j.overlap, OVERLAPS),
        queued=bool(j.queued),
        made_by=text(j.made_by),
        key=text(j.key),
        holder=text(j.holder),
        length=j.whole_len,
        result_length=j.whole_result_len,
        before_count=j.whole_before,
    )


@dataclass(frozen=True)
class Ended:
    """A job that has ended: `how` is "complete", "failed", "cancelled" or "gone". `job` is its record, if there is
    one."""

    id: str
    how: str
    job: Optional[Job]

    @property
    def result(self) -> Optional[bytes]:
        """What its handler has returned; None if there is no result."""
        return self.job.result if self.job else None


def ended_row(e: Any) -> Ended:
    return Ended(text(e.id), _name_of(e.how, JOB_ENDS), job_row(e.job.contents) if e.job else None)


@dataclass(frozen=True)
class JobSpec:
    """A job to put. What is None is the default; with `replace` it leaves what the job has. job.h explains each field.

        JobSpec("parcel 17", id="pack-17", retries=3, backoff=Backoff(10, 3600, exponential=True, jitter=20))
    """

    data: Optional[Data] = None
    id: Optional[Text] = None  # None: it is made
    priority: Optional[int] = None  # a lower number runs sooner
    retries: Optional[int] = None  # 0: none
    delay: Optional[float] = None  # it becomes ready this long from now
    at: Optional[float] = None  # or at this Unix time
    limit: Optional[float] = None  # how long a handler may run on it
    backoff: Optional[Backoff] = None
    tags: Sequence[Text] = ()
    after: Sequence[Text] = ()  # jobs that must be complete before it
    after_end: Sequence[Text] = ()  # jobs that must have ended
    after_failure: Sequence[Text] = ()  # jobs that must have failed
    may_be_missing: bool = False  # those of `after` and `after_end` that do not exist are not waited for
    key: Optional[Text] = None
    batch: Optional[Text] = None
    track: bool = False
    replace: bool = False  # change the job that has this id, instead of refusing
    every: Optional[float] = None  # recurring: it makes a job at each interval
    offset: Optional[float] = None  # the first one is made this long from now
    cron: Optional[Text] = None  # recurring: it makes a job at each time of a schedule
    zone: Optional[Text] = None
    start: Optional[float] = None  # its first time is not before this Unix time
    until: Optional[float] = None  # its last one not after this
    count: Optional[int] = None  # it makes so many
    backlog: Optional[int] = None
    overlap: Optional[str] = None  # "allow", "skip" or "queue"


def _number(value: Optional[int]) -> int:
    """0 means "the default" in C."""
    return 0 if value is None else value or _abi.ZERO


def _ms_or_zero(value: Optional[float], what: str) -> int:
    return 0 if value is None else ms(value, what) or _abi.ZERO


def _given_ms(value: Optional[float], what: str) -> int:
    return 0 if value is None else ms(value, what)


def _overlap(value: Optional[str]) -> int:
    if value is not None and value not in OVERLAPS[1:]:
        raise ValueError(f"overlap is one of {', '.join(OVERLAPS[1:])}, not {value!r}")
    return OVERLAPS.index(value or "")


@dataclass
class CSpec:
    """A spec for C, with all that it points to."""

    spec: Any
    kept: list[Any] = field(default_factory=list)


def c_backoff(b: Backoff) -> Any:
    return _abi.Backoff(
        ms(b.delay, "backoff"),
        0 if b.longest is None else ms(b.longest, "longest backoff"),
        int(b.exponential),
        b.jitter,
    )


def c_spec(job: JobSpec) -> CSpec:
    made = CSpec(_abi.new(_abi.JobSpec))
    spec = made.spec
    if job.data is not None:
        bytes_ = data(job.data)
        made.kept.append(bytes_)
        spec.data = c_bytes(bytes_)
    for what in ("id", "batch", "cron", "zone", "key"):
        setattr(spec, what, name_or_none(getattr(job, what)))
    for what in ("tags", "after", "after_end", "after_failure"):
        values = names(getattr(job, what))
        if values is not None:
            made.kept.append(values)
            setattr(spec, what, values)
            setattr(spec, f"n_{what}", len(values))
    if job.backoff is not None:
        spec.backoff = ctypes.pointer(c_backoff(job.backoff))
    spec.priority = _number(job.priority)
    spec.retries = _number(job.retries)
    spec.backlog = job.backlog or 0
    spec.count = job.count or 0
    spec.track, spec.replace, spec.may_be_missing = int(job.track), int(job.replace), int(job.may_be_missing)
    spec.delay_ms = _ms_or_zero(job.delay, "delay") if job.replace else _given_ms(job.delay, "delay")
    spec.limit_ms = _ms_or_zero(job.limit, "limit") if job.replace else _given_ms(job.limit, "limit")
    spec.every_ms = _given_ms(job.every, "every")
    spec.offset_ms = _given_ms(job.offset, "offset")
    spec.at_ms = _given_ms(job.at, "at")
    spec.from_ms = _given_ms(job.start, "start")
    spec.until_ms = _given_ms(job.until, "until")
    spec.overlap = _overlap(job.overlap)
    return made


# ---- batches, settings, statistics


@dataclass(frozen=True)
class Follower:
    """A job that is put when something has become true of a batch. `data` None: the batch's id."""

    queue: Text
    data: Optional[Data] = None


@dataclass(frozen=True)
class Followed:
    queue: str
    job: str  # "": it was not put yet


@dataclass(frozen=True)
class Batch:
    """A batch's record. batch.h explains each field."""

    id: str
    state: str  # "open", "closed" or "ended"
    batch: str
    depth: int
    cancelled_by_call: bool
    closed_by: str
    opened_at: Optional[float]
    closed_at: Optional[float]
    since: Optional[float]
    due_at: Optional[float]
    ttl: float
    members: int
    left: int
    complete: int
    failed: int
    cancelled: int
    gone: int
    first_failed: str
    on_end: Optional[Followed]
    on_complete: Optional[Followed]
    on_failure: Optional[Followed]


def _followed(f: Any) -> Optional[Followed]:
    return Followed(text(f.queue), text(f.job)) if f.queue else None


def batch_row(b: Any) -> Batch:
    return Batch(
        id=text(b.id),
        state=_name_of(b.state, BATCH_STATES),
        batch=text(b.batch),
        depth=b.depth,
        cancelled_by_call=bool(b.is_cancelled),
        closed_by=text(b.closed_by),
        opened_at=_time(b.opened_at_ms),
        closed_at=_time(b.closed_at_ms),
        since=_time(b.since_ms),
        due_at=_time(b.due_at_ms),
        ttl=b.ttl_ms / 1000,
        members=b.members,
        left=b.left,
        complete=b.complete,
        failed=b.failed,
        cancelled=b.cancelled,
        gone=b.gone,
        first_failed=text(b.first_failed),
        on_end=_followed(b.on_end),
        on_complete=_followed(b.on_complete),
        on_failure=_followed(b.on_failure),
    )


@dataclass(frozen=True)
class Setting:
    """A setting that counts for a queue, or for the namespace."""

    name: str
    what: str
    source: str  # "default", "namespace" or "queue"
    value: int
    fallback: int
    least: int
    most: int


def setting_row(s: Any) -> Setting:
    return Setting(text(s.name), text(s.what), text(getattr(s, "from")), s.value, s.fallback, s.least, s.most)


@dataclass(frozen=True)
class Times:
    """`n` times were measured. Bucket 0 of the histogram is below 1 ms, bucket i from 2^(i-1) up to 2^i ms."""

    n: int
    mean: float
    deviation: float
    histogram: list[int]


@dataclass(frozen=True)
class QueueStats:
    """What happened to the jobs of a queue on one day (UTC), counted from 1970-01-01."""

    day: int
    put: int
    taken: int
    completed: int
    failed: int
    retried: int
    crashed: int
    cancelled: int
    wait: Times
    run: Times
    stalled: int  # tasks and jobs whose lease lapsed
    died: int  # tasks and jobs that a worker held when it died


def stats_row(s: Any) -> QueueStats:
    def times(t: Any) -> Times:
        return Times(t.n, t.mean_ms / 1000, t.deviation_ms / 1000, list(t.histogram))

    counts = (s.put, s.taken, s.completed, s.failed, s.retried, s.crashed, s.cancelled)
    return QueueStats(s.day, *counts, times(s.wait), times(s.run), s.stalled, s.died)


Result = Union[None, str, bytes, bytearray, memoryview]
