# SPDX-License-Identifier: MIT
"""muster, a worker-registry task queue on Redis.

    import muster

    with muster.Client() as client:                  # a producer
        client.enqueue("mail", "to ann")

    worker = muster.Worker(hands=8)                  # a worker

    @worker.handler("mail")
    def send_mail(process):
        print("mail", process.text)

    worker.run()

Client         the blocking client: enqueue, put, take under leases, look, cancel
Worker         handlers on threads
AsyncClient    the client for asyncio
AsyncWorker    handlers that are coroutines
Listener       hears what happens in queues, and to jobs; AsyncListener in asyncio
Error          above all errors, a class for each

The package stands on the library libmuster.so.0, which it finds as the system does, or where the environment variable
MUSTER_LIBRARY says. The C headers say more about each call.
"""

from ._aio import AsyncClient, AsyncLease, AsyncProcess, AsyncWorker
from ._client import Client, Lease, LeaseEnd
from ._errors import (
    Busy,
    Cancelled,
    Denied,
    Error,
    Exhausted,
    Exists,
    Full,
    Gone,
    Interrupted,
    Invalid,
    Lost,
    NoConnection,
    NoMemory,
    NotFound,
    NotStarted,
    Refused,
    Stopped,
    Timeout,
    TooBig,
    Unconfirmed,
    WrongFormat,
    WrongState,
)
from ._handling import Event, Fail, GiveBack, Retry, StopReason
from ._library import library_version
from ._listen import AsyncListener, Heard, JobHappening, Listener
from ._process import Process
from ._rows import (
    Backoff,
    Batch,
    Ended,
    Failure,
    Followed,
    Follower,
    Job,
    JobEvent,
    JobSpec,
    ProcessInfo,
    Queue,
    QueueStats,
    Setting,
    Times,
    Waiting,
    WorkerInfo,
    WorkerShare,
)
from ._worker import Worker

__all__ = [
    "AsyncClient",
    "AsyncLease",
    "AsyncListener",
    "AsyncProcess",
    "AsyncWorker",
    "Backoff",
    "Batch",
    "Busy",
    "Cancelled",
    "Client",
    "Denied",
    "Ended",
    "Error",
    "Event",
    "Exhausted",
    "Exists",
    "Fail",
    "Failure",
    "Followed",
    "Follower",
    "Full",
    "GiveBack",
    "Gone",
    "Heard",
    "Interrupted",
    "Invalid",
    "Job",
    "JobEvent",
    "JobHappening",
    "JobSpec",
    "Lease",
    "LeaseEnd",
    "Listener",
    "Lost",
    "NoConnection",
    "NoMemory",
    "NotFound",
    "NotStarted",
    "Process",
    "ProcessInfo",
    "Queue",
    "QueueStats",
    "Refused",
    "Retry",
    "Setting",
    "StopReason",
    "Stopped",
    "Timeout",
    "Times",
    "TooBig",
    "Unconfirmed",
    "Waiting",
    "Worker",
    "WorkerInfo",
    "WorkerShare",
    "WrongFormat",
    "WrongState",
    "library_version",
]
