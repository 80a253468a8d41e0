"""Offers the files of a workspace as doors list, read and write them."""

from gristmill.session.files.workspace_files import FileContent, FileEntry, WorkspaceFiles

__all__ = ["FileContent", "FileEntry", "WorkspaceFiles"]
