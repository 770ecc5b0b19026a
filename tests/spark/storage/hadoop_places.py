"""File systems of Hadoop that a test can have: folders of this machine under other schemes.

``viewfs:`` is Hadoop's mount table, whose renames are the local file system's. ``bucket:`` is the
same under a scheme that nobody knows, so what is published there goes the way of object stores.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

VIEWFS, BUCKET = "viewfs", "bucket"


def mounted(scheme: str, authority: str, folder: Path) -> dict[str, str]:
    """Settings of Hadoop under which ``SCHEME://AUTHORITY/data`` is the folder. An authority is
    known to a Java process from its first use on: each test has its own."""
    settings = {f"fs.viewfs.mounttable.{authority}.link./data": f"file://{folder}"}
    if scheme == BUCKET:
        views = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"
        local = "org.apache.hadoop.fs.LocalFileSystem"
        settings[f"fs.{BUCKET}.impl"] = views
        settings[f"fs.viewfs.overload.scheme.target.{BUCKET}.impl"] = local
    return settings


def as_options(settings: Mapping[str, str]) -> list[str]:
    """For the command line of a process of its own."""
    pairs = (f"spark.hadoop.{key}={value}" for key, value in settings.items())
    return [word for pair in pairs for word in ("--conf", pair)]


def mount(spark: SparkSession, scheme: str, folder: Path) -> str:
    """The folder's URI in a session that runs already."""
    authority = f"{folder.parent.name}-{folder.name}".replace("_", "-").lower()
    folder.mkdir(parents=True, exist_ok=True)
    for key, value in mounted(scheme, authority, folder).items():
        spark._jsc.hadoopConfiguration().set(key, value)
    return f"{scheme}://{authority}/data"
