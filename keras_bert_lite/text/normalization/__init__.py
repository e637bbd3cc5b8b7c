"""Normalization of text before it is cut into words, by the reference's rules.

`steps` has the rules and what each makes of a single character. `Normalizer`
(`normalizer`) runs them on `Characters` (`characters`), which keep their origins:
`clusters` replaces characters and grapheme clusters, by a `charsmap` for instance, and
`composition` is NFC.
"""
