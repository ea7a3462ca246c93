"""A model of the Llama family with random weights, small enough to be made for one test."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

WIDTH: Final = 32
INNER: Final = 64
CONTEXT: Final = 512
SPECIAL: Final = (b"<unk>", b"<s>", b"</s>")
PRINTABLE: Final = range(0x20, 0x7F)


def write(path: Path, gguf: Any, numpy: Any) -> None:
    """Write the model; it says printable characters, and comes to no end by itself.

    Args:
        path: the file.
        gguf: the package of llama.cpp that writes such files.
        numpy: numpy.
    """
    tokens = [*SPECIAL, *(b"<0x%02X>" % byte for byte in range(256))]
    kind = gguf.TokenType
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([kind.UNKNOWN, kind.CONTROL, kind.CONTROL, *[kind.BYTE] * 256])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    random = numpy.random.default_rng(0)

    def weights(*shape: int) -> Any:
        return random.normal(size=shape).astype(numpy.float32)

    said = numpy.zeros((len(tokens), WIDTH), numpy.float32)
    said[[len(SPECIAL) + byte for byte in PRINTABLE]] = weights(len(PRINTABLE), WIDTH)
    tensors = {
        "token_embd": weights(len(tokens), WIDTH),
        "output": said,
        "output_norm": numpy.ones(WIDTH, numpy.float32),
        "blk.0.attn_norm": numpy.ones(WIDTH, numpy.float32),
        "blk.0.ffn_norm": numpy.ones(WIDTH, numpy.float32),
        **{f"blk.0.attn_{name}": weights(WIDTH, WIDTH) for name in ("q", "k", "v", "output")},
        "blk.0.ffn_gate": weights(INNER, WIDTH),
        "blk.0.ffn_up": weights(INNER, WIDTH),
        "blk.0.ffn_down": weights(WIDTH, INNER),
    }
    for name, values in tensors.items():
        writer.add_tensor(f"{name}.weight", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
