"""Every form says which workspace its page showed: the tag `csrf_token` of all templates."""

from __future__ import annotations

from typing import Any

from django import template
from django.template.defaulttags import CsrfTokenNode
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dashboard.identity.page_workspace import FIELD, workspace_of

register = template.Library()


class FormNode(CsrfTokenNode):
    """Django's hidden input, and one beside it with the workspace that the page acts in."""

    def render(self, context: Any) -> SafeString:
        """Without the second for strangers, who act in none."""
        html = SafeString(super().render(context))
        workspace = workspace_of(context.get("request"))
        if workspace is None:
            return html
        return html + format_html('<input type="hidden" name="{}" value="{}">', FIELD, workspace)


@register.tag
def csrf_token(_parser: Any, _token: Any) -> FormNode:
    """`{% csrf_token %}`."""
    return FormNode()
