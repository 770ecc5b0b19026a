"""Where the files of a pipeline on Spark are: local paths and the URIs of Hadoop's file systems."""
