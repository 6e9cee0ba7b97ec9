"""Automatic schedules beside each other and beside those of experts."""
