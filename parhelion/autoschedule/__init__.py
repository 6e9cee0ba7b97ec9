"""Automatic scheduling: no schedule written, and the one that was found is shown.

``hl.autoschedule`` is a function (`lang.autoscheduling`), so that the modules of this
package are imported as ``from parhelion.autoschedule.script import Script``.
"""
