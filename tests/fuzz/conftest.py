"""What the fuzzer's tests lower is verified after each pass."""

from tests.support.verified import verified

__all__ = ["verified"]
