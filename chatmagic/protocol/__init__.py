"""The service's interface as pure functions: bytes to events to values, headers to credits.

Nothing here uses a clock, a disk, the environment, the network or a thread.

``to_json`` of a value gives JSON-ready data. ``from_json`` reads it and raises :exc:`ValueError`,
never anything else.

The code relies on these facts of the interface, and cites them as "(fact 7)". No code may rely on
anything that the interface does not show.

 1. *One operation*: a POST of a JSON body to ``BASE/v1/chat/completions`` asks for the next
    message of a conversation. Not shown: any other operation; how long ``v1`` stays.
 2. *Message*: ``role`` and ``content``, both strings; a person's role is ``user``, a model's
    ``assistant``. Not shown: other roles.
 3. *Request*: ``messages`` (oldest first), ``stream``, ``max_tokens``, ``temperature``. Not shown:
    which fields are optional, their defaults, their bounds, the number of messages that a request
    may carry; no field names a model.
 4. *Reply in one piece*, if ``stream`` is not true: ``model``, ``usage``, and ``choices``, each
    with a ``message`` and a ``finish_reason``, ``stop`` after a normal end. Not shown: the names of
    models; other reasons.
 5. *Usage*: ``prompt_tokens``, ``completion_tokens``, ``total_tokens``, whole numbers.
 6. *Reply as a stream*, if ``stream`` is true: Server-Sent Events, one line ``data: JSON`` each;
    the fragments of the text stand in ``choices[].delta.content`` and are joined in the order of
    arrival. Not shown: other fields of a chunk, so a stream may lack model, usage and finish
    reason.
 7. *End of a stream*: the line ``data: [DONE]``. A stream without it was cut off.
 8. *Status*: HTTP's own codes distinguish success from failure. An error's body is JSON with
    ``error``, a short name, and ``message``, an explanation. Not shown: the codes, and the bodies
    of errors other than fact 9.
 9. *Rate-limit error*: its body also has ``limit``, ``used`` (whole numbers) and ``resetAt`` (a
    time); it is returned when ``used`` has reached ``limit``. Not shown: its status.
10. *Credits*: each request uses some, and all keys of an account draw on one quota. The headers
    ``X-RateLimit-Limit``, ``X-RateLimit-Remaining`` (whole numbers) and ``X-RateLimit-Reset`` (a
    time) report the state. Not shown: the cost of a request; the size of a quota; whether errors
    have the headers, too. The quota is called monthly in one place and daily in another, so only
    the reset shows its period.
11. *Times* are ISO 8601 in UTC.
12. *Key*: an opaque string with a prefix of the service's own, made and revoked in the account's
    settings. Each request carries it in one of three ways: the header
    ``Authorization: Bearer KEY``, the header ``X-API-Key: KEY``, or the query parameter
    ``api_key``. Not shown: which one counts if there are several.
13. *Nothing else*: no message reaches a client outside the answer to its request, and a request
    leaves no state at the service. Neither is shown, so the code relies on neither.
"""
