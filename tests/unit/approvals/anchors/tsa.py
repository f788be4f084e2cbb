"""An authority of time stamps on loopback: `openssl ts` behind a few lines of HTTP."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

CONFIG = """
[req]
distinguished_name = dn
prompt = no
[dn]
CN = {name}
[ca_ext]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[tsa_ext]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
[tsa]
default_tsa = tsa_config
[tsa_config]
serial = {folder}/serial
signer_cert = {folder}/tsa.pem
signer_key = {folder}/tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha512
ordering = yes
tsa_name = yes
ess_cert_id_chain = no
ess_cert_id_alg = sha256
"""


@dataclass
class Authority:
    """Its port, its root certificate, and what is done to its answers."""

    port: int
    ca: Path
    spoil: str = ""

    def stamp(self, query: bytes) -> bytes:
        """The sound answer to a query, without HTTP."""
        folder = self.ca.parent
        (folder / "query.tsq").write_bytes(query)
        openssl("ts", "-reply", "-config", str(folder / "tsa.cnf"), "-queryfile",
                str(folder / "query.tsq"), "-out", str(folder / "reply.tsr"))  # fmt: skip
        return (folder / "reply.tsr").read_bytes()


def openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=30)


def make_authority(folder: Path) -> Path:
    """A root and a certificate that may stamp; the root's file."""
    folder.mkdir(exist_ok=True)
    (folder / "serial").write_text("01\n")
    for name in ("ca", "tsa"):
        (folder / f"{name}.cnf").write_text(CONFIG.format(name=f"Test {name}", folder=folder))
    ca, key, config = (str(folder / f"ca.{e}") for e in ("pem", "key", "cnf"))
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *new, "-keyout", key, "-out", ca, "-config", config,
            "-extensions", "ca_ext", "-days", "3650")  # fmt: skip
    tsa_key, request, config = (str(folder / f"tsa.{e}") for e in ("key", "csr", "cnf"))
    openssl("req", *new, "-keyout", tsa_key, "-out", request, "-config", config)
    openssl("x509", "-req", "-in", request, "-CA", ca, "-CAkey", key, "-set_serial", "2",
            "-days", "3650", "-extfile", config, "-extensions", "tsa_ext",
            "-out", str(folder / "tsa.pem"))  # fmt: skip
    return folder / "ca.pem"


@contextmanager
def authority(folder: Path) -> Iterator[Authority]:
    """A server that answers time stamp queries while the block lasts."""
    ca = make_authority(folder)
    made = Authority(0, ca)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            reply = made.stamp(self.rfile.read(int(self.headers["Content-Length"])))
            reply = (folder / made.spoil).read_bytes() if made.spoil else reply
            self.send_response(200)
            self.send_header("Content-Type", "application/timestamp-reply")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_args: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    made.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
