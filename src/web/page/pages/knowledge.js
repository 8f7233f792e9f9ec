import { ask } from "../api.js";
import {
  count,
  Empty,
  html,
  library,
  percent,
  plain,
  Problem,
  to,
  useEffect,
  useLoad,
  useRef,
  useState,
} from "../ui.js";

const COLOURS = ["#3157c9", "#0f8a6d", "#b4541a", "#8a3fb0", "#b0355f", "#5c6f00", "#1a7aa0", "#7a5a3c"];

/** The learned graph: which tool followed which, and why. */
export default function Knowledge() {
  const { data, error, reload } = useLoad((signal) => ask("graph_all", {}, signal));
  const status = useLoad((signal) => ask("status", {}, signal));
  const [chosen, setChosen] = useState("");
  const edges = (data?.edges ?? []).filter(({ from, to }) => !chosen || from === chosen || to === chosen);
  const nodes = (data?.nodes ?? []).toSorted((a, b) => b.rank - a.rank);
  const { outcomes = 0, right = 0 } = status.data?.suggestions ?? {};
  const { made = 0, used = 0 } = status.data?.ahead ?? {};
  return html`<h1>Knowledge</h1><${Problem} error=${error} onRetry=${reload} />
    ${
    data && nodes.length === 0 && html`
      <${Empty}
        title="Nothing was learned in this folder yet">Each call that uses what another call gave adds an edge. <a href=${to(
          "tools",
        )}>Call some tools</a>, or let an agent work.<//>
    `
  }
    ${
    nodes.length > 0 && html`
      <p class="dim">${count(nodes.length)} tools, ${count(data.edges.length)} dependencies in ${count(
        new Set(nodes.map(({ group }) => group)).size,
      )} communities${outcomes > 0
        ? `; of ${count(outcomes)} suggestions ${percent(right, outcomes)} were right`
        : ""}${made > 0
        ? `; of ${count(made)} reads made ahead ${count(used)} were of use and ${count(made - used)} for nothing`
        : ""}</p>
      <${Drawing} nodes=${nodes} edges=${data.edges} chosen=${chosen} onChoose=${setChosen} />
      <div class="columns">
        <section aria-labelledby="ranks">
          <h2 id="ranks">Tools by rank</h2>
          <ol class="lines">${nodes.slice(0, 30).map((node) =>
            html`
              <li
                key=${node
                  .id}><button type="button" class="link-button" aria-pressed=${chosen === node.id} onClick=${() =>
                  setChosen(chosen === node.id ? "" : node.id)}>${plain(
                    node.id,
                    100,
                  )}</button> <span class="dim">rank ${(100 * node.rank).toFixed(1)}, community ${node.group +
                  1}</span></li>
            `
          )}</ol>
        </section>
        <section aria-labelledby="edges">
          <h2 id="edges">${chosen ? html`Dependencies of ${plain(chosen, 80)}` : "Dependencies"}</h2>
          <div class="scroll" tabindex="0" role="region" aria-label="Table of dependencies">
            <table>
              <thead>
                <tr>
                  <th>From</th>
                  <th>To</th>
                  <th>Reason</th>
                  <th class="num">Seen</th>
                  <th class="num">Trust</th>
                </tr>
              </thead>
              <tbody>
              ${edges.slice(0, 100).map((edge, i) =>
                html`
                  <tr key=${i}>
                    <td>${plain(edge.from, 60)}</td>
                    <td>${plain(edge.to, 60)}</td>
                    <td class="dim">${plain(edge.reason, 100)}</td>
                    <td class="num">${count(edge.seen)}${edge.failed > 0
                      ? html`
                        <span class="dim">(${edge.failed} failed)</span>
                      `
                      : ""}</td>
                    <td class="num">${edge.trust.toFixed(2)}</td>
                  </tr>
                `
              )}</tbody>
            </table>
          </div>
        </section>
      </div>
    `
  }`;
}

/** Communities as circles on a circle; sizes by rank. */
function Drawing({ nodes, edges, chosen, onChoose }) {
  const box = useRef(null);
  const drawn = useRef();
  const [problem, setProblem] = useState();
  useEffect(() => {
    let isGone = false;
    const draw = async () => {
      await library("graphology.js");
      await library("sigma.js");
      if (isGone) return;
      const graph = new globalThis.graphology.DirectedGraph();
      const groups = [...new Set(nodes.map(({ group }) => group))].sort((a, b) => a - b);
      groups.forEach((group, g) => {
        const own = nodes.filter((node) => node.group === group);
        const [cx, cy] = groups.length === 1
          ? [0, 0]
          : [4 * Math.cos(2 * Math.PI * g / groups.length), 2.4 * Math.sin(2 * Math.PI * g / groups.length)];
        const radius = own.length === 1 ? 0 : 0.6 + 0.12 * own.length;
        own.forEach(({ id, rank }, i) => {
          const angle = 2 * Math.PI * i / own.length;
          graph.addNode(id, {
            label: plain(id, 60),
            x: cx + radius * Math.cos(angle),
            y: cy + radius * Math.sin(angle),
            size: 5 + 40 * Math.sqrt(rank / 6),
            color: COLOURS[group % COLOURS.length],
          });
        });
      });
      const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
      for (const { from, to, seen } of edges) {
        if (graph.hasNode(from) && graph.hasNode(to)) {
          graph.mergeEdge(from, to, {
            size: 1 + Math.log2(1 + seen) / 2,
            color: isDark ? "#4a5266" : "#b9c1d0",
            type: "arrow",
          });
        }
      }
      const renderer = new globalThis.Sigma(graph, box.current, {
        labelColor: { color: isDark ? "#e6e9f0" : "#1c2230" },
        labelFont: "system-ui, sans-serif",
        labelSize: 12,
        labelRenderedSizeThreshold: 0,
        defaultEdgeType: "arrow",
      });
      renderer.on("clickNode", ({ node }) => onChoose(node));
      renderer.on("clickStage", () => onChoose(""));
      drawn.current = renderer;
    };
    draw().catch((error) => isGone || setProblem(error));
    return () => (isGone = true, drawn.current?.kill(), drawn.current = undefined);
  }, [nodes.length, edges.length]);
  useEffect(() => {
    drawn.current?.setSetting(
      "edgeReducer",
      (edge, data) =>
        chosen && !drawn.current.getGraph().extremities(edge).includes(chosen) ? { ...data, hidden: true } : data,
    );
  }, [chosen]);
  if (problem) {
    return html`<p class="dim">The drawing needs WebGL, which this browser does not offer; the tables below have the same.</p>`;
  }
  return html`<div class="knowledge" ref=${box} role="img" aria-label=${`A drawing of ${nodes.length} tools and ${edges.length} dependencies; the tables below have the same`}></div>`;
}
