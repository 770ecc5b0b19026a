"""The world around the vehicle: traffic, radio and sensors, simulated, and what a drive records.

scenario    what is asked for: cars, crossings, seed
traffic     the interface: where every car is at every moment; buildings, streets
grid        the papers' Manhattan grid, exact and seeded
sumo        any SUMO scenario, through libsumo
radio       who hears whom at 700 MHz
sensors     GPS, speed sensor and radar, with their noise
cam         messages as ETSI CAMs, in UPER bytes
recording   a drive as one table per source, readable by every engine
"""
