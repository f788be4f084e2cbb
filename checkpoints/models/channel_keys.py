"""Keys of encrypted channels."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class ChannelKey(models.Model):
    """The data key of the encrypted channels of one thread, whose id it has; itself encrypted.

    Erasing the thread deletes the row: what the key encrypted is then lost in capsules as well.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    workspace_id = models.UUIDField()
    key = models.TextField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_channel_key"
