// Cars, estimates with their ellipses, warnings and crashes on the map.

const CAR_LENGTH = 4.6; // m
const CAR_WIDTH = 2;

Object.assign(MapView.prototype, {
  carColour(car, warning) {
    if (car.own) return "own";
    if (warning) return "warning";
    return car.course ? "course" : "car";
  },

  drawCar({ car, truth, at }, isKnown, warning) {
    const { pen, colour } = this;
    const large = car.own || car.course; // never lost on a wide map
    const length = Math.max(CAR_LENGTH * this.scale, large ? 15 : 9);
    const width = Math.max(CAR_WIDTH * this.scale, large ? 7.5 : 4.5);
    pen.save();
    pen.translate(...at);
    pen.rotate(-truth.heading);
    pen.globalAlpha = isKnown || car.own || car.course ? 1 : 0.45;
    pen.fillStyle = pen.strokeStyle = colour(this.carColour(car, warning));
    pen.beginPath();
    pen.roundRect(-length / 2, -width / 2, length, width, width * 0.35);
    if (car.v2v || car.own) {
      pen.fill();
      pen.fillStyle = colour("glass"); // the windscreen tells the direction
      pen.fillRect(length * 0.12, -width * 0.36, length * 0.14, width * 0.72);
    } else {
      pen.fillStyle = colour("ground");
      pen.fill();
      pen.lineWidth = Math.max(1.6, 0.35 * this.scale);
      pen.stroke();
    }
    pen.restore();
  },

  // Stays where the object was when it was sensed; a thin line leads to where the car is now.
  drawEstimate(estimate, place) {
    const { pen, colour } = this;
    const at = this.toScreen(estimate.x, estimate.y);
    if (!this.visible(at, estimate.major * this.scale + 20)) return;
    pen.save();
    pen.strokeStyle = pen.fillStyle = colour(`sensor-${estimate.sensor}`);
    pen.globalAlpha = 1 - 0.7 * Math.min(1, estimate.age / (this.scene.data.forget * 1.2));
    if (place) {
      pen.lineWidth = 1;
      pen.beginPath();
      pen.moveTo(...at);
      pen.lineTo(...place.at);
      pen.stroke();
    }
    pen.translate(...at);
    pen.rotate(-estimate.angle);
    pen.beginPath();
    const least = 3; // pixels: an ellipse smaller than that could not be seen
    const axes = [estimate.major, estimate.minor].map((a) => Math.max(a * this.scale, least));
    pen.ellipse(0, 0, ...axes, 0, 0, 2 * Math.PI);
    pen.lineWidth = 1.5;
    pen.stroke();
    pen.globalAlpha *= 0.22;
    pen.fill();
    pen.restore();
  },

  drawWarning(place, own) {
    if (!place) return;
    const { pen, colour } = this;
    pen.strokeStyle = colour("warning");
    pen.lineWidth = 2;
    if (own) {
      pen.setLineDash([6, 5]);
      pen.beginPath();
      pen.moveTo(...own.at);
      pen.lineTo(...place.at);
      pen.stroke();
      pen.setLineDash([]);
    }
    pen.beginPath();
    pen.arc(...place.at, Math.max(13, 5.5 * this.scale), 0, 2 * Math.PI);
    pen.stroke();
  },

  // The outline of our car where it would be had it braked.
  drawBraked({ x, y, heading }) {
    const at = this.toScreen(x, y);
    if (!this.visible(at)) return;
    const { pen, colour } = this;
    const length = Math.max(CAR_LENGTH * this.scale, 15);
    const width = Math.max(CAR_WIDTH * this.scale, 7.5);
    pen.save();
    pen.translate(...at);
    pen.rotate(-heading);
    pen.strokeStyle = colour("own");
    pen.lineWidth = 2;
    pen.setLineDash([4, 2]);
    pen.beginPath();
    pen.roundRect(-length / 2, -width / 2, length, width, width * 0.35);
    pen.stroke();
    pen.restore();
  },

  // Where our car is then, or is braking.
  drawCrash({ id, impact }, time) {
    const braked = this.scene.braking(this.run, impact).find((one) => one.id === id);
    const own = braked || this.scene.truth(this.scene.own, impact);
    if (!own) return;
    const { pen, colour } = this;
    const [x, y] = this.toScreen(own.x, own.y);
    const radius = 12 + ((time - impact) / 2e6) * 14;
    pen.save();
    pen.strokeStyle = pen.fillStyle = colour("warning");
    pen.globalAlpha = 1 - (0.7 * (time - impact)) / 2e6;
    pen.lineWidth = 3;
    pen.beginPath();
    for (let i = 0; i < 8; i++) {
      const [dx, dy] = [Math.cos((i * Math.PI) / 4), Math.sin((i * Math.PI) / 4)];
      pen.moveTo(x + dx * radius * 0.5, y + dy * radius * 0.5);
      pen.lineTo(x + dx * radius, y + dy * radius);
    }
    pen.stroke();
    pen.font = "600 13px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.fillText(`crash with car ${id}`, x, y - radius - 8);
    pen.restore();
  },

  drawHover(place, estimate) {
    if (!place) return;
    const { pen, colour } = this;
    pen.strokeStyle = colour("ink");
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.arc(...place.at, Math.max(10, 4 * this.scale), 0, 2 * Math.PI);
    if (estimate) {
      const [x, y] = this.toScreen(estimate.x, estimate.y);
      pen.moveTo(x - 5, y - 5);
      pen.lineTo(x + 5, y + 5);
      pen.moveTo(x - 5, y + 5);
      pen.lineTo(x + 5, y - 5);
    }
    pen.stroke();
  },
});
