"""Puts a commit log together from the options of its store. Nothing is opened yet."""

from __future__ import annotations

from engine.store.log.commit_log import CommitLog
from engine.store.log.mapped_files import MappedFiles
from engine.store.log.next_segment import NextSegment
from engine.store.log.transient_pool import TransientPool
from engine.store.options import StoreOptions


def open_log(options: StoreOptions) -> CommitLog:
    size = options.mapped_file_size_commit_log
    files = MappedFiles(options.commit_log_path, size, options.max_mapped_segments)
    pool = TransientPool(size) if options.transient_store_pool_enable else None
    return CommitLog(files, NextSegment(options.commit_log_path, size, options.pretouch_bytes), pool)
