// A run as a graph, from left to right. Small ones are laid out by dagre, large ones in columns; what is in sight is drawn.
import { duration, html, plain, toneOf, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./ui.js";

const WIDTH = 176;
const HEIGHT = 46;
const GAP_X = 56;
const GAP_Y = 14;
const MOST_BY_DAGRE = 200;
const MARGIN = 400;

/** The columns of a plan: each task stands right of all that it needs. */
function columns(tasks) {
  const layer = new Map();
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const depth = (task) => {
    if (layer.has(task.id)) return layer.get(task.id);
    layer.set(task.id, 0);
    const needs = task.depends_on.map((id) => byId.get(id)).filter(Boolean);
    const own = needs.length === 0 ? 0 : 1 + Math.max(...needs.map(depth));
    layer.set(task.id, own);
    return own;
  };
  // In the order of the plan needs come first, so that the recursion stays flat.
  const filled = new Map();
  const places = new Map();
  for (const task of tasks) {
    const column = depth(task);
    const row = filled.get(column) ?? 0;
    filled.set(column, row + 1);
    places.set(task.id, { x: column * (WIDTH + GAP_X), y: row * (HEIGHT + GAP_Y) });
  }
  return places;
}

async function byDagre(tasks) {
  const { Graph, graphlib, layout, default: all } = await import("/lib/dagre.js");
  const GraphClass = Graph ?? graphlib?.Graph ?? all?.graphlib?.Graph;
  const graph = new GraphClass();
  graph.setGraph({ rankdir: "LR", nodesep: GAP_Y, ranksep: GAP_X, marginx: 0, marginy: 0 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of tasks) graph.setNode(id, { width: WIDTH, height: HEIGHT });
  const known = new Set(tasks.map(({ id }) => id));
  for (const { id, depends_on } of tasks) for (const need of depends_on) if (known.has(need)) graph.setEdge(need, id);
  (layout ?? all.layout)(graph);
  return new Map(tasks.map(({ id }) => {
    const { x, y } = graph.node(id);
    return [id, { x: x - WIDTH / 2, y: y - HEIGHT / 2 }];
  }));
}

export function Graph({ tasks, path, onChoose, chosen }) {
  const box = useRef(null);
  const shape = tasks.map(({ id, depends_on }) => `${id}<${depends_on.join()}`).join(";");
  const simple = useMemo(() => columns(tasks), [shape]);
  const [nice, setNice] = useState();
  const [sight, setSight] = useState({ left: 0, top: 0, width: 1600, height: 900 });
  useEffect(() => {
    setNice(undefined);
    if (tasks.length > MOST_BY_DAGRE) return;
    let isGone = false;
    byDagre(tasks).then((places) => isGone || setNice(places), (error) => globalThis.reportError?.(error));
    return () => isGone = true;
  }, [shape]);
  const look = () => {
    const { scrollLeft: left, scrollTop: top, clientWidth: width, clientHeight: height } = box.current;
    setSight({ left, top, width, height });
  };
  useLayoutEffect(look, []);
  const places = nice && tasks.every(({ id }) => nice.has(id)) ? nice : simple;
  const [width, height] = useMemo(() => {
    const all = [...places.values()];
    return [Math.max(...all.map(({ x }) => x)) + WIDTH + 8, Math.max(...all.map(({ y }) => y)) + HEIGHT + 8];
  }, [places]);
  if (tasks.length === 0) return null;
  const isSeen = ({ x, y }) =>
    x + WIDTH > sight.left - MARGIN && x < sight.left + sight.width + MARGIN && y + HEIGHT > sight.top - MARGIN &&
    y < sight.top + sight.height + MARGIN;
  const seen = tasks.filter(({ id }) => isSeen(places.get(id)));
  const seenIds = new Set(seen.map(({ id }) => id));
  const edges = tasks.flatMap(({ id, depends_on }) =>
    depends_on.filter((need) => places.has(need) && (seenIds.has(id) || seenIds.has(need))).map((need) => [need, id])
  );
  const move = (event, task) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return onChoose(task.id);
    }
    const next = event.key === "ArrowRight"
      ? tasks.find(({ depends_on }) => depends_on.includes(task.id))?.id
      : event.key === "ArrowLeft"
      ? task.depends_on[0]
      : event.key === "ArrowDown" || event.key === "ArrowUp"
      ? beside(task, event.key === "ArrowDown")
      : undefined;
    if (next === undefined) return;
    event.preventDefault();
    box.current.querySelector(`[data-task="${CSS.escape(next)}"]`)?.focus();
  };
  const beside = (task, isDown) => {
    const { x, y } = places.get(task.id);
    return tasks.map(({ id }) => ({ id, ...places.get(id) })).filter((place) =>
      Math.abs(place.x - x) < WIDTH / 2 && (isDown ? place.y > y : place.y < y)
    )
      .sort((a, b) => isDown ? a.y - b.y : b.y - a.y)[0]?.id;
  };
  return html`
    <div class="graph" ref=${box} onScroll=${look} tabindex="0" role="region" aria-label=${`Graph of ${tasks.length} tasks`}>
      <svg width=${width} height=${height} viewBox=${`-2 -2 ${width} ${height}`} role="group" aria-label="Tasks and what they need">
          ${edges.map(([from, to]) => {
            const a = places.get(from);
            const b = places.get(to);
            const [x1, y1, x2, y2] = [a.x + WIDTH, a.y + HEIGHT / 2, b.x, b.y + HEIGHT / 2];
            const bend = Math.max(16, (x2 - x1) / 2);
            return html`<path key=${`${from}>${to}`} class=${
              path.has(from) && path.has(to) ? "edge critical" : "edge"
            } d=${`M${x1},${y1}C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`} />`;
          })}
          ${seen.map((task) => {
            const { x, y } = places.get(task.id);
            const note = task.status === "success" || task.status === "error"
              ? duration(task.ms)
              : task.status.replaceAll("_", " ");
            const tries = task.attempt > 1 ? ` ×${task.attempt}` : "";
            const shown = [fit(plain(task.id, 80), 22), fit(plain(task.what, 80), 17), `${fit(note, 11)}${tries}`];
            return html`
              <g key=${task.id} data-task=${task.id} class=${`node ${toneOf(task.status)} ${task.status} ${
                path.has(task.id) ? "critical" : ""
              } ${chosen === task.id ? "chosen" : ""}`} transform=${`translate(${x},${y})`}
                tabindex="0" role="button" aria-label=${nameOf(task, shown, path)}
                onClick=${() => onChoose(task.id)} onKeyDown=${(event) => move(event, task)}>
                <rect width=${WIDTH} height=${HEIGHT} rx="7" />
                <rect class="mark" width="4" height=${HEIGHT - 14} x="6" y="7" rx="2" />
                <text x="17" y="19">${shown[0]}</text>${" "}
                <text class="dim" x="17" y="36">${shown[1]}</text>${" "}
                <text class="dim" x=${WIDTH - 8} y="36" text-anchor="end">${shown[2]}</text>
              </g>
            `;
          })}
        </svg>
    </div>
  `;
}

/** The accessible name of a task: the words that are seen, then those that were too long to be seen. */
function nameOf({ id, what }, shown, path) {
  const whole = [plain(id, 80), plain(what, 80)].filter((text, i) => text !== shown[i]);
  return [shown.join(" "), ...whole, ...(path.has(id) ? ["on the critical path"] : [])].join(", ");
}

function fit(text, most) {
  const letters = [...text];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
}
