"""Static files in tests: served as ever, looked for once."""

from typing import ClassVar

from servestatic.middleware import ServeStaticMiddleware

from dashboard.http.middleware import Static


class LooksOnce(Static):
    """The product's middleware; what its look at all files found is kept for the next one.

    A server loads its middleware once, but each test client anew, and the look takes 0.1 s.
    """

    loaded: ClassVar[list[ServeStaticMiddleware]] = []

    def look(self) -> ServeStaticMiddleware:
        if not self.loaded:
            self.loaded.append(super().look())
        return self.loaded[0]
