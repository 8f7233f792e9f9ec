import { Empty, html } from "../ui.js";

export default function Usage() {
  return html`
    <h1>Usage</h1>
    <${Empty} title="No figures yet" />
  `;
}
