"""Studies, one file each: parameters, run, analyse."""
