"""Static files in tests: served as ever, looked for once."""

from typing import Any, ClassVar

from servestatic.middleware import ServeStaticMiddleware


class LooksOnce(ServeStaticMiddleware):
    """The product's middleware; what its look at all files found is kept for the next one.

    A server loads its middleware once, but each test client anew, and the look takes 0.1 s.
    """

    found: ClassVar[dict[str, Any]] = {}

    def add_files_from_finders(self) -> None:
        if not self.found:
            super().add_files_from_finders()
            self.found.update(files=self.files, directories=self.directories)
        self.files = dict(self.found["files"])
        self.directories = list(self.found["directories"])
