"""Which content a browser may load and run on our pages; part of the settings."""

from __future__ import annotations

from typing import Final

from django.utils.csp import CSP

PAGE_POLICY: Final = {
    "default-src": [CSP.SELF],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "connect-src": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
    "object-src": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "form-action": [CSP.SELF],
    "report-uri": ["/page-policy/violations/"],
}
