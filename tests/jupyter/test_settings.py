"""The settings by their kinds; which values they take is told in test_checks."""

from __future__ import annotations

from chatmagic.jupyter.checks import CHECKS
from chatmagic.jupyter.settings import CHECKED, KernelSettings


def test_each_check_is_of_a_setting_that_is_looked_at() -> None:
    """A check that no setting uses would check nothing."""
    assert set(CHECKED) == set(CHECKS)
    assert set(CHECKED) <= set(KernelSettings.class_trait_names(config=True))
