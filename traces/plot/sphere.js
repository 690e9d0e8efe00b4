"use strict";
// What pages with a globe share: the Earth in orthographic projection, time, and how a reader turns, zooms and plays them.
// A page's own script has drawOnEarth, drawTimeline, describe, legend and home, and calls start.
const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);
const globe = element("globe"), timeline = element("timeline");
const RAD = Math.PI / 180;

let colours = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["page", "ink", "soft", "sea", "land", "grid", "delay", "hard", "softly", "gone", "down"])
    colours[name] = style.getPropertyValue("--" + name).trim();
  colours.hard_handover = colours.hard;
  colours.soft_handover = colours.softly;
  colours.unreachable = colours.gone;
  colours[""] = colours.delay;
}

// Vectors in Earth radii; x to 0° N 0° E, z to the north pole.
function onGround(lon, lat) {
  const flat = Math.cos(lat * RAD);
  return [flat * Math.cos(lon * RAD), flat * Math.sin(lon * RAD), Math.sin(lat * RAD)];
}
const coasts = data.coasts.map((line) => {
  const points = [];
  for (let i = 0; i < line.length; i += 2) points.push(onGround(line[i] / 10, line[i + 1] / 10));
  return points;
});
const graticule = [];
for (let lon = -180; lon < 180; lon += 30)
  graticule.push(Array.from({ length: 61 }, (_, i) => onGround(lon, i * 3 - 90)));
for (let lat = -60; lat <= 60; lat += 30)
  graticule.push(Array.from({ length: 121 }, (_, i) => onGround(i * 3 - 180, lat)));
const sites = data.sites.map(([name, lon, lat]) => [name, onGround(lon, lat)]);

const state = { time: 0, playing: true, speed: 10, lon: 0, lat: 0, zoom: 1, last: 0 };
const reduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
if (reduced) state.playing = false;

// Return the index of the last entry at or before a time in a list sorted by key, or -1.
function lastBefore(list, key, time) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (key(list[middle]) <= time) low = middle + 1; else high = middle;
  }
  return low - 1;
}

function sized(canvas) {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return [context, width, height];
}

function projector(width, height) {
  const radius = 0.44 * Math.min(width, height) * state.zoom;
  const [cosLon, sinLon] = [Math.cos(state.lon * RAD), Math.sin(state.lon * RAD)];
  const [cosLat, sinLat] = [Math.cos(state.lat * RAD), Math.sin(state.lat * RAD)];
  const project = ([x, y, z]) => {
    const towards = x * cosLon + y * sinLon, right = y * cosLon - x * sinLon;
    const up = z * cosLat - towards * sinLat, depth = towards * cosLat + z * sinLat;
    // Points on the far side and within the Earth's disc are hidden.
    const seen = depth > 0 || Math.hypot(right, up) > 1;
    return [width / 2 + right * radius, height / 2 - up * radius, seen];
  };
  return [project, radius];
}

function strokeVisible(context, project, points) {
  let open = false;
  for (const point of points) {
    const [x, y, seen] = project(point);
    if (seen && open) context.lineTo(x, y); else if (seen) context.moveTo(x, y);
    open = seen;
  }
}

function drawGlobe() {
  const [context, width, height] = sized(globe);
  const [project, radius] = projector(width, height);
  context.beginPath();
  context.arc(width / 2, height / 2, radius, 0, 2 * Math.PI);
  context.fillStyle = colours.sea;
  context.fill();
  for (const [lines, colour, thickness] of [[graticule, colours.grid, 0.6], [coasts, colours.land, 1]]) {
    context.beginPath();
    for (const line of lines) strokeVisible(context, project, line);
    context.strokeStyle = colour;
    context.lineWidth = thickness;
    context.stroke();
  }
  drawOnEarth(context, project);
  context.font = "600 13px system-ui, sans-serif";
  context.textAlign = "center";
  const labels = [];
  for (const [name, point] of sites) {
    const [x, y, seen] = project(point);
    if (!seen) continue;
    context.fillStyle = colours.hard;
    dot(context, [x, y, true], name ? 4.5 : 2);
    // Names that would cover an earlier one appear when the globe is enlarged.
    const half = context.measureText(name).width / 2;
    if (labels.some((other) => Math.abs(other.y - y) < 15 && Math.abs(other.x - x) < other.half + half)) continue;
    labels.push({ x, y, half });
    context.lineWidth = 3;
    context.strokeStyle = colours.page;
    context.strokeText(name, x, y + 20);
    context.fillStyle = colours.ink;
    context.fillText(name, x, y + 20);
  }
}

