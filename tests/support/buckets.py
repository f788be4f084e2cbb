"""Servers of S3 for tests, and a proxy before one that breaks what passes."""

from __future__ import annotations

import http.client
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from django.conf import settings
from django.test import override_settings
from moto.server import ThreadedMotoServer

from dashboard.configuration import storage

KEY, SECRET = "gatepost", "gatepost-files-1"
BUCKET, PREFIX = "gatepost-test", "team/"
READY_SECONDS = 40.0


@contextmanager
def moto() -> Iterator[str]:
    """The address of a server that plays S3; all of a process have the same buckets."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


@contextmanager
def seaweedfs(folder: Path) -> Iterator[str]:
    """The address of a SeaweedFS with its own folder: master, volume, filer and gateway in one."""
    ports = _free_ports(8)
    names = ("master.port", "master.port.grpc", "volume.port", "volume.port.grpc")
    names += ("filer.port", "filer.port.grpc", "s3.port", "s3.port.grpc")
    command = [str(Path(sys.executable).with_name("weed")), "server", f"-dir={folder}"]
    command += ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3", "-master.telemetry=false"]
    command += ["-volume.max=64", "-master.volumeSizeLimitMB=64"]
    command += [f"-{name}={port}" for name, port in zip(names, ports, strict=True)]
    environment = os.environ | {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
    log = (folder / "log").open("wb")
    process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=environment)
    url = f"http://127.0.0.1:{ports[6]}"
    try:
        _wait(url, process)
        yield url
    finally:
        process.kill()
        process.wait()
        log.close()


def _free_ports(n: int) -> list[int]:
    taken = [socket.socket() for _ in range(n)]
    for one in taken:
        one.bind(("127.0.0.1", 0))
    ports: list[int] = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a bucket can be written: the gateway answers before its volumes do."""
    until = time.monotonic() + READY_SECONDS
    while True:
        assert process.poll() is None, "the server has ended"
        try:
            bare = client(url)
            bare.create_bucket(Bucket="first")
            bare.put_object(Bucket="first", Key="one", Body=b"1")
            return
        except Exception:
            if time.monotonic() > until:
                raise
            time.sleep(0.3)


def client(url: str) -> Any:
    """A client of the server, that tries nothing twice."""
    return boto3.client(
        "s3",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
        config=Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}),
    )


def new_bucket(url: str) -> dict[str, str]:
    """A bucket on this server; the environment of processes that keep their files in it."""
    client(url).create_bucket(Bucket=BUCKET)
    return {
        "GATEPOST_STORAGE": f"s3://{BUCKET}/{PREFIX.rstrip('/')}?endpoint={url}",
        "GATEPOST_STORAGE_KEY": KEY,
        "GATEPOST_STORAGE_SECRET": SECRET,
    }


@contextmanager
def files_on(url: str) -> Iterator[dict[str, str]]:
    """Keep files in a new bucket of this server; gives the environment for other processes."""
    environment = new_bucket(url)
    here = storage.files(environment["GATEPOST_STORAGE"], key=KEY, secret=SECRET)
    with override_settings(STORAGES={**settings.STORAGES, "default": here}):
        yield environment


@dataclass
class Fault:
    """What happens to the next `times` requests whose line matches: METHOD /bucket/key?query."""

    how: str  # 503, slow, cut, cut_upload, wrong
    of: str
    times: int = 1
    seen: int = 0


@dataclass
class FaultyServer:
    """A proxy before a server; `faults` are used up as requests meet them."""

    url: str
    faults: list[Fault] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def fail(self, how: str, of: str, times: int = 1) -> Fault:
        """Break the next requests that match."""
        fault = Fault(how, of, times)
        self.faults.append(fault)
        return fault

    def next_fault(self, line: str) -> str:
        """The fault that a request meets, "" for none."""
        self.requests.append(line)
        for fault in self.faults:
            if fault.seen < fault.times and re.search(fault.of, line):
                fault.seen += 1
                return fault.how
        return ""


SLOW_SECONDS = 3.0


@contextmanager
def faulty(target: str) -> Iterator[FaultyServer]:
    """A proxy that hands requests on as they are, but for the faults it is told."""
    state = FaultyServer("")
    host, port = urlsplit(target).hostname, urlsplit(target).port

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            return

        def _pass(self) -> None:
            how = state.next_fault(f"{self.command} {self.path}")
            size = int(self.headers.get("Content-Length") or 0)
            if self.headers.get("Expect", "").lower() == "100-continue":
                self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            if how == "cut_upload":
                self.rfile.read(size // 2)
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            body = self.rfile.read(size)
            if how == "slow":
                time.sleep(SLOW_SECONDS)
            if how == "503":
                text = b"<Error><Code>SlowDown</Code><Message>later</Message></Error>"
                self._answer(503, [("Content-Type", "application/xml")], text)
                return
            with closing(http.client.HTTPConnection(str(host), port, timeout=60)) as behind:
                behind.putrequest(
                    self.command, self.path, skip_host=True, skip_accept_encoding=True
                )
                for name, value in self.headers.items():
                    if name.lower() not in ("connection", "expect"):
                        behind.putheader(name, value)
                behind.endheaders(body)
                answer = behind.getresponse()
                raw = answer.read()
                headers = answer.getheaders()
            if how == "wrong" and raw:
                raw = bytes([raw[0] ^ 1]) + raw[1:]
            self._answer(answer.status, headers, raw, cut=how == "cut")

        def _answer(
            self, status: int, headers: list[tuple[str, str]], raw: bytes, *, cut: bool = False
        ) -> None:
            self.send_response_only(status)
            length = {n.lower(): v for n, v in headers}.get("content-length", str(len(raw)))
            for name, value in headers:
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header("Content-Length", length if self.command == "HEAD" else str(len(raw)))
            self.end_headers()
            if cut:
                self.wfile.write(raw[: len(raw) // 2])
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
            elif self.command != "HEAD":
                self.wfile.write(raw)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            return  # a client that gave up

    server = Server(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
