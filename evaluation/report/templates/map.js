// The map of the paths: coasts, all chains faint, the current one strong, and a time slider.
const drawMap = async (figure, { text, css, plotly, choices }) => {
  const [world, Plotly] = await Promise.all([text(figure.querySelector("script")).then(JSON.parse), plotly()]);
  const [select, slider] = [figure.querySelector("select"), figure.querySelector("input")];
  const place = figure.querySelector(".chart");
  const about = figure.querySelector(".about");

  // Longitudes are relative to the path's middle, so no path is cut at the date line.
  const turned = (lon, middle) => ((lon - middle + 540) % 360 + 360) % 360 - 180 + middle;
  const line = (points, middle) => {
    const found = { x: [], y: [] };
    points.forEach(([lon, lat], index) => {
      const x = turned(lon, middle);
      if (index && Math.abs(x - found.x[found.x.length - 1]) > 180) { found.x.push(null); found.y.push(null); }
      found.x.push(x);
      found.y.push(lat);
    });
    found.x.push(null);
    found.y.push(null);
    return found;
  };
  const joined = (lines) => ({ x: lines.flatMap((one) => one.x), y: lines.flatMap((one) => one.y) });
  const points = (chain) => chain.lon.map((lon, index) => [lon, chain.lat[index]]);

  const chainAt = (path) => [...path.chains].reverse().find((one) => one.start_s <= slider.value) ?? path.chains[0];
  const inUse = (path) => {
    const chain = chainAt(path);
    const symbols = { user: "circle", satellite: "diamond", gateway: "triangle-up" };
    const ends = [0, chain.names.length - 1];
    return { chain, trace: { type: "scatter", mode: "lines+markers+text", x: chain.lon.map((lon) => turned(lon, path.middle)), y: chain.lat,
      line: { color: css("--accent"), width: 2 }, text: chain.names.map((name, index) => ends.includes(index) ? name : ""),
      textposition: "bottom center", textfont: { color: css("--ink"), size: 12 }, customdata: chain.names, hovertemplate: "%{customdata}<extra></extra>",
      marker: { symbol: chain.kinds.map((kind) => symbols[kind]), color: css("--accent"), line: { color: css("--paper"), width: 1 },
        size: chain.kinds.map((kind) => kind === "satellite" ? 7 : 11) } } };
  };

  const draw = () => {
    const path = world.paths[select.value];
    const coasts = joined(world.coasts.map((coast) => line(coast, path.middle)));
    const all = joined(path.chains.map((chain) => line(points(chain), path.middle)));
    const { chain, trace } = inUse(path);
    const xs = all.x.filter((x) => x !== null), ys = all.y.filter((y) => y !== null);
    const event = chain.event ? `, after a ${chain.event}` : "";
    about.textContent = `At ${slider.value} s of the path trace: ${chain.names.length - 1} hops, in use since ${chain.start_s} s${event}.`;
    place.setAttribute("aria-label", `Map of ${path.title}. ${about.textContent} ${path.chains.length} chains in ${path.window_s} s.`);
    const axis = { gridcolor: css("--rule"), zeroline: false, ticksuffix: "°", color: css("--muted") };
    return Plotly.react(place, [
      { type: "scatter", mode: "lines", ...coasts, line: { color: css("--muted"), width: .8 }, hoverinfo: "skip" },
      { type: "scatter", mode: "lines", ...all, line: { color: css("--accent"), width: 1 }, opacity: .3, hoverinfo: "skip" },
      trace,
    ], {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, hovermode: "closest", dragmode: "pan",
      margin: { l: 44, r: 8, t: 8, b: 32 }, font: { family: css("--sans"), size: 12 }, uirevision: path.name,
      xaxis: { ...axis, range: [Math.min(...xs) - 8, Math.max(...xs) + 8], constrain: "domain" },
      yaxis: { ...axis, range: [Math.max(-85, Math.min(...ys) - 8), Math.min(85, Math.max(...ys) + 8)], scaleanchor: "x", scaleratio: 1.25 },
    }, { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] });
  };

  choices(select, world.paths.map((path) => `${path.name}: ${path.title}`));
  slider.max = world.paths[0].window_s - 1;
  for (const [element, event] of [[select, "change"], [slider, "input"]]) element.addEventListener(event, draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  await draw();
  figure.classList.add("drawn");
};
