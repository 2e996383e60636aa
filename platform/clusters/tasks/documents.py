"""Workers know the steps of documents because this is imported with all tasks."""

from clusters.actions import document_steps

__all__ = ["document_steps"]
