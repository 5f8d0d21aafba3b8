"""Checks of a release: the oldest versions allowed, and wheels on every Python that is found."""
