"""Sensor data fusion operators (SDFO, AEDSMS section 5.7) and the filter under them."""
