"""Texts that mean something to Meson, its keyval module or a shell."""

NASTY = ["-DA=#1", "-DB=100%", "a|b", "%23", "%7C#|%25", "back\\slash", "it's", 'quo"te', "a = b", "ünï", "%", "in ner"]
