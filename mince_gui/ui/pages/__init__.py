"""The pages of the window, one module (or a few) each. A page shows what is stored and asks `app` for the rest."""
