"""The recording of an utterance: a file of the workspace, and its words where a server hears."""

from __future__ import annotations

import mimetypes
import re
from dataclasses import dataclass, field
from typing import Any, Final

from django.conf import settings

from checkpoints import store
from dashboard.errors import Conflict, Invalid, translated
from dashboard.identity.permissions import Actor
from workers.language.transcription import NotTranscribed, is_configured, transcribe

# Such as `audio/webm;codecs=opus`: what browsers record.
_MEDIA_TYPE: Final = re.compile(r"(audio/[a-z0-9.+-]{1,40})(;[ -~]{0,100})?")
_EXTENSIONS: Final = {"audio/webm": ".webm", "audio/mp4": ".m4a", "audio/ogg": ".ogg"}


@dataclass(slots=True)
class Recording:
    """A recording that is being sent."""

    number: int
    media_type: str
    chunks: list[bytes] = field(default_factory=list)
    size: int = 0

    @classmethod
    def begin(cls, number: int, media_type: Any) -> Recording:
        """A recording without content; raises Invalid for what is no audio."""
        match = _MEDIA_TYPE.fullmatch(media_type) if isinstance(media_type, str) else None
        if match is None:
            raise Invalid("$.media_type", "must be a type of audio, such as audio/webm")
        return cls(number, match[1])

    def add(self, chunk: bytes) -> None:
        """Add the next bytes; raises Invalid beyond the limit."""
        self.size += len(chunk)
        limit = settings.GATEPOST_RECORDING_BYTES
        if self.size > limit:
            raise Invalid("$", f"is a recording of more than {limit:,} bytes")
        self.chunks.append(chunk)

    @translated()
    def finish(self, actor: Actor, text: str) -> tuple[str, dict[str, Any]]:
        """(the words, the reference of the file); a server hears the words where none are typed."""
        if not self.size:
            raise Invalid("$", "is a recording without content")
        suffix = _EXTENSIONS.get(self.media_type) or mimetypes.guess_extension(self.media_type)
        name = f"utterance-{self.number}{suffix or '.audio'}"
        audio = store.put_artifact(
            actor.workspace, name=name, media_type=self.media_type, chunks=self.chunks
        )
        if text.strip():
            return text, audio
        if not is_configured():
            raise Invalid("$.text", "is required: nothing here turns speech into text")
        try:
            words = transcribe(b"".join(self.chunks), name=name, media_type=self.media_type)
        except NotTranscribed as error:
            raise Conflict(f"{error} Type the words.") from error
        if not words:
            raise Invalid("$.text", "is required: no words were heard")
        return words, audio
