from tests.native.test_native_engine import assert_same, hello, speeds


def test_it():
    for policy in ("chain", "rtstream"):
        assert_same(hello(), speeds(50), policy)
