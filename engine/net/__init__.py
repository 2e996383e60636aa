"""Sockets and frames on asyncio. Knows how commands travel, not what they mean."""
