"""How hard the properties are tried: ``--hypothesis-profile`` chooses one of these profiles."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A busy machine is no reason to fail, so nothing here looks at a clock.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

# The test command's: the same examples every time.
settings.register_profile("steady", UNHURRIED, max_examples=200, derandomize=True, database=None)

# By hand, for about an hour: other examples at each run, those that failed before first.
settings.register_profile("long", UNHURRIED, max_examples=20_000, print_blob=True)

# Where another look at the same lines is all that is wanted, as when they are counted.
settings.register_profile("few", settings.get_profile("steady"), max_examples=10)

settings.load_profile("steady")
