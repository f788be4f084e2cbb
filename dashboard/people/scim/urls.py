"""Addresses of SCIM, with and without a slash at the end."""

from __future__ import annotations

from django.urls import re_path

from .base import Nowhere
from .discovery import ResourceTypes, Schemas, ServiceProviderConfig
from .groups import Groups, OneGroup
from .users import OneUser, Users

app_name = "scim"
urlpatterns = [
    re_path(r"^Users/?$", Users.as_view(), name="users"),
    re_path(r"^Users/(?P<ident>[^/]{1,64})/?$", OneUser.as_view(), name="user"),
    re_path(r"^Groups/?$", Groups.as_view(), name="groups"),
    re_path(r"^Groups/(?P<ident>[^/]{1,64})/?$", OneGroup.as_view(), name="group"),
    re_path(r"^ServiceProviderConfig/?$", ServiceProviderConfig.as_view(), name="config"),
    re_path(r"^ResourceTypes/?$", ResourceTypes.as_view(), name="resource_types"),
    re_path(r"^Schemas/?$", Schemas.as_view(), name="schemas"),
    re_path(r"^", Nowhere.as_view()),
]
