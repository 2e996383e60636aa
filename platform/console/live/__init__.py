"""Websockets: the only consumers of channels, fed by events that apps publish through console.core.events."""
