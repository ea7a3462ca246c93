"""Addresses of chat services that speak another protocol than the interface's.

A request in the interface's form would get an error there, or be read as something else. Most of
these services have a compatible address besides, which is named.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from chatmagic.errors import InputError
from chatmagic.protocol.url import (
    DEFAULT_PORTS,
    is_loopback,
    origin,
    origin_or_none,
    path_of,
    shown_place,
)

_VERSION: Final = r"/v\d+(?:\.\d+)?(?:(?:alpha|beta)\d*)?"


@dataclass(frozen=True, slots=True)
class OtherProtocol:
    """A protocol, and the addresses by which it is known.

    Args:
        name: its name, with its owner.
        hosts: pattern of the host.
        paths: pattern of the whole path, without a slash at its end.
        compatible: template of the compatible address, with the ``origin`` and the path ``before``
            the protocol's own part.
        is_local: whether it is known on this machine alone.
    """

    name: str
    hosts: str
    paths: str
    compatible: str
    is_local: bool = False


_ANY: Final = r".*"
_SAME: Final = "{origin}{before}"
OTHER_PROTOCOLS: Final = (
    # ai.google.dev/gemini-api/docs/openai: the compatible paths end in "openai" after the version.
    OtherProtocol(
        "Google's Gemini API",
        r"generativelanguage\.googleapis\.com",
        rf"(?!{_VERSION}/openai(?:/chat/completions)?\Z).*",
        "https://generativelanguage.googleapis.com/v1beta/openai",
    ),
    # learn.microsoft.com/azure/foundry/openai/api-version-lifecycle: from August 2025 on, "v1" has
    # no deployment in its path, and takes its name as the model.
    OtherProtocol(
        "Azure's API of deployments",
        r".+\.(?:openai\.azure\.com|cognitiveservices\.azure\.com|services\.ai\.azure\.com)",
        r"(?!/openai/v1(?:/chat/completions|/responses)?\Z).*",
        "{origin}/openai/v1",
    ),
    # developers.openai.com/api/reference: each is a path of its own after the version.
    OtherProtocol(
        "OpenAI's Responses API", _ANY, rf"(?P<before>.*{_VERSION})/responses(?:/.*)?", _SAME
    ),
    OtherProtocol(
        "OpenAI's older Completions API", _ANY, rf"(?P<before>.*{_VERSION})/completions", _SAME
    ),
    OtherProtocol("an API of embeddings", _ANY, rf"(?P<before>.*{_VERSION})/embeddings", _SAME),
    # platform.claude.com/docs/en/cli-sdks-libraries/libraries/openai-sdk
    OtherProtocol(
        "Anthropic's Messages API",
        _ANY,
        rf"(?P<before>.*{_VERSION})/(?:messages(?:/.*)?|complete)",
        _SAME,
    ),
    # api-docs.deepseek.com has it below this name, beside the compatible address.
    OtherProtocol(
        "Anthropic's Messages API", _ANY, rf"(?P<before>.*)/anthropic(?:{_VERSION})?", _SAME
    ),
    # docs.ollama.com/api: the compatible paths begin with a version instead.
    OtherProtocol(
        "Ollama's own API",
        _ANY,
        r"(?P<before>)/api(?:/(?:chat|generate|tags))?",
        _SAME,
        is_local=True,
    ),
)


def other_protocol(base_url: str) -> tuple[OtherProtocol, str] | None:
    """Return the protocol of an address that is known to speak another one, or ``None``.

    Args:
        base_url: the address, as typed; for another text there is none.

    Returns:
        The protocol, and the compatible address, with no possible key in it.
    """
    # Such an address is copied with its query, which may hold a key.
    base_url = re.split(r"[?#]", base_url.strip(), maxsplit=1)[0]
    if origin_or_none(base_url) is None:
        return None
    parts = urlsplit(origin(base_url))
    at = f"{parts.scheme}://{parts.netloc}".removesuffix(f":{DEFAULT_PORTS[parts.scheme]}")
    path = path_of(base_url)
    for protocol in OTHER_PROTOCOLS:
        match = re.fullmatch(f"(?i:{protocol.paths})", path)
        is_there = is_loopback(base_url) or not protocol.is_local
        if match is None or not is_there or not re.fullmatch(protocol.hosts, parts.hostname or ""):
            continue
        before = match.groupdict().get("before", "")
        return protocol, shown_place(protocol.compatible.format(origin=at, before=before))
    return None


def refuse_other_protocol(base_url: str) -> None:
    """Raise an error for an address that is known to speak another protocol.

    Args:
        base_url: the address, as typed.

    Raises:
        InputError: it is one; the hint names the compatible address.
    """
    known = other_protocol(base_url)
    if known is None:
        return
    protocol, compatible = known
    raise InputError(
        f"This is an address of {protocol.name}, which chatmagic does not speak. Nothing was sent.",
        hint=f"The address that is compatible with OpenAI's Chat Completions: {compatible}",
    )
