// The page's script: unpacks packed parts and draws time series when they come into view.
(() => {
  "use strict";

  const text = async (element) => {
    const bytes = Uint8Array.from(atob(element.textContent), (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // plotly.js is a third of the page: unpack it once, when the first chart needs it.
  let library;
  const plotly = () => library ??= text(document.getElementById("plotly")).then((source) => {
    const script = document.createElement("script");
    script.textContent = source;
    document.head.append(script);
    return window.Plotly;
  });

  const times = (run, first, values) => values.map((_, index) => (first + index + 0.5) * run.step_s);

  const traces = (scenario, run) => {
    const shown = scenario.together ? scenario.runs : [run];
    const found = [];
    const line = (color, extra) => ({ mode: "lines", type: "scatter", line: { color, width: 1.6, ...extra } });
    const one = shown[0];
    const end = one.capacity.length > 1 ? null : Math.max(...one.flows.map((flow) => flow.first + flow.goodput.length));
    const capacity = end === null ? one.capacity : [one.capacity[0], one.capacity[0]];
    if (capacity.some((value) => value != null)) found.push({ ...line(css("--muted"), { width: 1, dash: "dot" }), name: "capacity", y: capacity, yaxis: "y",
      x: end === null ? times(one, 0, capacity) : [0, end * one.step_s], hovertemplate: "%{y:.4~g} Mbit/s" });
    let number = 0;
    for (const each of shown) {
      for (const flow of each.flows) {
        // Show six lines, which a reader can distinguish; the legend adds others.
        const visible = scenario.together && number >= 6 ? "legendonly" : true;
        number += 1;
        for (const [row, axis, unit] of [["goodput", "y", " Mbit/s"], ["ratio", "y2", " ×"], ["cwnd", "y3", " packets"]]) {
          found.push({ ...line(css(`--c-${flow.color}`), { dash: flow.dash }), name: flow.name, legendgroup: flow.name + number,
            showlegend: row === "goodput", x: times(each, flow.first, flow[row]), y: flow[row], yaxis: axis, visible,
            connectgaps: false, hovertemplate: `%{y:.3~g}${unit}` });
        }
      }
    }
    for (const [row, name, symbol] of [["changes", "path change", "line-ns-open"], ["outages", "outage", "x-thin-open"]]) {
      if (one[row].length) {
        found.push({ type: "scatter", mode: "markers", name, x: one[row], y: one[row].map(() => name), yaxis: "y4", showlegend: false,
          marker: { symbol, size: 8, color: css(row === "outages" ? "--bad" : "--ink"), line: { width: 1.2 } }, hovertemplate: `${name} at %{x} s` });
      }
    }
    return found;
  };

  const layout = (width, eventful, end) => {
    // Without a trace an axis is not drawn, and the time axis would move.
    const below = eventful ? 0.13 : 0;
    const narrow = width < 560;
    const axis = (title, from, to, more) => ({ title: { text: title, font: { size: 12 } }, domain: [from, to], gridcolor: css("--rule"),
      zeroline: false, rangemode: "tozero", fixedrange: narrow, automargin: true, ...more });
    return {
      autosize: true, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "x", hoverlabel: { font: { size: 11 } },
      font: { family: css("--sans"), size: 12, color: css("--muted") }, margin: { l: narrow ? 46 : 60, r: 8, t: 8, b: 40 },
      legend: { orientation: "h", yanchor: "bottom", y: 1.02, x: 0, font: { color: css("--ink") }, groupclick: "togglegroup" },
      xaxis: { title: { text: "time (s)" }, gridcolor: css("--rule"), zeroline: false, anchor: eventful ? "y4" : "y3", fixedrange: narrow,
        range: [0, end] },
      yaxis: axis("goodput (Mbit/s)", 0.69, 1), yaxis2: axis("RTT / base RTT", 0.35 + below / 2, 0.65, { rangemode: "normal" }),
      yaxis3: axis("cwnd (packets)", below, 0.31 + below / 2),
      yaxis4: { domain: [0, 0.08], type: "category", fixedrange: true, showgrid: false, automargin: true, tickfont: { size: 10 },
        categoryarray: ["outage", "path change"], range: [-0.6, 1.6], zeroline: false },
    };
  };

  const choices = (select, names) => select.replaceChildren(...names.map((name, index) => new Option(name, index)));

  const explore = async (figure) => {
    const [chart, Plotly] = await Promise.all([text(figure.querySelector("script")).then(JSON.parse), plotly()]);
    const [scenarios, runs] = figure.querySelectorAll("select");
    const place = figure.querySelector(".chart");
    const about = figure.querySelector(".about");
    const draw = () => {
      const scenario = chart.scenarios[scenarios.value];
      const run = scenario.runs[scenario.together ? 0 : runs.value];
      about.textContent = `Repeat ${run.repeat}, ${run.offset_s ? `from ${run.offset_s.toFixed(0)} s of the path trace, ` : ""}in steps of ${run.step_s} s.`;
      place.setAttribute("aria-label", `Goodput, RTT over base RTT and congestion window over time in ${scenario.name}: ` +
        (scenario.together ? scenario.runs.map((each) => each.name).join(", ") : run.name));
      const events = [["changes", "path changes"], ["outages", "outages"]].filter(([row]) => run[row].length).map(([, name]) => name);
      figure.querySelector(".events").textContent = events.length ? `; below, the path’s ${events.join(" and ").replace("path ", "")}` : "";
      const drawn = traces(scenario, run);
      const end = Math.max(...drawn.map((one) => one.x[one.x.length - 1]));
      return Plotly.react(place, drawn, layout(place.clientWidth, drawn.some((one) => one.yaxis === "y4"), end),
        { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] });
    };
    const reset = () => {
      const before = runs.selectedOptions[0]?.text;
      const scenario = chart.scenarios[scenarios.value];
      const names = scenario.runs.map((run) => run.name);
      runs.closest("label").hidden = scenario.together;
      choices(runs, names);
      runs.value = Math.max(0, names.indexOf(before));
    };
    choices(scenarios, chart.scenarios.map((one) => one.name));
    reset();
    scenarios.addEventListener("change", () => { reset(); draw(); });
    runs.addEventListener("change", draw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    await draw();
    figure.classList.add("drawn");
  };

  const unpack = async (part) => {
    if (part.dataset.state) return;
    part.dataset.state = "unpacking";
    part.innerHTML = await text(part.querySelector("script"));
    part.dataset.state = "unpacked";
  };

  if (!("DecompressionStream" in window)) {
    document.documentElement.classList.add("old");
    return;
  }
  document.documentElement.classList.add("script");
  const whenNear = (selector, margin, act) => {
    const watch = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
      watch.unobserve(entry.target);
      act(entry.target);
    }), { rootMargin: margin });
    document.querySelectorAll(selector).forEach((element) => watch.observe(element));
  };
  whenNear(".packed", "1500px", unpack);
  whenNear(".explorer", "300px", explore);
  whenNear(".map", "300px", (figure) => drawMap(figure, { text, css, plotly, choices }));

  // Unpack the remaining parts when idle, to make them searchable and printable.
  const later = window.requestIdleCallback ?? ((act) => setTimeout(act, 200));
  const rest = [...document.querySelectorAll(".packed")];
  const next = () => { const part = rest.shift(); if (part) unpack(part).then(() => later(next)); };
  addEventListener("load", () => later(next));
})();
