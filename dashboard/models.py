"""The tables of the top floor: tokens, sign-ins, factors, identities, repeated calls, MCP, views.

`identity.tokens`, `identity.sign_ins`, `identity.second_factor`, `people.sso.identities`,
`kit.api.idempotency`, `gateway.registry` and `board.saved_views` alone write and read them.
"""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

# How an MCP server is reached, and what decides about the calls of one of its tools.
TRANSPORTS: Final = ("http", "command")
MODES: Final = ("policies", "ask", "refuse")


class Token(models.Model):
    """The right to call the API as a user, in one workspace, narrowed to scopes.

    Only the hash of the secret is here. Rows stay when a token has ended: they say who made and
    who revoked it, and events name tokens by their prefix.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    prefix = models.CharField(max_length=8, unique=True)
    secret_hash = models.BinaryField(unique=True, help_text="sha256 of the secret part")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    workspace = models.ForeignKey(
        "checkpoints.Workspace", models.PROTECT, related_name="+", db_index=False
    )
    name = models.CharField(max_length=100, blank=True)
    scopes = models.JSONField(default=list)
    made_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    revoked_by = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        db_table = "gp_token"

    def __str__(self) -> str:
        return self.name or self.prefix


class SignIn(models.Model):
    """A login of a person: by which method, device and address, when it began and was last seen.

    Ending it deletes the login that `session_key` names. Rows stay for a while after that; the
    events of the workspace's log stay, and name neither address nor device.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    session_key = models.CharField(max_length=40, blank=True, db_index=True)
    method = models.CharField(max_length=20)
    address = models.CharField(max_length=45, blank=True)
    agent = models.CharField(max_length=400, blank=True)
    begun_at = models.DateTimeField(db_default=Now())
    last_seen_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)
    ended_by = models.CharField(max_length=200, blank=True, default="")
    why = models.CharField(max_length=20, blank=True, default="")

    class Meta:
        db_table = "gp_sign_in"

    def __str__(self) -> str:
        return str(self.id)


class Identity(models.Model):
    """An account that a directory outside speaks for: its name for itself and for the person.

    `provider` is the issuer of OpenID Connect, or `scim`. It belongs to the installation, and so
    to the log of its first workspace.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    # The unique constraint begins with it.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    provider = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_identity"
        verbose_name_plural = "identities"
        constraints = (
            models.UniqueConstraint(fields=("provider", "subject"), name="gp_identity_subject"),
            models.UniqueConstraint(fields=("user", "provider"), name="gp_identity_user"),
        )

    def __str__(self) -> str:
        return self.subject


class AccessChange(models.Model):
    """A change of what a person may do that waits for a second admin; rows stay when it ended.

    `change` holds the arguments of the action until then, a password as its hash. `user_id` is
    empty for an account that is still to be made.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    action = models.CharField(max_length=40)
    user_id = models.BigIntegerField(null=True)
    name = models.CharField(max_length=150)
    gives = models.JSONField()
    change = models.TextField(blank=True)
    asked_by = models.CharField(max_length=200)
    asked_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    state = models.CharField(max_length=20, db_default="waiting")
    decided_by = models.CharField(max_length=200, blank=True, db_default="")
    decided_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "gp_access_change"
        constraints = (
            models.CheckConstraint(
                condition=models.Q(state__in=("waiting", "confirmed", "refused", "expired")),
                name="gp_access_change_state",
            ),
        )
        indexes = (models.Index(fields=("workspace_id", "state"), name="gp_access_change_waits"),)

    def __str__(self) -> str:
        return self.name


class SecondFactor(models.Model):
    """The second factor of a person: codes of an app, or each recovery code once.

    `secret` is ciphertext; `recovery` are hashes of the codes that are left. No code of a period
    up to `last_period` counts any more. Rows belong to the log of the first workspace.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    secret = models.TextField()
    recovery = models.JSONField(default=list)
    last_period = models.BigIntegerField()
    added_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_second_factor"

    def __str__(self) -> str:
        return str(self.id)


class Passkey(models.Model):
    """A passkey of a person: the public key of an authenticator that verifies who uses it.

    `credential` is its attested credential data. A `sign_count` that does not rise is a copy's, and
    the challenge whose hash is `last_challenge` never counts again.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    name = models.CharField(max_length=60)
    credential_id = models.BinaryField(unique=True)
    credential = models.BinaryField()
    sign_count = models.BigIntegerField(default=0)
    last_challenge = models.BinaryField(null=True)
    added_at = models.DateTimeField(db_default=Now())
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "gp_passkey"

    def __str__(self) -> str:
        return str(self.id)


