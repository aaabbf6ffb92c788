"""Other encodings of a message: its fields in another order, messages in parts, unknown fields between them."""

from __future__ import annotations

from random import Random

from google.protobuf.message import Message

from absint.model.wire.fields import GROUP, GROUP_END, VARINT, delimited, encoded

UNKNOWN = 1_000
"""A field number that onnx does not use."""


def scrambled(message: Message, random: Random) -> bytes:
    """Bytes that protobuf parses into the message, but for unknown fields."""
    return b"".join(_chunks(message, random))


def _chunks(message: Message, random: Random) -> list[bytes]:
    queues: list[list[bytes]] = []
    for field, value in message.ListFields():
        if field.message_type is None:
            alone = type(message)()
            if field.is_repeated:
                getattr(alone, field.name).extend(value)
            else:
                setattr(alone, field.name, value)
            queues.append([alone.SerializeToString()])
        elif field.is_repeated:
            queues.append([delimited(field.number, scrambled(item, random)) for item in value])
        else:
            parts = _chunks(value, random)
            cut = random.randint(0, len(parts)) if random.random() < 0.5 else 0
            contents = [b"".join(parts[:cut]), b"".join(parts[cut:])] if cut else [b"".join(parts)]
            queues.append([delimited(field.number, content) for content in contents])
    queues += [[_unknown(random)] for _ in range(random.choice([0, 0, 1, 2]))]
    made = []
    while queues:
        queue = random.choice(queues)
        made.append(queue.pop(0))
        if not queue:
            queues.remove(queue)
    return made


def _unknown(random: Random) -> bytes:
    number = UNKNOWN + random.randrange(3)
    inner = encoded(number << 3 | VARINT) + random.choice([b"\x07", b"\x87\x80\x00"])
    return random.choice([
        inner,
        delimited(number, inner),
        encoded(number << 3 | GROUP) + inner + encoded(number << 3 | GROUP_END),
    ])  # fmt: skip
