"""A real local model: random weights in a GGUF of 140 KB, and llama.cpp that serves it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAME = "random-weights"
WIDTH, HIDDEN, HEADS = 32, 64, 2
CONTEXT = 2048
SPECIAL = [b"<unk>", b"<s>", b"</s>"]
BYTES = [f"<0x{byte:02X}>".encode() for byte in range(256)]
# What it says: visible ASCII and the sign for a space.
TEXTS = [bytes([byte]) for byte in range(33, 127)] + ["▁".encode()]


def write_model(path: Path) -> None:
    """Write a model of one layer; the same weights each time."""
    import numpy as np
    from gguf import GGUFWriter, TokenType

    random = np.random.default_rng(7)
    tokens = SPECIAL + BYTES + TEXTS

    def weights(*shape: int) -> np.ndarray:
        return random.standard_normal(shape).astype(np.float32) / 2

    ones = np.ones(WIDTH, np.float32)
    output = weights(len(tokens), WIDTH)
    output[: -len(TEXTS)] = 0  # it never ends by itself and says no half characters
    tensors = {"token_embd": weights(len(tokens), WIDTH), "output_norm": ones, "output": output}
    layer = {"attn_norm": ones, "ffn_norm": ones, "ffn_down": weights(WIDTH, HIDDEN)}
    layer |= {f"attn_{name}": weights(WIDTH, WIDTH) for name in ("q", "k", "v", "output")}
    layer |= {f"ffn_{name}": weights(HIDDEN, WIDTH) for name in ("gate", "up")}
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    kinds = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL]
    writer.add_token_types([*kinds, *[TokenType.BYTE] * 256, *[TokenType.NORMAL] * len(TEXTS)])
    writer.add_chat_template("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")
    for name, tensor in tensors.items():
        writer.add_tensor(f"{name}.weight", tensor)
    for name, tensor in layer.items():
        writer.add_tensor(f"blk.0.{name}.weight", tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@contextmanager
def serving_local_model(folder: Path) -> Iterator[str]:
    """The address of llama.cpp with this model, such as http://127.0.0.1:40123/v1."""
    with (
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.unit.workers.language.local_model",
                folder / "model.gguf",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            address = next((line for line in process.stdout if line.startswith("http:")), "")
            assert address, process.wait(10)
            yield f"{address.strip()}/v1"
        finally:
            process.kill()


def main(path: Path) -> None:
    import xllamacpp

    write_model(path)
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {NAME}
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_ctx, params.n_parallel, params.cpuparams.n_threads = CONTEXT, 1, 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
