// The map: what part of it is seen, the ground, the scale. Marks on it: replay_marks.js.

const NEAREST = 30; // m shown to each side at the closest zoom

class MapView {
  constructor(canvas, scene) {
    this.canvas = canvas;
    this.scene = scene;
    this.follow = true;
    this.reach = 110; // m from our car to the nearer edge while following
    this.hovered = null; // id
  }

  // The whole map fills its frame: the frame takes the map's shape, as far as the window has room.
  fit() {
    const { style } = this.canvas.parentElement;
    if (this.follow) {
      style.aspectRatio = style.height = style.maxWidth = "";
      return;
    }
    const [spanX, spanY] = this.spans();
    const most = Math.max(320, window.innerHeight * 0.82);
    style.aspectRatio = `${spanX} / ${spanY}`;
    style.height = "auto";
    style.maxWidth = `${(most * spanX) / spanY}px`;
  }

  spans() {
    const box = this.scene.bounds;
    return [Math.max(box.right - box.left, 20) + 30, Math.max(box.top - box.bottom, 20) + 30];
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const box = this.canvas.getBoundingClientRect();
    this.width = box.width;
    this.height = box.height;
    this.canvas.width = Math.round(box.width * ratio);
    this.canvas.height = Math.round(box.height * ratio);
    this.pen = this.canvas.getContext("2d");
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  aim(time) {
    const box = this.scene.bounds;
    const [spanX, spanY] = this.spans();
    const whole = Math.min(this.width / spanX, this.height / spanY);
    const own = this.scene.truth(this.scene.own, time) || this.lastOwn;
    this.lastOwn = own;
    if (this.follow && own) {
      this.scale = Math.min(this.width, this.height) / 2 / this.reach;
      this.center = own;
    } else {
      this.scale = whole;
      this.center = { x: (box.left + box.right) / 2, y: (box.bottom + box.top) / 2 };
    }
  }

  zoom(factor) {
    this.follow = true;
    this.reach = Math.min(Math.max(this.reach * factor, NEAREST), 2000);
  }

  toScreen(x, y) {
    return [
      this.width / 2 + (x - this.center.x) * this.scale,
      this.height / 2 - (y - this.center.y) * this.scale,
    ];
  }

  visible([x, y], margin = 20) {
    return x > -margin && y > -margin && x < this.width + margin && y < this.height + margin;
  }

  draw(run, time, colour) {
    this.aim(time);
    this.colour = colour;
    this.run = run;
    const { pen, scene } = this;
    pen.fillStyle = colour("ground");
    pen.fillRect(0, 0, this.width, this.height);
    this.drawGround();
    const known = scene.known(run, time);
    const warnings = new Map(scene.warnings(run, time).map((one) => [one.id, one]));
    this.shown = []; // what can be pointed at
    for (const car of scene.cars) {
      const truth = scene.truth(car, time);
      if (truth) this.shown.push({ car, truth, at: this.toScreen(truth.x, truth.y) });
    }
    const places = new Map(this.shown.map((one) => [one.car.id, one]));
    for (const id of warnings.keys()) this.drawWarning(places.get(id), places.get(scene.own.id));
    for (const estimate of known.values()) this.drawEstimate(estimate, places.get(estimate.id));
    for (const one of this.shown) {
      if (this.visible(one.at)) this.drawCar(one, known.has(one.car.id), warnings.get(one.car.id));
    }
    for (const braked of scene.braking(run, time)) this.drawBraked(braked);
    for (const crash of scene.crashes(run, time)) this.drawCrash(crash, time);
    if (this.hovered !== null) this.drawHover(places.get(this.hovered), known.get(this.hovered));
    this.drawScale();
    return { known, warnings: [...warnings.values()] };
  }

  drawGround() {
    const { pen, colour, scene } = this;
    pen.lineCap = "square";
    pen.strokeStyle = colour("street");
    for (const [x1, y1, x2, y2, width] of scene.data.streets) {
      pen.lineWidth = Math.max(1, width * this.scale);
      pen.beginPath();
      pen.moveTo(...this.toScreen(x1, y1));
      pen.lineTo(...this.toScreen(x2, y2));
      pen.stroke();
    }
    pen.fillStyle = colour("building");
    pen.strokeStyle = colour("wall");
    pen.lineWidth = 1;
    for (const [left, bottom, right, top] of scene.data.buildings) {
      const [x, y] = this.toScreen(left, top);
      const [w, h] = [(right - left) * this.scale, (top - bottom) * this.scale];
      if (x > this.width || y > this.height || x + w < 0 || y + h < 0) continue;
      pen.fillRect(x, y, w, h);
      pen.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
    }
  }

  drawScale() {
    const { pen, colour } = this;
    const metres = [10, 20, 50, 100, 200, 500, 1000, 2000].find((m) => m * this.scale > 50) || 5000;
    const [x, y, length] = [14, this.height - 14, metres * this.scale];
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "left";
    const text = `${metres} m`;
    pen.fillStyle = colour("veil");
    pen.fillRect(x - 7, y - 22, Math.max(length, pen.measureText(text).width) + 14, 30);
    pen.strokeStyle = pen.fillStyle = colour("ink");
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(x, y - 4);
    pen.lineTo(x, y);
    pen.lineTo(x + length, y);
    pen.lineTo(x + length, y - 4);
    pen.stroke();
    pen.fillText(text, x + 5, y - 6);
  }

  // The nearest car within reach of a finger or a mouse.
  carNear(x, y, reach) {
    let nearest = null;
    for (const one of this.shown || []) {
      const distance = Math.hypot(one.at[0] - x, one.at[1] - y);
      if (distance <= reach) [nearest, reach] = [one, distance];
    }
    return nearest;
  }
}
