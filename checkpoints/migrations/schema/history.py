"""What was ever written about a thread. Log tables have no foreign keys: see checkpoints.models."""

from django.db import migrations, models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

TABLES = (
    # The state after one step, as a delta to its parent; never updated, never deleted. `number`
    # is its ordinal in the thread. Within one branch the parent of a checkpoint is the one
    # numbered before it; the first of a branch (`number == branch_start`) may have its parent in
    # an older branch or, in a fork, in another thread. A state is therefore a few index ranges.
    migrations.CreateModel(
        name="Checkpoint",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "thread_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                ),
            ),
            ("id", models.UUIDField(default=uuid7, editable=False)),
            (
                "thread",
                models.ForeignKey(
                    db_constraint=False,
                    db_index=False,
                    on_delete=models.DO_NOTHING,
                    to="checkpoints.thread",
                ),
            ),
            ("workspace_id", models.UUIDField()),
            ("number", models.IntegerField()),
            ("branch", models.IntegerField()),
            ("branch_start", models.IntegerField()),
            ("step", models.IntegerField()),
            ("parent", models.UUIDField(null=True)),
            ("parent_thread", models.UUIDField(null=True)),
            ("parent_number", models.IntegerField(null=True)),
            ("source", models.CharField(max_length=10)),
            ("nodes", models.JSONField(default=list)),
            ("next_nodes", models.JSONField(default=list)),
            ("delta", models.JSONField()),
            ("salt", models.BinaryField()),
            ("delta_hash", models.BinaryField()),
            ("state_hash", models.BinaryField()),
            ("state_bytes", models.BigIntegerField()),
            ("schema_version", models.IntegerField(default=1)),
            ("agent_version_id", models.UUIDField()),
            ("config", models.JSONField(null=True)),
            ("created_by", models.CharField(max_length=200)),
            ("created_at", models.DateTimeField(db_default=Now())),
            ("digests", models.BinaryField(null=True)),
        ],
        options={
            "db_table": "gp_checkpoint",
            "constraints": [
                models.UniqueConstraint(fields=("thread", "number"), name="gp_checkpoint_number")
            ],
        },
    ),
    # A cached full state of one checkpoint as canonical JSON; may be deleted at any time.
    migrations.CreateModel(
        name="Keyframe",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "thread_id",
                    "number",
                    blank=True,
                    editable=False,
                    primary_key=True,
                    serialize=False,
                ),
            ),
            (
                "thread",
                models.ForeignKey(
                    db_constraint=False,
                    db_index=False,
                    on_delete=models.DO_NOTHING,
                    to="checkpoints.thread",
                ),
            ),
            ("number", models.IntegerField()),
            ("state", models.TextField()),
            ("created_at", models.DateTimeField(db_default=Now())),
        ],
        options={
            "db_table": "gp_keyframe",
        },
    ),
    # A large value that deltas of a thread name by its hash: canonical JSON, kept once.
    migrations.CreateModel(
        name="Content",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "thread_id",
                    "sha256",
                    blank=True,
                    editable=False,
                    primary_key=True,
                    serialize=False,
                ),
            ),
            (
                "thread",
                models.ForeignKey(
                    db_constraint=False,
                    db_index=False,
                    on_delete=models.DO_NOTHING,
                    to="checkpoints.thread",
                ),
            ),
            ("sha256", models.CharField(max_length=64)),
            ("workspace_id", models.UUIDField()),
            ("body", models.TextField()),
        ],
        options={
            "db_table": "gp_content",
        },
    ),
    # One immutable entry of a thread's log, chained by hash to the one before.
    migrations.CreateModel(
        name="Event",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "thread_id",
                    "seq",
                    blank=True,
                    editable=False,
                    primary_key=True,
                    serialize=False,
                ),
            ),
            (
                "thread",
                models.ForeignKey(
                    db_constraint=False,
                    db_index=False,
                    on_delete=models.DO_NOTHING,
                    to="checkpoints.thread",
                ),
            ),
            ("seq", models.BigIntegerField()),
            ("workspace_id", models.UUIDField()),
            ("kind", models.CharField(max_length=50)),
            ("v", models.SmallIntegerField(default=1)),
            ("actor", models.CharField(max_length=200)),
            ("data", models.JSONField()),
            ("salt", models.BinaryField()),
            ("data_hash", models.BinaryField()),
            ("at", models.DateTimeField()),
            ("prev_hash", models.BinaryField()),
            ("hash", models.BinaryField()),
        ],
        options={
            "db_table": "gp_event",
        },
    ),
    # Something that happened once at one position and must not happen again.
    migrations.CreateModel(
        name="Activity",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            (
                "thread",
                models.ForeignKey(
                    db_constraint=False,
                    db_index=False,
                    on_delete=models.DO_NOTHING,
                    to="checkpoints.thread",
                ),
            ),
            ("workspace_id", models.UUIDField()),
            ("branch", models.IntegerField()),
            ("step", models.IntegerField()),
            ("node", models.CharField(max_length=100)),
            ("index", models.IntegerField(default=0)),
            ("key", models.CharField(max_length=200)),
            ("revision", models.SmallIntegerField(default=0)),
            ("kind", models.CharField(max_length=10)),
            ("tool", models.CharField(max_length=200)),
            ("state", models.CharField(max_length=12)),
            ("args", models.JSONField()),
            ("salt", models.BinaryField()),
            ("input_hash", models.BinaryField()),
            ("result", models.JSONField(null=True)),
            ("result_hash", models.BinaryField(null=True)),
            ("error", models.TextField(blank=True, default="")),
            ("attempts", models.SmallIntegerField(default=1)),
            ("cursor", models.JSONField(null=True)),
            ("progress", models.JSONField(null=True)),
            ("usage", models.JSONField(null=True)),
            ("idempotency_key", models.CharField(max_length=64)),
            ("undo", models.CharField(blank=True, default="", max_length=200)),
            ("undo_result", models.JSONField(null=True)),
            ("approval_id", models.UUIDField(null=True)),
            ("started_at", models.DateTimeField(db_default=Now())),
            ("finished_at", models.DateTimeField(null=True)),
        ],
        options={
            "db_table": "gp_activity",
            "constraints": [
                models.UniqueConstraint(
                    fields=("thread", "branch", "step", "node", "index", "key", "revision"),
                    name="gp_activity_position",
                ),
                models.UniqueConstraint(
                    condition=models.Q(("approval_id__isnull", False)),
                    fields=("approval_id",),
                    name="gp_activity_approval",
                ),
            ],
            "verbose_name_plural": "activities",
        },
    ),
    # A file that state refers to by its hash; the bytes lie in Django storage.
    migrations.CreateModel(
        name="Artifact",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            (
                "workspace",
                models.ForeignKey(
                    db_index=False,
                    on_delete=models.PROTECT,
                    related_name="+",
                    to="checkpoints.workspace",
                ),
            ),
            ("sha256", models.CharField(max_length=64)),
            ("name", models.CharField(max_length=255)),
            ("media_type", models.CharField(max_length=100)),
            ("size", models.BigIntegerField()),
            ("path", models.CharField(max_length=500)),
            ("created_at", models.DateTimeField(db_default=Now())),
        ],
        options={
            "db_table": "gp_artifact",
            "constraints": [
                models.UniqueConstraint(fields=("workspace", "sha256"), name="gp_artifact_once")
            ],
        },
    ),
    # The data key of the encrypted channels of one thread, whose id it has; itself encrypted.
    migrations.CreateModel(
        name="ChannelKey",
        fields=[
            ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
            ("workspace_id", models.UUIDField()),
            ("key", models.TextField()),
            ("created_at", models.DateTimeField(db_default=Now())),
        ],
        options={
            "db_table": "gp_channel_key",
        },
    ),
)
