"""People, their sign-ins and tokens."""

from __future__ import annotations

from collections.abc import Callable

from tests.contract.example_calls import ADMIN, LOOKS, NO_TOKEN, WITHOUT_FACTOR, Call
from tests.contract.things import DEVICE, ISSUER, adding, code_of, linked, make_token
from tests.contract.world import World

EXAMPLES: dict[str, Callable[[World], Call]] = {
    "sign_ins_list": lambda w: Call(),
    "sign_ins_end": lambda w: Call({"sign_in_id": str(w.sign_in)}, body={}, reach=("operator",)),
    "sign_ins_end_others": lambda w: Call(body={}),
    "sign_ins_confirm": lambda w: Call(body={"password": "operator-password"}, reach=NO_TOKEN),
    "sign_ins_password": lambda w: Call(
        body={"password": "operator-password", "new_password": "another long pass word"},
        reach=NO_TOKEN,
    ),
    "second_factor_retrieve": lambda w: Call(),
    "second_factor_propose": lambda w: Call(body={}, who=WITHOUT_FACTOR, reach=NO_TOKEN),
    "second_factor_add": lambda w: Call(
        body=adding(w.cast, "manager"), status=201, who=WITHOUT_FACTOR, reach=NO_TOKEN
    ),
    "second_factor_remove": lambda w: Call(body={"code": code_of(w.factor)}, reach=NO_TOKEN),
    "second_factor_confirm": lambda w: Call(body={"code": code_of(w.factor)}, reach=NO_TOKEN),
    "passkeys_list": lambda w: Call(),
    "passkeys_remove": lambda w: Call(
        {"passkey_id": str(w.passkey)}, body={"password": "operator-password"}, reach=NO_TOKEN
    ),
    "users_second_factor_remove": lambda w: Call(
        {"user_id": str(w.cast.users["operator"].pk)}, body={}, who=ADMIN
    ),
    "workspace_retrieve": lambda w: Call(),
    "workspace_second_factor_retrieve": lambda w: Call(who=LOOKS),
    "workspace_second_factor_require": lambda w: Call(body={"roles": ["operator"]}, who=ADMIN),
    "workspace_rename": lambda w: Call(body={"name": "Payments"}, who=ADMIN),
    "tokens_list": lambda w: Call(who=LOOKS),
    "tokens_revoke": lambda w: Call({"prefix": make_token(w.cast, "operator")}, body={}, who=ADMIN),
    "users_password": lambda w: Call(
        {"user_id": str(w.cast.users["viewer"].pk)},
        body={"password": "a long pass word"},
        who=ADMIN,
    ),
    "users_sign_out": lambda w: Call(
        {"user_id": str(w.cast.users["operator"].pk)}, body={}, who=ADMIN
    ),
    "users_link": lambda w: Call(
        {"user_id": str(w.cast.users["viewer"].pk)},
        body={"subject": "00u1abcd", "issuer": ISSUER},
        who=ADMIN,
    ),
    "users_unlink": lambda w: Call(
        {"user_id": linked(w.cast, "viewer")}, body={"issuer": ISSUER}, who=ADMIN
    ),
    "devices_list": lambda w: Call(),
    "devices_add": lambda w: Call(
        body={"name": "phone", "address": "https://push.example/new", **DEVICE}, status=201
    ),
    "devices_remove": lambda w: Call({"device_id": str(w.device)}, body={}, reach=("operator",)),
    "caps_list": lambda w: Call(),
    "caps_set": lambda w: Call(
        body={"scope": "thread", "per": "day", "max_cost": "2.50"}, who=ADMIN, reach=NO_TOKEN
    ),
    "identities_list": lambda w: Call(),
    "identities_confirm": lambda w: Call({"identity_id": str(w.identity)}, body={}, reach=NO_TOKEN),
    "access_changes_list": lambda w: Call(who=LOOKS),
    "access_changes_confirm": lambda w: Call(
        {"change_id": str(w.access)}, body={}, who=ADMIN, reach=NO_TOKEN
    ),
    "access_changes_refuse": lambda w: Call(
        {"change_id": str(w.access)}, body={}, who=ADMIN, reach=NO_TOKEN
    ),
    "users_list": lambda w: Call(who=LOOKS),
    "users_make": lambda w: Call(
        body={"username": "ada", "roles": ["operator"]}, who=ADMIN, status=201
    ),
    "users_change": lambda w: Call(
        {"user_id": str(w.cast.users["operator"].pk)},
        body={"roles": ["operator", "viewer"]},
        who=ADMIN,
    ),
}
