"""Where large values of a state live: in the database or in files, one small interface."""

from .base import Payloads
from .disk import on_disk, store_file
from .files import FilePayloads, thread_folder
from .placement import LEAST, fetched, kind_of, moved_out, of_kind
from .verified import copied, opened, prove
