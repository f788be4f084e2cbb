"""Django's templates, whose contexts are freed with the request that rendered them."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.template import TemplateDoesNotExist
from django.template.backends import django as backend
from django.template.context import make_context
from django.utils.safestring import SafeString


class Template(backend.Template):
    """A template that empties its context once it is rendered."""

    def render(
        self, context: dict[str, Any] | None = None, request: HttpRequest | None = None
    ) -> SafeString:
        """Render with a context of its own; `context` itself stays as it is."""
        own = make_context(context, request, autoescape=self.backend.engine.autoescape)
        try:
            result: SafeString = self.template.render(own)
        except TemplateDoesNotExist as error:
            backend.reraise(error, self.backend)
            raise
        finally:
            # Each layer of a context refers to the context: with a state of megabytes in it,
            # such a cycle would stay in memory until the garbage collector comes by.
            own.dicts.clear()
        return result


class FreedTemplates(backend.DjangoTemplates):
    """Django's backend with templates that keep nothing of what they have rendered."""

    def from_string(self, template_code: str) -> Template:
        """Compile a template from its text."""
        return Template(self.engine.from_string(template_code), self)

    def get_template(self, template_name: str) -> Template:
        """Load a template, or one of its partials by `name#partial`."""
        return Template(super().get_template(template_name).template, self)
