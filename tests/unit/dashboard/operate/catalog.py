"""The schema of a database as PostgreSQL's catalogue describes it, for comparing two."""

from __future__ import annotations

import re

from django.db import connection

# A restored dump spells the cast of a list item by item: (ARRAY[a, b])::text[], ARRAY[(a)::text ...
CASTS = re.compile(r"::character varying|::text(\[\])?|[()]")
RESPELT = {"constraints", "indexes", "triggers"}
# Each gives rows of text; the order of a table's columns is left out on purpose.
QUERIES = {
    "relations": """
        SELECT relname, relkind, relpersistence, relrowsecurity, reloptions::text
        FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind <> 'i'""",
    "columns": """
        SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
          a.attidentity, a.attgenerated, a.attstorage, a.attstattarget, a.attoptions::text,
          pg_get_expr(d.adbin, d.adrelid), a.attcollation::regcollation::text
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v')
          AND a.attnum > 0 AND NOT a.attisdropped""",
    "sequences": """
        SELECT s.seqrelid::regclass::text, s.seqtypid::regtype::text, s.seqstart, s.seqincrement,
          s.seqmin, s.seqmax, s.seqcycle, d.refobjid::regclass::text
        FROM pg_sequence s LEFT JOIN pg_depend d
          ON d.objid = s.seqrelid AND d.deptype IN ('a', 'i')""",
    # The kinds of activities were widened without reading the rows of before again.
    "constraints": """
        SELECT coalesce(nullif(conrelid, 0)::regclass::text, contypid::regtype::text), conname,
          contype, condeferrable, condeferred,
          CASE WHEN conname = 'gp_activity_kind'
            THEN replace(pg_get_constraintdef(oid), ' NOT VALID', '')
            ELSE pg_get_constraintdef(oid) END
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace""",
    "indexes": """
        SELECT indrelid::regclass::text, pg_get_indexdef(indexrelid), indisvalid, indisready
        FROM pg_index JOIN pg_class c ON c.oid = indexrelid
        WHERE c.relnamespace = 'public'::regnamespace""",
    "functions": """
        SELECT oid::regprocedure::text, pg_get_functiondef(oid)
        FROM pg_proc WHERE pronamespace = 'public'::regnamespace""",
    "triggers": """
        SELECT tgrelid::regclass::text, pg_get_triggerdef(oid), tgenabled
        FROM pg_trigger WHERE NOT tgisinternal""",
    "rules": """
        SELECT ev_class::regclass::text, pg_get_ruledef(oid)
        FROM pg_rewrite WHERE ev_class >= 16384""",
    "domains": """
        SELECT typname, format_type(typbasetype, typtypmod), typnotnull, typdefault
        FROM pg_type WHERE typnamespace = 'public'::regnamespace AND typtype = 'd'""",
    "statistics": "SELECT pg_get_statisticsobjdef(oid) FROM pg_statistic_ext",
    "comments": """
        SELECT pg_describe_object(classoid, objoid, objsubid), description
        FROM pg_description WHERE objoid >= 16384""",
    "privileges": """
        SELECT pg_describe_object(o.class, o.oid, 0), a.grantor::regrole::text,
          coalesce(nullif(a.grantee, 0)::regrole::text, 'PUBLIC'), a.privilege_type, a.is_grantable
        FROM (SELECT 'pg_class'::regclass AS class, oid, relacl AS acl FROM pg_class
              WHERE relnamespace = 'public'::regnamespace
              UNION ALL SELECT 'pg_proc'::regclass, oid, proacl FROM pg_proc
              WHERE pronamespace = 'public'::regnamespace
              UNION ALL SELECT 'pg_type'::regclass, oid, typacl FROM pg_type
              WHERE typnamespace = 'public'::regnamespace
              UNION ALL SELECT 'pg_namespace'::regclass, oid, nspacl FROM pg_namespace
              WHERE nspname = 'public') o, aclexplode(o.acl) a""",
    "default privileges": """
        SELECT defaclrole::regrole::text, defaclobjtype, a.grantee::regrole::text, a.privilege_type
        FROM pg_default_acl, aclexplode(defaclacl) a""",
}
type Catalog = dict[str, list[tuple[str, ...]]]


def read_catalog() -> Catalog:
    """Describe the schema of the current database: {what: sorted rows}."""
    with connection.cursor() as cursor:
        described = {}
        for what, query in QUERIES.items():
            cursor.execute(query)
            lines = cursor.fetchall()
            described[what] = sorted(
                tuple(_spell(what, str(cell)) for cell in row) for row in lines
            )
        return described


def differences(one: Catalog, other: Catalog) -> dict[str, list[tuple[str, ...]]]:
    """List the rows that only one of two catalogues has; {} where they are equal."""
    return {what: rows for what in QUERIES if (rows := sorted(set(one[what]) ^ set(other[what])))}


def _spell(what: str, text: str) -> str:
    return CASTS.sub("", text) if what in RESPELT else text
