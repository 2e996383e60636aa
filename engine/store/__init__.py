"""The files: commit log, consume queues, index, checkpoint. Synchronous, one writer, no sockets, no clock."""
