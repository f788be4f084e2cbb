"""`python tls.py PORT TARGET CERTIFICATE`: TLS in front of a server that speaks none.

The Valkey of the wheel is built without it.
"""

from __future__ import annotations

import asyncio
import ssl
import sys


async def main(port: int, target: int, certificate: str) -> None:
    """Pass bytes both ways until one side closes."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, f"{certificate}.key")

    async def passing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            inner, outer = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(passing(reader, outer), passing(inner, writer))

    server = await asyncio.start_server(client, "127.0.0.1", port, ssl=context)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
