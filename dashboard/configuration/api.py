"""REST framework, the OpenAPI document and the loaders of templates; parts of the settings."""

# Templates of long pages without their indentation, each read once.
LOADERS = (
    "dashboard.http.compact_templates.Loader",
    "django.template.loaders.app_directories.Loader",
)

REST_FRAMEWORK = {
    # The first one answers 401 where both find nobody.
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "dashboard.kit.api.authentication.TokenAuthentication",
        "dashboard.kit.api.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["dashboard.kit.api.parsers.StrictJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "dashboard.kit.api.openapi.Described",
    "EXCEPTION_HANDLER": "dashboard.kit.shapes.problems.handler",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Gatepost API",
    "DESCRIPTION": (
        "The control room for AI agents: threads, checkpoints, approvals. No text holds a NUL "
        "character; an integer beyond 2^53, or a fraction with more digits than a double keeps, is "
        "sent as text. A whole number may be written 3.0. New names of agents, nodes, tools, keys "
        "and saved views are visible text of one script, in the form NFC, without outer blanks."
    ),
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "SCHEMA_PATH_PREFIX": "/api/v1",
    # Fields of one name with several sets of choices.
    "ENUM_NAME_OVERRIDES": {
        "PolicyActionEnum": ["ask", "allow", "block"],
        "ErasureScopeEnum": ["thread", "family"],
        "ModeEnum": ["policies", "ask", "refuse"],
    },
    # No online validator: the schema stays here.
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "validatorUrl": None},
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}
