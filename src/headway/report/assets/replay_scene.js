// What there is at a moment: where the cars are, what our car knows, of whom it warns. No drawing.

const FASTEST = 120; // m/s

class Scene {
  constructor(data) {
    this.data = data;
    this.traffic = data.traffic;
    this.cars = data.traffic.cars.map(([id, v2v, course], place) => ({
      id, place, v2v: Boolean(v2v), course: Boolean(course), own: id === data.own,
    }));
    this.carOf = new Map(this.cars.map((car) => [car.id, car]));
    this.own = this.carOf.get(data.own);
    this.duration = Math.max(1, (this.traffic.frames - 1) * this.traffic.frame);
    this.bounds = this.findBounds();
  }

  findBounds() {
    const box = { left: Infinity, bottom: Infinity, right: -Infinity, top: -Infinity };
    const include = (x, y) => {
      if (Number.isNaN(x) || Number.isNaN(y)) return;
      box.left = Math.min(box.left, x);
      box.right = Math.max(box.right, x);
      box.bottom = Math.min(box.bottom, y);
      box.top = Math.max(box.top, y);
    };
    const { x, y } = this.traffic;
    for (let i = 0; i < x.length; i++) include(x[i], y[i]);
    for (const [left, bottom, right, top] of this.data.buildings) {
      include(left, bottom);
      include(right, top);
    }
    return box;
  }

  // Straight on between two frames; null while the car is not on the map.
  truth(car, time) {
    const { x, y, frame, frames } = this.traffic;
    const at = Math.min(Math.max(time / frame, 0), frames - 1);
    const first = car.place * frames + Math.floor(at);
    const next = car.place * frames + Math.min(Math.floor(at) + 1, frames - 1);
    const part = at - Math.floor(at);
    if (Number.isNaN(x[first])) return null;
    const dx = x[next] - x[first];
    const dy = y[next] - y[first];
    // Gone, or put elsewhere on the map: not to be drawn on the way there.
    const jump = Number.isNaN(dx) || Math.hypot(dx, dy) > FASTEST * (frame / 1e6);
    return {
      x: jump ? x[first] : x[first] + part * dx,
      y: jump ? y[first] : y[first] + part * dy,
      heading: this.heading(car, Math.floor(at)),
    };
  }

  // From the nearest movement in the past, else in the future; cars that never move look north.
  heading(car, frameNumber) {
    const { x, y, frame, frames } = this.traffic;
    const base = car.place * frames;
    for (let reach = 0; reach < 50; reach++) {
      for (const i of [frameNumber - reach, frameNumber + reach]) {
        if (i < 0 || i + 1 >= frames) continue;
        const dx = x[base + i + 1] - x[base + i];
        const dy = y[base + i + 1] - y[base + i];
        const way = Math.hypot(dx, dy);
        if (way > 0.1 && way < FASTEST * (frame / 1e6)) return Math.atan2(dy, dx);
      }
    }
    return Math.PI / 2;
  }

  // The newest estimate of every object that has come out of the engine and is not yet forgotten.
  known(run, time) {
    const { ids, starts, produced } = run.known;
    const found = new Map();
    ids.forEach((id, place) => {
      const row = countUpTo(produced, time, starts[place], starts[place + 1]) - 1;
      if (row >= starts[place] && time - produced[row] <= this.data.forget) {
        found.set(id, this.estimate(run.known, id, row, time));
      }
    });
    return found;
  }

  estimate(known, id, row, time) {
    const estimate = { id, sensor: this.data.sensors[known.sensor[row]] };
    for (const name of ["x", "y", "vx", "vy", "major", "minor", "angle", "produced", "latency"]) {
      estimate[name] = known[name][row];
    }
    estimate.sensed = estimate.produced - estimate.latency;
    estimate.age = time - estimate.sensed;
    return estimate;
  }

  // The newest warning of every car of which our car warned during the last moment.
  warnings(run, time) {
    const { ids, car, produced, ttc } = run.warnings;
    const found = new Map();
    const end = countUpTo(produced, time);
    for (let i = countUpTo(produced, time - this.data.forget); i < end; i++) {
      found.delete(ids[car[i]]);
      found.set(ids[car[i]], { id: ids[car[i]], produced: produced[i], ttc: ttc[i] });
    }
    return [...found.values()].sort((a, b) => a.ttc - b.ttc);
  }

  // When warnings of a car began, for the marks on the time line: [{time, id}].
  warningStarts(run) {
    const { ids, car, produced } = run.warnings;
    const last = new Map();
    const starts = [];
    for (let i = 0; i < produced.length; i++) {
      const id = ids[car[i]];
      if (!last.has(id) || produced[i] - last.get(id) > this.data.forget) {
        starts.push({ time: produced[i], id });
      }
      last.set(id, produced[i]);
    }
    return starts;
  }

  // Crashes of the last seconds, so that they stay visible for a while.
  crashes(run, time, since = 2e6) {
    return run.encounters
      .map(([id, impact, crash, , ttc]) => ({ id, impact, crash: Boolean(crash), ttc }))
      .filter((one) => one.crash && one.impact <= time && time - one.impact <= since);
  }

  // Our car as it brakes for others, each by itself: [{id, x, y, heading, crash}].
  braking(run, time, after = 2e6) {
    return run.encounters.flatMap(([id, impact, crash, , , way]) => {
      if (!way) return [];
      const [begin, speed, reaction, slowing] = way;
      const stands = begin + (reaction + speed / slowing) * 1e6;
      const end = crash ? impact : Math.max(stands, impact);
      if (time < begin || time > end + after) return [];
      const from = this.truth(this.own, begin);
      const seconds = (Math.min(time, end) - begin) / 1e6;
      const braked = Math.min(Math.max(seconds - reaction, 0), speed / slowing);
      const driven = speed * (Math.min(seconds, reaction) + braked) - (slowing / 2) * braked ** 2;
      return [{
        id,
        x: from.x + driven * Math.cos(from.heading),
        y: from.y + driven * Math.sin(from.heading),
        heading: from.heading,
        crash: Boolean(crash),
      }];
    });
  }
}
