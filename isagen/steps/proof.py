"""How configuring finds out whether the build's links are audited, which only a link can tell."""

# An argument that no linker knows, and that isagen's scripts in their places take: a link with it succeeds only there.
PROOF = "--isagen-proof"
