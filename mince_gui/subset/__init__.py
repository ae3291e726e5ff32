"""subset: drawing, frozen files, packs."""
