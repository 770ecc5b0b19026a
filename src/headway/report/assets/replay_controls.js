// Buttons, slider, pointer and keys; then the start of it all.

Object.assign(Player.prototype, {
  listen() {
    const on = (id, kind, what) => el(id).addEventListener(kind, what);
    on("play", "click", () => this.toggle());
    on("big-play", "click", () => this.play());
    on("back", "click", () => this.step(-1));
    on("forward", "click", () => this.step(1));
    on("speed", "change", (event) => (this.speed = Number(event.target.value)));
    on("seek", "input", (event) => this.seek(Number(event.target.value)));
    on("follow", "click", () => this.setFollow(!this.map.follow));
    on("beside", "click", () => this.setBeside(!this.beside));
    on("other-run", "change", (event) => this.setOther(Number(event.target.value)));
    on("closer", "click", () => this.zoom(0.7));
    on("farther", "click", () => this.zoom(1 / 0.7));
    on("map", "pointermove", (event) => this.point(event, 14));
    on("map", "pointerdown", (event) => this.point(event, event.pointerType === "touch" ? 26 : 14));
    on("map", "pointerleave", (event) => event.pointerType === "mouse" && this.point(event, -1));
    on("map", "wheel", (event) => {
      if (!event.ctrlKey) return; // the page scrolls
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 0.85 : 1 / 0.85);
    });
    const drag = (event) => {
      const box = el("strips").getBoundingClientRect();
      if (event.buttons) this.seek(this.strips.timeAt(event.clientX - box.left));
    };
    on("strips", "pointerdown", drag);
    on("strips", "pointermove", drag);
    document.querySelectorAll("[name=run]").forEach((choice, i) => {
      choice.addEventListener("change", () => this.select(i));
    });
    document.querySelectorAll("[data-jump]").forEach((button) => {
      button.addEventListener("click", () => this.seek(Number(button.dataset.jump)));
    });
    document.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe(el("map"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.resize());
  },

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
    const stride = event.shiftKey ? Math.round(1e6 / this.scene.traffic.frame) || 1 : 1;
    const onButton = event.target.tagName === "BUTTON";
    const actions = {
      " ": onButton ? null : () => this.toggle(),
      ArrowLeft: () => this.step(-stride),
      ArrowRight: () => this.step(stride),
      Home: () => this.seek(0),
      End: () => this.seek(this.scene.duration),
      "+": () => this.zoom(0.7),
      "-": () => this.zoom(1 / 0.7),
      f: () => this.setFollow(!this.map.follow),
      b: () => this.setBeside(!this.beside),
    };
    let action = actions[event.key];
    if (/^[1-9]$/.test(event.key)) action = () => this.select(Number(event.key) - 1);
    if (!action) return;
    event.preventDefault();
    action();
  },
});

loadReplay().then(
  (data) => {
    const player = new Player(new Scene(data));
    window.replayState = () => player.state();
  },
  (error) => {
    el("failure").hidden = false;
    el("failure").textContent = `The replay cannot be shown: ${error.message}`;
    el("replay").hidden = true;
  },
);
