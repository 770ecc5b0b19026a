"""The query of query.yaml and components.yaml, built in Python; both give equal values."""

from __future__ import annotations

import headway as hw

GPS = hw.schema(x="float [m]", y="float [m]", heading="float [rad]")
SPEED = hw.schema(v="float [m/s]")
RADAR = hw.schema(id="bigint", dx="float [m]", dy="float [m]", dvx="float [m/s]", dvy="float [m/s]")
IDENTITY = {"id": "bigint", "sensor": "string(5)", "own": "boolean"}
MOTION = {
    "x": "float [m]",
    "y": "float [m]",
    "vx": "float [m/s]",
    "vy": "float [m/s]",
    "var_x": "float",
    "var_y": "float",
    "var_vx": "float",
    "var_vy": "float",
}
VEHICLE = hw.schema(IDENTITY | MOTION)
FUSED = hw.schema(IDENTITY | {"at": "timestamp"} | MOTION)
REPORTED = hw.schema(IDENTITY | MOTION, distance="float [m]")


def own_vehicle() -> hw.ComponentBuilder:
    """SPC#a: where are we?"""
    spc = hw.component("spc_a")
    inputs = {"gps": spc.input("gps", GPS), "speed": spc.input("speed", SPEED)}
    sdfo1 = spc.fusion(
        "sdfo1",
        "headway.fusion.own_vehicle:OwnVehicleFusion",
        inputs,
        schema=VEHICLE,
        front="200 ms",
        rear="1 s",
        timeout="10 ms",
        cost="1.84 ms",
        selectivity=0.5,
        most_outputs=1,
    )
    spc.output("vehicle", sdfo1.set("map1", {"sensor": "'own'", "own": True}, cost="100 us"))
    return spc


def surrounding_vehicles() -> hw.ComponentBuilder:
    """SPC#b: what does the radar see?"""
    spc = hw.component("spc_b")
    radar, own = spc.input("radar", RADAR), spc.input("own", VEHICLE)
    measured = {name: f"radar.{name}" for name in ("id", "dx", "dy", "dvx", "dvy")}
    estimated = {
        name: f"own.{name}" for name in ("x", "y", "vx", "vy", "var_x", "var_y", "var_vx", "var_vy")
    }
    join1 = spc.join(
        "join1",
        {"radar": radar, "own": own},
        within="1 ms",
        select=measured | estimated,
        partners=("radar", 1),
        cost="100 us",
    )
    map2 = join1.map(
        "map2",
        {
            "id": "id",
            "sensor": "'radar'",
            "own": False,
            "x": "x + dx",
            "y": "y + dy",
            "vx": "vx + dvx",
            "vy": "vy + dvy",
            "var_x": "CAST(var_x + 0.25 AS FLOAT)",
            "var_y": "CAST(var_y + 0.25 AS FLOAT)",
            "var_vx": "CAST(var_vx + 0.04 AS FLOAT)",
            "var_vy": "CAST(var_vy + 0.04 AS FLOAT)",
        },
        cost="100 us",
    )
    spc.output("vehicles", map2)
    return spc


TIME_TO_COLLISION = """\
CASE WHEN dx * dvx + dy * dvy < 0
     THEN (dx * dx + dy * dy) / -(dx * dvx + dy * dvy)
END
"""


def collision_risks() -> hw.ComponentBuilder:
    """SPC#c: who will hit us, and when?"""
    spc = hw.component("spc_c")
    own, other = spc.input("own", FUSED), spc.input("other", FUSED)
    join2 = spc.join(
        "join2",
        {"own": own, "other": other},
        within="0 ms",
        select={
            "id": "other.id",
            "dx": "other.x - own.x",
            "dy": "other.y - own.y",
            "dvx": "other.vx - own.vx",
            "dvy": "other.vy - own.vy",
        },
        partners=("other", 1),
        cost="100 us",
    )
    map4 = join2.map(
        "map4",
        {"id": "id", "distance": "SQRT(dx * dx + dy * dy)", "ttc": TIME_TO_COLLISION},
        cost="100 us",
    )
    spc.output("risks", map4)
    return spc


def build() -> hw.Query:
    """The whole query."""
    q = hw.QueryBuilder("collision_warning")
    cycle, gap = "1 per 100 ms", "150 ms"
    gps = q.source("gps", GPS, rate=cycle, delay="2 ms", lateness="100 ms", gap=gap)
    speed = q.source("speed", SPEED, rate=cycle, delay="1 ms", lateness="100 ms", gap=gap)
    radar = q.source("radar", RADAR, rate="8 per 100 ms", delay="2 ms", lateness="100 ms")
    v2v = q.source(
        "v2v",
        REPORTED,
        rate="1000 per 1 s",
        delay="100 ms",
        lateness="200 ms",
        shed=hw.shed("10 per 100 ms", value="-distance"),
    )
    own = q.use("own", own_vehicle(), gps=gps, speed=speed)
    around = q.use("around", surrounding_vehicles(), radar=radar, own=own.vehicle)
    union1 = q.union("union1", own.vehicle, around.vehicles, cost="100 us")
    sdfo2 = q.fusion(
        "sdfo2",
        "headway.fusion.surroundings:SurroundingsFusion",
        {"board": union1, "v2v": v2v},
        schema=FUSED,
        object="id",
        sensor="sensor",
        front="300 ms",
        rear="1 s",
        timeout="100 ms",
        gather="time",
        most_outputs=2,
        cost=hw.cost("10 ms", per_item="1 ms", most_items=60, between_items=True),
    )
    motion = {name: name for name in ("x", "y", "vx", "vy")}
    map3 = union1.map("map3", {"id": "id", "own": "own", **motion}, cost="100 us")
    filter1 = sdfo2.filter("filter1", "own", cost="100 us", selectivity=0.05)
    filter2 = sdfo2.filter("filter2", "NOT own", cost="100 us", selectivity=0.95)
    collision = q.use("collision", collision_risks(), own=filter1, other=filter2)
    variances = {"var_x": "var_x", "var_y": "var_y"}
    map5 = sdfo2.map("map5", {"id": "id", "at": "at", **motion, **variances}, cost="100 us")
    q.output("output1", map3, deadline="30 ms")
    q.output("output2", collision.risks, deadline="300 ms")
    q.output("output3", map5, deadline="3 s", criticality="soft")
    return q.build()


query = build()