class IdempotencyKey(models.Model):
    """A change that was asked for under a name of the caller's choice, and its answer.

    The row is written in the transaction of the change. Nothing refers to it and it refers to
    nothing, so taking a key locks no other row.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    user_id = models.BigIntegerField()
    key = models.CharField(max_length=255)
    call = models.CharField(max_length=400, help_text="method and path")
    body_hash = models.BinaryField(help_text="keyed digest of the canonical body")
    status = models.SmallIntegerField(default=0)
    headers = models.JSONField(default=dict)
    answer = models.TextField(default="", help_text="the JSON text that was answered")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_idempotency_key"
        constraints = (
            models.UniqueConstraint(
                fields=("workspace_id", "user_id", "key"), name="gp_idempotency_once"
            ),
        )
        indexes = (models.Index(fields=["created_at"], name="gp_idempotency_age"),)


class McpServer(models.Model):
    """A server that clients reach through the gateway, under its name.

    `url` is where it answers streamable HTTP; `command` is the program with its arguments that
    speaks over stdio. `credential` names the secret that the gateway shows it, and `credential_to`
    the header, or the variable of the program, that carries it. `resources`, `prompts` and
    `completions` say what decides about reading these.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    name = models.CharField(max_length=40)
    transport = models.CharField(max_length=10)
    url = models.CharField(max_length=500, blank=True, default="")
    command = models.JSONField(default=list)
    credential = models.CharField(max_length=100, blank=True, default="")
    credential_to = models.CharField(max_length=100, blank=True, default="")
    active = models.BooleanField(default=True)
    resources = models.CharField(max_length=10, db_default="policies")
    prompts = models.CharField(max_length=10, db_default="policies")
    completions = models.CharField(max_length=10, db_default="policies")
    made_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_mcp_server"
        verbose_name = "MCP server"
        constraints = (
            models.UniqueConstraint(fields=("workspace_id", "name"), name="gp_mcp_server_name"),
            models.CheckConstraint(
                condition=models.Q(transport__in=TRANSPORTS), name="gp_mcp_server_transport"
            ),
            models.CheckConstraint(
                condition=models.Q(resources__in=MODES, prompts__in=MODES, completions__in=MODES),
                name="gp_mcp_server_modes",
            ),
        )

    def __str__(self) -> str:
        return self.name


class McpTool(models.Model):
    """A tool of a server: its definition as an admin accepted it, and as it was last listed.

    Without an accepted definition the tool is new. Where the two hashes differ it has changed.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    # The unique constraint begins with it.
    server = models.ForeignKey(McpServer, models.PROTECT, related_name="+", db_index=False)
    name = models.CharField(max_length=128)
    mode = models.CharField(max_length=10, default="policies")
    accepted = models.JSONField(null=True)
    accepted_hash = models.CharField(max_length=64, blank=True, default="")
    accepted_by = models.CharField(max_length=200, blank=True, default="")
    listed = models.JSONField()
    listed_hash = models.CharField(max_length=64)
    listed_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_mcp_tool"
        verbose_name = "MCP tool"
        constraints = (
            models.UniqueConstraint(fields=("server", "name"), name="gp_mcp_tool_name"),
            models.CheckConstraint(condition=models.Q(mode__in=MODES), name="gp_mcp_tool_mode"),
        )

    def __str__(self) -> str:
        return self.name


class SavedView(models.Model):
    """A page under a name, of the person who saved it; the workspace sees one that is shared.

    `address` is what stands behind the `?` of the page that `surface` names.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    owner = models.CharField(max_length=200, help_text="a person, such as user:7")
    name = models.CharField(max_length=60)
    surface = models.CharField(max_length=20, db_default="board")
    address = models.TextField()
    shared = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_saved_view"
        verbose_name = "saved view"
        constraints = (
            models.UniqueConstraint(
                fields=("workspace_id", "owner", "name"), name="gp_saved_view_name"
            ),
            models.CheckConstraint(
                condition=models.Q(surface__in=("board", "records")), name="gp_saved_view_surface"
            ),
        )

    def __str__(self) -> str:
        return self.name
