"""News of approvals for the floors above, sent after commit and carrying ids only.

A lost signal is harmless: workers sweep.
"""

from django.dispatch import Signal

decision_announced = Signal()
"""thread_id: UUID, queue: str. A decision's row of the outbox was taken: a worker should look."""
