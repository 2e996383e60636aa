"""The shared fixtures of the platform."""

from tests.platform_fixtures import *  # noqa: F403
