// Shows the lasers of a network, coloured by load over time, on the globe of sphere.js.
const network = data.network;
const LEVELS = 8;
const IDLE = 0.005;

// Return the sample at or before a time, and how far the time is on the way to the next.
function sampleAt(time) {
  const index = Math.max(0, lastBefore(network.time_s, (start) => start, time));
  const next = Math.min(index + 1, network.time_s.length - 1);
  const length = network.time_s[next] - network.time_s[index];
  return [index, next, length ? (time - network.time_s[index]) / length : 0];
}

function positions(time) {
  const [index, next, part] = sampleAt(time);
  const [from, to] = [network.km[index], network.km[next]], points = [];
  for (let at = 0; at < from.length; at += 3)
    points.push([0, 1, 2].map((axis) => (from[at + axis] * (1 - part) + to[at + axis] * part) * 10 / data.earth_km));
  return points;
}

// From blue for an idle laser to red for a full one.
const colourOf = (load) => `hsl(${220 - 220 * Math.min(1, load)} 85% 50%)`;

function drawOnEarth(context, project) {
  const [index] = sampleAt(state.time), points = positions(state.time).map(project);
  const lines = Array.from({ length: LEVELS + 1 }, () => []);
  network.lasers.forEach((ends, laser) => {
    const load = network.load[index][laser] / 100;
    if (load > IDLE) lines[Math.min(LEVELS, Math.ceil(load * LEVELS))].push(ends);
  });
  const draw = (pairs, ends, colour, thickness) => {
    context.beginPath();
    for (const pair of pairs) {
      const [[x, y, seen], [toX, toY, toSeen]] = ends(pair);
      if (!seen || !toSeen) continue;
      context.moveTo(x, y);
      context.lineTo(toX, toY);
    }
    context.strokeStyle = colour;
    context.lineWidth = thickness;
    context.stroke();
  };
  draw(network.ground[index], ([site, satellite]) => [project(sites[site][1]), points[satellite]], colours.soft, 0.6);
  lines.forEach((pairs, level) => draw(pairs, ([from, to]) => [points[from], points[to]], colourOf(level / LEVELS), 1 + level / 4));
}

function drawTimeline() {
  const [context, width, height] = sized(timeline);
  const inner = width - LEFT - RIGHT, floor = height - BOTTOM, high = Math.max(...network.goodput_mbps, 1);
  const x = (time) => LEFT + (time / data.period_s) * inner;
  context.beginPath();
  network.goodput_mbps.forEach((rate, sample) => {
    context.lineTo(x(network.time_s[sample]), floor - (rate / high) * (floor - TOP));
  });
  context.strokeStyle = colours.delay;
  context.lineWidth = 1.5;
  context.stroke();
  context.fillStyle = colours.soft;
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "right";
  context.fillText(high.toFixed(0), LEFT - 4, TOP + 9);
  context.fillText("Mbit/s", LEFT - 4, floor);
  context.fillText(data.period_s.toFixed(0) + " s", width - RIGHT, height - 4);
  context.textAlign = "left";
  context.fillText("0 s", LEFT, height - 4);
  context.fillStyle = colours.ink;
  context.fillRect(x(state.time) - 0.75, TOP - 4, 1.5, floor - TOP + 22);
}

function describe() {
  const [index] = sampleAt(state.time), loads = network.load[index];
  const busy = loads.filter((load) => load > 100 * IDLE).length, full = loads.filter((load) => load >= 90).length;
  element("now").textContent = `${state.time.toFixed(1)} s: ${network.goodput_mbps[index].toFixed(0)} Mbit/s of goodput; `
    + `${busy} lasers carry packets, ${full} at 90 % of their capacity or more`;
  element("chain").textContent = network.about;
}

function home() {
  const middle = [0, 1, 2].map((axis) => sites.reduce((sum, [, point]) => sum + point[axis], 0));
  state.lon = Math.atan2(middle[1], middle[0]) / RAD;
  state.lat = Math.atan2(middle[2], Math.hypot(middle[0], middle[1])) / RAD;
  // Stations of a region fill the canvas.
  const length = Math.hypot(...middle) || 1;
  const cosines = sites.map(([, point]) => point.reduce((sum, value, axis) => sum + value * middle[axis], 0) / length);
  const widest = Math.acos(Math.max(-1, Math.min(1, ...cosines))) + 12 * RAD;
  state.zoom = widest < Math.PI / 2 ? Math.min(4, 1 / Math.sin(widest)) : 1;
}

function legend() {
  element("legend").replaceChildren();
  for (const [label, colour] of [["station", colours.hard], ["ground link in use", colours.soft],
    ["laser at 10 %", colourOf(0.1)], ["50 %", colourOf(0.5)], ["100 % of its capacity", colourOf(1)]]) {
    const [entry, key] = [document.createElement("span"), document.createElement("span")];
    key.className = "key";
    key.style.background = colour;
    entry.style.whiteSpace = "nowrap";
    entry.append(key, label);
    element("legend").append(entry, " ");
  }
}

start();
