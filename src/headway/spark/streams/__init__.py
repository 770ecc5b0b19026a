"""A query over streams that go on."""
