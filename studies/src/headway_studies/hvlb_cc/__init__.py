"""Studies of the HVLB_CC paper: static schedules."""
