"""The simplifier: rule tables, linear normal forms and what encloses a statement."""
