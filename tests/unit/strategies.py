"""Strategies that several properties share."""

from __future__ import annotations

from hypothesis import strategies as st

# Lone surrogates and NUL are a sliver of Unicode: without being named they are hardly ever drawn.
NASTY_CHARACTERS = st.characters() | st.characters(categories=["Cs"]) | st.just("\0")
NASTY_TEXT = st.text(NASTY_CHARACTERS, max_size=200)
