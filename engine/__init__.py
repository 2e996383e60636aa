"""Signalbox engine: a RocketMQ-compatible name server, broker, store and client. No Django here."""
