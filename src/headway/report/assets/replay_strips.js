// Latency over the drive, a strip for each output: points under the deadline, misses in red.

const BEND = 0.6;
const STRIP = { height: 58, gap: 10, top: 20, left: 8, right: 8 };

class Strips {
  constructor(canvas, scene) {
    this.canvas = canvas;
    this.scene = scene;
    this.tallest = new Map(); // the same scale for all runs, so that they can be compared
    for (const run of scene.data.runs) {
      for (const one of run.latencies) {
        const most = one.latency.reduce((a, b) => Math.max(a, b), 0);
        const before = this.tallest.get(one.output) || 0;
        this.tallest.set(one.output, Math.max(before, most * 1.05, 1));
      }
    }
    this.rows = Math.max(...scene.data.runs.map((run) => run.latencies.length));
    canvas.style.height = `${this.rows * (STRIP.height + STRIP.top + STRIP.gap)}px`;
    canvas.hidden = this.rows === 0;
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const box = this.canvas.getBoundingClientRect();
    this.width = box.width;
    this.canvas.width = Math.max(1, Math.round(box.width * ratio));
    this.canvas.height = Math.max(1, Math.round(box.height * ratio));
    this.picture = null;
    this.ratio = ratio;
  }

  x(time) {
    const inner = this.width - STRIP.left - STRIP.right;
    return STRIP.left + (inner * time) / this.scene.duration;
  }

  timeAt(x) {
    const inner = this.width - STRIP.left - STRIP.right;
    const part = Math.min(Math.max((x - STRIP.left) / inner, 0), 1);
    return part * this.scene.duration;
  }

  draw(run, time, colour) {
    if (this.rows === 0) return;
    const key = run.name;
    if (!this.picture || this.drawn !== key) this.paint(run, colour);
    this.drawn = key;
    const pen = this.canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.drawImage(this.picture, 0, 0);
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.fillStyle = colour("ink");
    pen.fillRect(this.x(time) - 0.75, 0, 1.5, this.canvas.height / this.ratio);
  }

  // All but the playhead, once per run, size and theme.
  paint(run, colour) {
    this.picture = document.createElement("canvas");
    this.picture.width = this.canvas.width;
    this.picture.height = this.canvas.height;
    const pen = this.picture.getContext("2d");
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    run.latencies.forEach((one, row) => {
      const top = row * (STRIP.height + STRIP.top + STRIP.gap) + STRIP.top;
      this.paintStrip(pen, one, top, colour);
    });
  }

  // Height in the strip, 0 to 1. The deadline never stands above BEND, nor below: where the worst
  // latency is far beyond it, what is above the deadline is pressed together.
  height(latency, one) {
    const tallest = this.tallest.get(one.output);
    if (!one.deadline || tallest * BEND <= one.deadline) {
      return latency / Math.max(tallest, (one.deadline || 0) / BEND);
    }
    if (latency <= one.deadline) return (BEND * latency) / one.deadline;
    return BEND + ((1 - BEND) * (latency - one.deadline)) / (tallest - one.deadline);
  }

  paintStrip(pen, one, top, colour) {
    const y = (latency) => top + STRIP.height * (1 - this.height(latency, one));
    const [left, right] = [this.x(0), this.x(this.scene.duration)];
    pen.fillStyle = colour("strip");
    pen.fillRect(left, top, right - left, STRIP.height);
    let misses = 0;
    let worst = 0;
    for (const late of [false, true]) { // misses last, on top
      pen.fillStyle = colour(late ? "warning" : "latency");
      for (let i = 0; i < one.latency.length; i++) {
        const latency = one.latency[i];
        if ((one.deadline !== null && latency > one.deadline) !== late) continue;
        misses += late;
        worst = Math.max(worst, latency);
        if (one.produced[i] > this.scene.duration) continue; // came out after the last frame
        const size = late ? 2.6 : 1.8;
        pen.fillRect(this.x(one.produced[i]) - size / 2, y(latency) - size / 2, size, size);
      }
    }
    if (one.deadline !== null) {
      pen.strokeStyle = colour("warning");
      pen.lineWidth = 1.2;
      pen.setLineDash([5, 4]);
      pen.beginPath();
      pen.moveTo(left, y(one.deadline));
      pen.lineTo(right, y(one.deadline));
      pen.stroke();
      pen.setLineDash([]);
    }
    this.paintText(pen, one, misses, worst, top, colour, right);
  }

  paintText(pen, one, misses, worst, top, colour, right) {
    const narrow = this.width < 560;
    const due = one.deadline === null ? "no deadline" : `deadline ${milliseconds(one.deadline)}`;
    pen.textAlign = "left";
    pen.font = "600 12px system-ui, sans-serif";
    pen.fillStyle = colour("ink");
    pen.fillText(one.output, this.x(0), top - 6);
    const used = pen.measureText(`${one.output}  `).width;
    pen.font = "12px system-ui, sans-serif";
    pen.fillStyle = colour("muted");
    pen.fillText(due, this.x(0) + used, top - 6);
    pen.textAlign = "right";
    pen.fillStyle = colour(misses ? "warning-text" : "muted");
    const share = one.latency.length ? (100 * misses) / one.latency.length : 0;
    const percent = `${share.toFixed(share < 1 ? 2 : 1)} %`;
    const count = narrow ? `${percent} missed` : `${misses} missed (${percent})`;
    const told = [];
    if (!narrow || one.deadline === null) told.push(`worst ${milliseconds(worst)}`);
    if (one.deadline !== null) told.push(misses ? count : "none missed");
    pen.fillText(told.join(" · "), right, top - 6);
  }
}

function milliseconds(microseconds) {
  const value = microseconds / 1000;
  if (value >= 1000) return `${Number((value / 1000).toPrecision(3))} s`;
  return `${value >= 100 ? value.toFixed(0) : Number(value.toPrecision(3))} ms`;
}
