"""SCIM 2.0 (RFC 7643, 7644): the calls of a directory that keeps people and groups here."""
