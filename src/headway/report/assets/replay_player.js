// Time, run and view: playing, seeking, choosing. What is pointed at: replay_tip.js.

const el = (id) => document.getElementById(id);
const seconds = (time, digits = 1) => (time / 1e6).toFixed(digits);

class Player {
  constructor(scene) {
    this.scene = scene;
    this.map = new MapView(el("map"), scene);
    this.other = new MapView(el("other-map"), scene);
    this.otherNumber = scene.data.runs.length > 1 ? 1 : 0;
    this.beside = false;
    this.strips = new Strips(el("strips"), scene);
    this.time = Math.min(scene.data.opening, scene.duration);
    this.playing = false;
    this.speed = 1;
    this.warned = "";
    this.select(0);
    el("seek").max = scene.duration;
    el("seek").step = scene.traffic.frame;
    this.listen();
    this.resize();
  }

  get run() {
    return this.scene.data.runs[this.number];
  }

  select(number) {
    if (number < 0 || number >= this.scene.data.runs.length) return;
    this.number = number;
    document.querySelectorAll("[name=run]").forEach((choice, i) => (choice.checked = i === number));
    document.querySelectorAll("[data-run]").forEach((part) => {
      part.hidden = Number(part.dataset.run) !== number;
    });
    this.placeMarks();
    this.draw();
  }

  placeMarks() {
    const mark = (time, kind, sign, title) => {
      const span = document.createElement("span");
      span.className = kind;
      span.textContent = sign;
      span.title = title;
      span.style.left = `${(100 * time) / this.scene.duration}%`;
      return span;
    };
    const starts = this.scene.warningStarts(this.run);
    const crashes = this.run.encounters.filter(([, , crash]) => crash);
    el("marks").replaceChildren(
      ...starts.map(({ time, id }) => mark(time, "warning", "▼", `warning of car ${id}`)),
      ...crashes.map(([id, impact]) => mark(impact, "crash", "✕", `crash with car ${id}`)),
    );
  }

  seek(time) {
    this.time = Math.min(Math.max(time, 0), this.scene.duration);
    el("big-play").hidden = true;  // it would cover what is being looked for
    this.draw();
  }

  step(frames) {
    const { frame } = this.scene.traffic;
    this.pause();
    this.seek((Math.round(this.time / frame) + frames) * frame);
  }

  play() {
    if (this.time >= this.scene.duration) this.time = 0;
    this.playing = true;
    el("big-play").hidden = true;
    this.showPlaying();
    let before = performance.now();
    const tick = (now) => {
      if (!this.playing) return;
      this.time += (now - before) * 1000 * this.speed;
      before = now;
      if (this.time >= this.scene.duration) {
        this.time = this.scene.duration;
        this.pause();
      }
      this.draw();
      if (this.playing) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  pause() {
    this.playing = false;
    this.showPlaying();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  showPlaying() {
    el("play").textContent = this.playing ? "❚❚" : "▶";
    el("play").setAttribute("aria-label", this.playing ? "Pause" : "Play");
  }

  // Both maps show the same part of the world at the same moment.
  setFollow(follow) {
    this.map.follow = this.other.follow = follow;
    this.resize();
  }

  zoom(factor) {
    const followed = this.map.follow;
    this.map.zoom(factor);
    this.other.zoom(factor);
    if (followed) this.draw();
    else this.resize();
  }

  // Two runs side by side: the chosen one, and beside it another.
  setBeside(beside) {
    if (this.scene.data.runs.length < 2) return;
    this.beside = beside;
    if (beside && this.otherNumber === this.number) this.otherNumber = this.number === 0 ? 1 : 0;
    el("other-run").value = this.otherNumber;
    el("other").hidden = !beside;
    el("run-name").hidden = !beside;
    el("beside").setAttribute("aria-pressed", String(beside));
    this.resize();
  }

  setOther(number) {
    this.otherNumber = number;
    this.draw();
  }

  resize() {
    this.map.fit();
    this.other.fit();
    this.map.resize();
    if (this.beside) this.other.resize();
    this.strips.resize();
    const style = getComputedStyle(document.documentElement);
    const colours = new Map();
    this.colour = (name) => {
      if (!colours.has(name)) colours.set(name, style.getPropertyValue(`--${name}`).trim());
      return colours.get(name);
    };
    this.draw();
  }

  draw() {
    if (!this.colour) return; // not yet laid out
    const { known, warnings } = this.map.draw(this.run, this.time, this.colour);
    this.strips.draw(this.run, this.time, this.colour);
    this.known = known;
    this.warnings = warnings;
    el("clock").textContent = `${seconds(this.time)} s`;
    el("seek").value = this.time;
    el("seek").setAttribute("aria-valuetext", `${seconds(this.time)} seconds`);
    el("follow").textContent = this.map.follow ? "whole map" : "follow";
    el("follow").setAttribute("aria-pressed", String(this.map.follow));
    const others = this.map.shown.length - 1;
    const knows = [...known.keys()].filter((id) => id !== this.scene.data.own).length;
    el("tally").textContent = `our car knows ${knows} of ${others} cars`;
    el("run-name").textContent = this.run.name;
    this.showWarnings(warnings);
    this.showAlert(el("alert"), this.run, warnings);
    if (this.beside) {
      const run = this.scene.data.runs[this.otherNumber];
      const seen = this.other.draw(run, this.time, this.colour);
      this.showAlert(el("other-alert"), run, seen.warnings);
    }
    this.showTip();
  }

  // A crash is told before a warning: it is what the warnings were about.
  showAlert(box, run, warnings) {
    const [first, ...more] = warnings;
    const [crash] = this.scene.crashes(run, this.time);
    box.hidden = !first && !crash;
    box.classList.toggle("crashed", Boolean(crash));
    if (crash) {
      const left = crash.ttc === null ? "never seen coming" : `known ${crash.ttc.toFixed(1)} s before`;
      box.textContent = `✕ crash with car ${crash.id}, ${left}`;
    } else if (first) {
      const others = more.length ? ` · ${more.length} more` : "";
      box.textContent = `⚠ car ${first.id}: collision in ${first.ttc.toFixed(1)} s${others}`;
    }
  }

  showWarnings(warnings) {
    // Spoken only when somebody new is warned of, not at each new figure.
    const ids = warnings.map(({ id }) => id).sort().join(", ");
    if (ids !== this.warned) el("spoken").textContent = ids ? `Warning of car ${ids}` : "";
    this.warned = ids;
  }

  state() {
    return {
      time: this.time / 1e6,
      duration: this.scene.duration / 1e6,
      playing: this.playing,
      run: this.run.name,
      follow: this.map.follow,
      spans: this.map.spans(),
      beside: this.beside ? this.scene.data.runs[this.otherNumber].name : null,
      cars: this.map.shown.map(({ car, truth, at }) => ({ id: car.id, x: truth.x, y: truth.y, at })),
      known: [...this.known.values()],
      warnings: this.warnings,
      crashes: this.scene.crashes(this.run, this.time).map(({ id }) => id),
      braking: this.scene.braking(this.run, this.time),
    };
  }
}
