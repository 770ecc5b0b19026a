// Truth and estimate of the car that is pointed at.

Object.assign(Player.prototype, {
  point(event, reach) {
    const box = el("map").getBoundingClientRect();
    const near = this.map.carNear(event.clientX - box.left, event.clientY - box.top, reach);
    this.map.hovered = near ? near.car.id : null;
    if (!this.playing) this.draw();
  },

  showTip() {
    const place = this.map.shown.find(({ car }) => car.id === this.map.hovered);
    const tip = el("tip");
    tip.hidden = !place;
    if (!place) return;
    tip.replaceChildren(...this.tipLines(place));
    const left = Math.min(Math.max(place.at[0] + 16, 4), this.map.width - tip.offsetWidth - 4);
    const above = place.at[1] + 16 + tip.offsetHeight > this.map.height;
    const top = above ? place.at[1] - tip.offsetHeight - 16 : place.at[1] + 16;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.max(4, top)}px`;
  },

  tipLines({ car, truth }) {
    const line = (text, tag = "div") => Object.assign(document.createElement(tag), { textContent: text });
    const at = ({ x, y }) => `${x.toFixed(1)}, ${y.toFixed(1)} m`;
    const kind = car.own ? "our car" : car.v2v ? "with V2V" : "without V2V";
    const lines = [
      line(`Car ${car.id} · ${kind}${car.course ? " · on collision course" : ""}`, "b"),
      line(`truth ${at(truth)}`),
    ];
    const known = this.known.get(car.id);
    if (!known) return [...lines, line("not known to our car")];
    const then = this.scene.truth(car, known.sensed);
    const off = then ? Math.hypot(known.x - then.x, known.y - then.y).toFixed(1) : null;
    const now = Math.hypot(known.x - truth.x, known.y - truth.y).toFixed(1);
    lines.push(line(`estimate ${at(known)} (${known.sensor})`));
    lines.push(line(`sensed ${milliseconds(known.age)} ago, in the engine for ${milliseconds(known.latency)}`));
    if (off !== null) lines.push(line(`off by ${off} m when sensed, ${now} m now`));
    lines.push(line(`95 % within ${known.major.toFixed(1)} × ${known.minor.toFixed(1)} m`));
    return lines;
  },
});
