"""Automatic scheduling: no schedule written, and the one that was found is shown.

Five packages, each above those before it: `pipeline` and `machine` say what is to be
scheduled, and for what; `model` says what it costs; `search` is the default scheduler,
and `mullapudi`, beside it, that of the 2016 paper. The files here are what all
schedulers share with those who call them: scripts, results, decisions.

``hl.autoschedule`` is a function (`lang.autoscheduling`), so that the modules of this
package are imported as ``from parhelion.autoschedule.script import Script``.
"""
