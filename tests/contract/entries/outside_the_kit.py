"""Calls that change something and are written by hand, each with the reason; only ever fewer."""

from __future__ import annotations

from typing import Final

OUTSIDE: Final[dict[str, list[str]]] = {
    "A look that takes a body: it changes nothing and puts nothing on record.": ["policies_try"],
    "The owner of the machine ends any token without a login; a declared action needs a person.": [
        "tokens_revoke"
    ],
    "By a command a superuser reaches people of all workspaces, by a call only those of their own; "
    "a declared action has one reach.": [
        *("users_change", "users_link", "users_make", "users_password"),
        *("users_second_factor_remove", "users_sign_out", "users_unlink"),
    ],
    "One's own login: what they answer is shown once, or they need the session that asks.": [
        *("passkeys_remove", "second_factor_add", "second_factor_confirm"),
        *("second_factor_propose", "second_factor_remove", "sign_ins_confirm", "sign_ins_end"),
        *("sign_ins_end_others", "sign_ins_password"),
    ],
    "Agents that work elsewhere: a protocol under a lease, with no command and no page.": [
        *("external_ask", "external_begin", "external_check", "external_commit"),
        *("external_note", "external_record", "external_release", "external_renew"),
        *("external_settle", "external_take", "external_undo", "otlp_traces", "states_save"),
    ],
    "A browser registers itself for web push; no command can.": ["devices_add"],
    "Each verdict of its list is `approval.decide`, with a result of its own beside the others.": [
        "approvals_decide_many"
    ],
    "A file as a stream, not a body of JSON.": ["artifacts_upload"],
    "The plan is of the version that was looked at, and page and command ask about what it holds: "
    "effects that stay, values that change. The answer is 202 or 200 by what the plan undoes.": [
        *("threads_cancel", "threads_edit", "threads_roll_back"),
    ],
    "Another thread is answered, with its address: 201, or 200 where it is there already.": [
        *("threads_code", "threads_fork", "threads_start"),
    ],
    "It is `thread.signal`, for who knows the thread by its name only.": ["signals_send"],
    "One answer a thread, each in a transaction of its own; the choice decides the right.": [
        *("threads_code_many", "threads_many"),
    ],
    "Done anew each time, never answered from an Idempotency-Key: a kept verdict proves nothing, "
    "a kept value would be in plain.": ["threads_reveal", "threads_verify"],
}
