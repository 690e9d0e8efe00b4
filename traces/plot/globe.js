// Plays a path trace on the globe of sphere.js.
const FLASH_MS = 900;

const LABELS = { hard_handover: "hard handover", soft_handover: "soft handover", unreachable: "unreachable" };
const gateways = data.gateways.map(([lon, lat]) => onGround(lon, lat));

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

function drawOnEarth(context, project) {
  context.fillStyle = colours.soft;
  for (const gateway of gateways) dot(context, project(gateway), 1.6);
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

start();
