"use strict";
// Plays a path trace on a globe in orthographic projection, drawn on two canvases.
const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);
const globe = element("globe"), timeline = element("timeline");
const LABELS = { hard_handover: "hard handover", soft_handover: "soft handover", unreachable: "unreachable" };
const RAD = Math.PI / 180;
const FLASH_MS = 900;

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
const gateways = data.gateways.map(([lon, lat]) => onGround(lon, lat));

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

function spanAt(time) {
  const index = lastBefore(data.chains.spans, (span) => span.start_s, time);
  return index >= 0 && time < data.chains.spans[index].end_s ? index : -1;
}

// Interpolate the positions of a chain's nodes linearly between samples.
function positions(span, time) {
  const along = ((time - span.start_s) / (span.end_s - span.start_s)) * (span.samples - 1);
  const first = Math.max(0, Math.min(span.samples - 2, Math.floor(along)));
  const part = Math.max(0, Math.min(1, along - first)), size = span.nodes.length * 3;
  return span.nodes.map((_, node) => [0, 1, 2].map((axis) => {
    const at = first * size + node * 3 + axis;
    return (span.km[at] * (1 - part) + span.km[at + size] * part) / data.earth_km;
  }));
}

function home() {
  const first = data.chains.spans.length ? positions(data.chains.spans[0], 0) : sites.map((site) => site[1]);
  if (!first.length) return;
  const middle = [0, 1, 2].map((axis) => first.reduce((sum, point) => sum + point[axis], 0));
  state.lon = Math.atan2(middle[1], middle[0]) / RAD;
  state.lat = Math.atan2(middle[2], Math.hypot(middle[0], middle[1])) / RAD;
  const length = Math.hypot(...middle) || 1;
  const widest = Math.max(...first.map((point) => {
    const cosine = point.reduce((sum, value, axis) => sum + value * middle[axis], 0) / length / Math.hypot(...point);
    return Math.acos(Math.min(1, cosine));
  }));
  state.zoom = Math.max(1, Math.min(4, 0.8 / Math.sin(Math.min(Math.PI / 2, widest + 0.08))));
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
  context.fillStyle = colours.soft;
  for (const gateway of gateways) dot(context, project(gateway), 1.6);
  drawChain(context, project);
  context.font = "600 13px system-ui, sans-serif";
  context.textAlign = "center";
  for (const [name, point] of sites) {
    const [x, y, seen] = project(point);
    if (!seen) continue;
    context.fillStyle = colours.hard;
    dot(context, [x, y, true], 4.5);
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

function drawChain(context, project) {
  const index = spanAt(state.time), spans = data.chains.spans;
  if (index < 0) return;
  const span = spans[index], age = ((state.time - span.start_s) / state.speed) * 1000;
  const fresh = span.event && age < FLASH_MS;
  const before = spans[index - 1];
  if (fresh && before) line(context, project, positions(before, before.end_s), colours.soft, 1.2, [4, 4]);
  const points = positions(span, state.time);
  const up = rowAt(state.time).connected;
  line(context, project, points, fresh ? colours[span.event] : colours.delay, fresh ? 3.5 : 2.2, up ? [] : [3, 5]);
  points.forEach((point, node) => {
    const kind = data.chains.nodes[span.nodes[node]][1];
    context.fillStyle = kind === "gateway" ? colours.softly : colours.ink;
    if (kind !== "user") dot(context, project(point), kind === "gateway" ? 4 : 3.2);
  });
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

const series = data.series;
function rowAt(time) {
  let low = 0, high = series.time_s.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (series.time_s[middle] <= time) low = middle + 1; else high = middle;
  }
  const row = Math.max(0, low - 1);
  return { up_delay_ms: series.up_delay_ms[row], down_delay_ms: series.down_delay_ms[row], uplink_mbps: series.uplink_mbps[row],
    downlink_mbps: series.downlink_mbps[row], connected: series.connected[row] };
}

const LEFT = 56, RIGHT = 10, TOP = 8, BOTTOM = 34;
function drawTimeline() {
  const [context, width, height] = sized(timeline);
  const inner = width - LEFT - RIGHT, floor = height - BOTTOM;
  const both = series.up_delay_ms.concat(series.down_delay_ms);
  const low = Math.min(...both), high = Math.max(...both, low + 1);
  const x = (time) => LEFT + (time / data.period_s) * inner;
  const y = (delay) => floor - ((delay - low) / (high - low)) * (floor - TOP);
  context.fillStyle = colours.down;
  series.connected.forEach((up, row) => {
    const end = row + 1 < series.time_s.length ? series.time_s[row + 1] : data.period_s;
    if (!up) context.fillRect(x(series.time_s[row]), TOP, Math.max(0.5, x(end) - x(series.time_s[row])), floor - TOP);
  });
  // Where the directions are alike, up covers down.
  for (const [delays, colour] of [[series.down_delay_ms, colours.hard_handover], [series.up_delay_ms, colours.delay]]) {
    context.beginPath();
    series.time_s.forEach((time, row) => {
      if (row) context.lineTo(x(time), y(delays[row - 1]));
      context.lineTo(x(time), y(delays[row]));
    });
    context.strokeStyle = colour;
    context.lineWidth = 1.2;
    context.stroke();
  }
  for (const [time, kind] of data.events) {
    context.fillStyle = colours[kind] || colours.gone;
    context.fillRect(x(time), floor + 3 + (kind === "soft_handover" ? 7 : 0), 1, 6);
  }
  context.fillStyle = colours.soft;
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "right";
  context.fillText(high.toFixed(1) + " ms", LEFT - 4, TOP + 9);
  context.fillText(low.toFixed(1), LEFT - 4, floor);
  context.textAlign = "left";
  context.fillText("0 s", LEFT, height - 4);
  context.textAlign = "right";
  context.fillText(data.period_s.toFixed(0) + " s", width - RIGHT, height - 4);
  context.fillStyle = colours.ink;
  context.fillRect(x(state.time) - 0.75, TOP - 4, 1.5, floor - TOP + 22);
}

const LONGEST = 9;
function chainText(index) {
  const names = data.chains.spans[index].nodes.map((node) => data.chains.nodes[node][0].replace("satellite ", ""));
  if (names.length > LONGEST) names.splice(4, names.length - LONGEST + 1, `${names.length - LONGEST + 1} more`);
  return names.join(" → ");
}

function describe() {
  const row = rowAt(state.time), index = spanAt(state.time);
  const same = row.uplink_mbps === row.downlink_mbps;
  const rate = same ? `${row.uplink_mbps} Mbit/s` : `${row.uplink_mbps} up, ${row.downlink_mbps} down Mbit/s`;
  const up = row.up_delay_ms.toFixed(2), down = row.down_delay_ms.toFixed(2);
  const delay = up === down ? `${up} ms one way` : `${up} ms up, ${down} ms down`;
  const event = data.events[lastBefore(data.events, (entry) => entry[0], state.time)];
  const recent = event ? `; ${LABELS[event[1]] || event[1]} ${(state.time - event[0]).toFixed(1)} s ago` : "";
  const status = row.connected ? "" : " (down)";
  element("now").textContent =
    `${state.time.toFixed(1)} s: ${delay}${status}, ${rate}${recent}`;
  element("chain").textContent = index < 0 ? (data.chains.spans.length ? "no route" : "") : chainText(index);
}

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

function legend() {
  element("legend").replaceChildren();
  const entries = [["path", colours.delay], ["hard handover", colours.hard], ["soft handover", colours.softly]];
  if (gateways.length) entries.push(["gateway", colours.soft]);
  if (data.events.some((entry) => entry[1] === "unreachable")) entries.push(["unreachable", colours.gone]);
  for (const [label, colour] of entries) {
    const key = document.createElement("span");
    key.className = "key";
    key.style.background = colour;
    element("legend").append(key, label);
  }
}

element("title").textContent = data.title;
readColours();
legend();
home();
play(state.playing);
listen();
draw();
requestAnimationFrame((now) => { state.last = now; frame(now); });
