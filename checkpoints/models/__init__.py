"""The tables of the ground floor.

Log tables (checkpoint, event, keyframe) carry the thread first in every unique key and have no
foreign keys in the database: the one statement that writes them has just locked the thread row,
and tables without references can be partitioned by thread later. What a status, kind or source may
be is said by domains (migrations/schema/domains.sql), since a step would read each CHECK anew.
Nobody above imports this module: upper floors write through `store` and read through `queries`.
"""

from .anchors import Anchor, AnchorDestination, AnchorStamp
from .channel_keys import ChannelKey
from .erasure import Erased, Erasure, ErasureFile, Hold, RetentionRule
from .fleet import (
    Backoff,
    Breaker,
    ClockStep,
    Duty,
    HotStream,
    NodeTime,
    SetAside,
    SpanExport,
    Stuck,
    Wake,
    Watched,
    Worker,
)
from .history import Activity, Artifact, Checkpoint, Content, Event, Keyframe
from .history_index import IndexedEvent, IndexPosition, RecordQuestion
from .memories import Memory, MemoryText, MemoryVector
from .overview import Budget, BudgetBand, Figure, FigureChange, FoldedUnit
from .threads import (
    AgentAnnouncement,
    AgentVersion,
    Child,
    Membership,
    Thread,
    Verification,
    Workspace,
    WorkspaceEvent,
    WorkspaceVerification,
)
