"""Whether a group pulls or pops a topic (401, 402), kept in config/messageRequestMode.json. Pure."""

from __future__ import annotations

from engine.protocol.bodies.groups import MessageRequestModeSerializeWrapper, SetMessageRequestModeRequestBody
from engine.protocol.names import is_valid_group, is_valid_topic

REQUEST_MODES_FILE = "messageRequestMode.json"


class RequestModes:
    def __init__(self, stored: MessageRequestModeSerializeWrapper | None = None) -> None:
        self._modes: dict[str, dict[str, SetMessageRequestModeRequestBody]] = {}
        self.adopt(stored)

    def adopt(self, stored: MessageRequestModeSerializeWrapper | None) -> None:
        """Also what a slave takes from its master."""
        self._modes = {}
        for topic, groups in (
            stored or MessageRequestModeSerializeWrapper()
        ).message_request_mode_map.items():
            for group, mode in groups.items():
                if is_valid_topic(topic) and is_valid_group(group):
                    self._modes.setdefault(topic, {})[group] = mode

    def get(self, topic: str, group: str) -> SetMessageRequestModeRequestBody | None:
        return self._modes.get(topic, {}).get(group)

    def put(self, mode: SetMessageRequestModeRequestBody) -> None:
        self._modes.setdefault(mode.topic, {})[mode.consumer_group] = mode

    def snapshot(self) -> MessageRequestModeSerializeWrapper:
        """What the file holds, and the answer to 402."""
        return MessageRequestModeSerializeWrapper(
            {topic: dict(modes) for topic, modes in self._modes.items()}
        )