function dot(context, [x, y, seen], size) {
  if (!seen) return;
  context.beginPath();
  context.arc(x, y, size, 0, 2 * Math.PI);
  context.fill();
}

function line(context, project, points, colour, thickness, dash) {
  const all = points.map(project);
  context.setLineDash(dash);
  context.strokeStyle = colour;
  context.lineWidth = thickness;
  for (let i = 1; i < all.length; i++) {
    // Hidden lines are faint.
    context.globalAlpha = all[i - 1][2] && all[i][2] ? 1 : 0.15;
    context.beginPath();
    context.moveTo(all[i - 1][0], all[i - 1][1]);
    context.lineTo(all[i][0], all[i][1]);
    context.stroke();
  }
  context.globalAlpha = 1;
  context.setLineDash([]);
}

const LEFT = 56, RIGHT = 10, TOP = 8, BOTTOM = 34;

function draw() {
  drawGlobe();
  drawTimeline();
  describe();
}

function frame(now) {
  if (state.playing) {
    // A tab that returns from the background continues where it stopped.
    const passed = Math.min(100, now - state.last) / 1000;
    state.time = (state.time + passed * state.speed) % data.period_s;
    draw();
  }
  state.last = now;
  requestAnimationFrame(frame);
}

function play(on) {
  state.playing = on;
  element("play").textContent = on ? "Pause" : "Play";
}

function zoom(factor) {
  state.zoom = Math.max(0.6, Math.min(12, state.zoom * factor));
  draw();
}

function turn(right, up) {
  const degrees = 60 / (0.44 * Math.min(globe.clientWidth, globe.clientHeight) * state.zoom);
  state.lon -= right * degrees;
  state.lat = Math.max(-90, Math.min(90, state.lat + up * degrees));
  draw();
}

function listen() {
  element("play").onclick = () => play(!state.playing);
  element("speed").onchange = (event) => { state.speed = Number(event.target.value); };
  element("in").onclick = () => zoom(1.3);
  element("out").onclick = () => zoom(1 / 1.3);
  element("home").onclick = () => { home(); draw(); };
  globe.addEventListener("wheel", (event) => { event.preventDefault(); zoom(Math.exp(-event.deltaY / 500)); }, { passive: false });
  const fingers = new Map();
  const spread = () => {
    const [one, two] = [...fingers.values()];
    return Math.hypot(one[0] - two[0], one[1] - two[1]);
  };
  globe.addEventListener("pointerdown", (event) => {
    globe.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
  });
  globe.addEventListener("pointermove", (event) => {
    const from = fingers.get(event.pointerId);
    if (!from) return;
    const before = fingers.size === 2 ? spread() : 0;
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
    if (fingers.size === 2) zoom(spread() / Math.max(1, before));
    else turn(event.clientX - from[0], event.clientY - from[1]);
  });
  for (const end of ["pointerup", "pointercancel"])
    globe.addEventListener(end, (event) => fingers.delete(event.pointerId));
  globe.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[event.key];
    if (step) { event.preventDefault(); turn(...step); }
    if (event.key === " ") { event.preventDefault(); play(!state.playing); }
  });
  const seek = (event) => {
    const inner = timeline.clientWidth - LEFT - RIGHT;
    const part = (event.clientX - timeline.getBoundingClientRect().left - LEFT) / inner;
    state.time = Math.max(0, Math.min(0.999999, part)) * data.period_s;
    draw();
  };
  timeline.addEventListener("pointerdown", (event) => { timeline.setPointerCapture(event.pointerId); seek(event); });
  timeline.addEventListener("pointermove", (event) => { if (event.buttons) seek(event); });
  addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); legend(); draw(); });
}

function start() {
  element("title").textContent = data.title;
  readColours();
  legend();
  home();
  play(state.playing);
  listen();
  draw();
  requestAnimationFrame((now) => { state.last = now; frame(now); });
}
