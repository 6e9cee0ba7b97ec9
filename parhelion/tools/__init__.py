"""Tools for looking at programs: pages, dumps, the command line."""
