// Forms out of JSON Schema. A schema is foreign: it is bounded, and every word of it is text.
import { html, plain, useState } from "./ui.js";

const MOST_FIELDS = 60;
const DEEPEST = 3;

/** True if a form can be made of a schema; otherwise its value is typed as JSON. */
export function fitsForm(schema, depth = 0) {
  const properties = schema?.properties;
  if (!properties || typeof properties !== "object") return schema?.type === "object" || schema?.type === undefined;
  const names = Object.keys(properties);
  return names.length <= MOST_FIELDS && depth < DEEPEST;
}

function typeOf(schema) {
  const { type } = schema ?? {};
  if (Array.isArray(type)) return type.find((one) => one !== "null");
  return type;
}

function choicesOf(schema) {
  if (Array.isArray(schema?.enum)) {
    return schema.enum.map((value, i) => ({
      value,
      label: String(schema.enumNames?.[i] ?? JSON.stringify(value)).replace(/^"|"$/g, ""),
    }));
  }
  const options = schema?.oneOf ?? schema?.anyOf;
  if (Array.isArray(options) && options.length > 0 && options.every((one) => one && "const" in one)) {
    return options.map(({ const: value, title }) => ({ value, label: String(title ?? value) }));
  }
  return undefined;
}

/** The kind of field that a schema asks for. */
export function fieldKind(schema, depth = 0) {
  if (choicesOf(schema)) return "choice";
  switch (typeOf(schema)) {
    case "string":
      return "text";
    case "number":
    case "integer":
      return "number";
    case "boolean":
      return "flag";
    case "array": {
      const item = schema.items ?? {};
      return choicesOf(item) ? "choices" : ["string", "number", "integer"].includes(typeOf(item)) ? "lines" : "json";
    }
    case "object":
      return fitsForm(schema, depth + 1) && schema.properties ? "group" : "json";
    default:
      return "json";
  }
}

/** The first content of a form. */
export function firstContent(schema, given) {
  const start = {};
  for (const [name, property] of Object.entries(schema?.properties ?? {})) {
    const value = given && Object.hasOwn(given, name) ? given[name] : property?.default;
    start[name] = toField(property, value);
  }
  return start;
}

function toField(schema, value) {
  switch (fieldKind(schema)) {
    case "group":
      return firstContent(schema, value);
    case "flag":
      return value === undefined ? "" : String(value);
    case "choice": {
      const at = choicesOf(schema).findIndex((choice) => choice.value === value);
      return at < 0 ? "" : String(at);
    }
    case "choices":
      return choicesOf(schema.items).flatMap((choice, i) => (value ?? []).includes(choice.value) ? [i] : []);
    case "lines":
      return (value ?? []).join("\n");
    case "json":
      return value === undefined ? "" : JSON.stringify(value, null, 2);
    default:
      return value === undefined || value === null ? "" : String(value);
  }
}

/** Reads a form: its value, and what is wrong by field. */
export function readForm(schema, content, path = "") {
  const value = [];
  const problems = {};
  const required = new Set(Array.isArray(schema?.required) ? schema.required : []);
  for (const [name, property] of Object.entries(schema?.properties ?? {})) {
    const at = path ? `${path}.${name}` : name;
    const read = readField(property, content?.[name], at, required.has(name));
    if (read.problems) Object.assign(problems, read.problems);
    else if (read.value !== undefined) value.push([name, read.value]);
  }
  return { value: Object.fromEntries(value), problems };
}

function readField(schema, content, at, isRequired) {
  const wrong = (text) => ({ problems: { [at]: text } });
  const none = () => isRequired ? wrong("is needed") : { value: undefined };
  switch (fieldKind(schema)) {
    case "group": {
      const { value, problems } = readForm(schema, content, at);
      if (Object.keys(value).length === 0 && !isRequired) return { value: undefined };
      return Object.keys(problems).length > 0 ? { problems } : { value };
    }
    case "flag":
      return content === "" || content === undefined ? none() : { value: content === "true" };
    case "choice":
      return content === "" || content === undefined ? none() : { value: choicesOf(schema)[Number(content)].value };
    case "choices": {
      const value = (content ?? []).map((i) => choicesOf(schema.items)[i].value);
      return value.length === 0 && !isRequired ? { value: undefined } : { value };
    }
    case "lines": {
      const lines = String(content ?? "").split("\n").filter((line) => line !== "");
      if (lines.length === 0) return isRequired ? { value: [] } : { value: undefined };
      const isNumber = typeOf(schema.items) !== "string";
      if (isNumber && lines.some((line) => !Number.isFinite(Number(line)))) {
        return wrong("holds a line that is no number");
      }
      return { value: isNumber ? lines.map(Number) : lines };
    }
    case "number": {
      if (content === "" || content === undefined) return none();
      const value = Number(content);
      if (!Number.isFinite(value)) return wrong("is no number");
      if (typeOf(schema) === "integer" && !Number.isInteger(value)) return wrong("must be a whole number");
      if (value < (schema.minimum ?? -Infinity)) return wrong(`must be ${schema.minimum} or more`);
      if (value > (schema.maximum ?? Infinity)) return wrong(`must be ${schema.maximum} or less`);
      return { value };
    }
    case "json": {
      if (String(content ?? "").trim() === "") return none();
      try {
        return { value: JSON.parse(content) };
      } catch (error) {
        return wrong(`is not JSON: ${error.message}`);
      }
    }
    default: {
      const text = String(content ?? "");
      if (text === "") return none();
      if (text.length < (schema?.minLength ?? 0)) return wrong(`needs ${schema.minLength} characters or more`);
      if (text.length > (schema?.maxLength ?? Infinity)) return wrong(`may have ${schema.maxLength} characters`);
      return { value: text };
    }
  }
}

/** The fields of a schema. `content` is the state of the form, `onChange` gets the next one. */
export function Fields({ schema, content, onChange, problems = {}, path = "" }) {
  const required = new Set(Array.isArray(schema?.required) ? schema.required : []);
  return Object.entries(schema?.properties ?? {}).map(([name, property]) => {
    const at = path ? `${path}.${name}` : name;
    const change = (next) => onChange({ ...content, [name]: next });
    return html`
      <${Field} key=${at} at=${at} name=${name} schema=${property} content=${content?.[name]}
        isRequired=${required.has(name)}
        onChange=${change} problems=${problems} />
    `;
  });
}

function Field({ at, name, schema, content, isRequired, onChange, problems }) {
  const [id] = useState(() => `f${nextId++}`);
  const kind = fieldKind(schema);
  const title = plain(schema?.title ?? name, 200);
  const about = typeof schema?.description === "string" ? plain(schema.description, 600) : "";
  const problem = problems[at];
  const noted = [about && `${id}-about`, problem && `${id}-problem`].filter(Boolean).join(" ") || undefined;
  const notes = html`${about && html`<p class="about" id=${`${id}-about`}>${about}</p>`}
    ${problem && html`<p class="wrong" id=${`${id}-problem`}>${title} ${plain(problem, 300)}</p>`}`;
  const label = html`${title}${
    !isRequired && html`
      <span class="optional">optional</span>
    `
  }`;
  if (kind === "group") {
    return html`<fieldset><legend>${label}</legend>${notes}
      <${Fields} schema=${schema} content=${content} onChange=${onChange} problems=${problems} path=${at} /></fieldset>`;
  }
  if (kind === "choices") {
    const chosen = new Set(content ?? []);
    const toggle = (i) => onChange(chosen.has(i) ? [...chosen].filter((one) => one !== i) : [...chosen, i]);
    return html`<fieldset><legend>${label}</legend>${notes}
      ${
      choicesOf(schema.items).slice(0, 200).map((choice, i) =>
        html`<label class="check"><input type="checkbox" checked=${chosen.has(i)} onChange=${() => toggle(i)} /> ${
          plain(choice.label, 200)
        }</label>`
      )
    }
    </fieldset>`;
  }
  const common = { id, "aria-describedby": noted, "aria-invalid": problem ? "true" : undefined, required: isRequired };
  const input = ({ currentTarget: { value } }) => onChange(value);
  return html`<div class="field"><label for=${id}>${label}</label>${control()}${notes}</div>`;

  function control() {
    switch (kind) {
      case "choice":
        return html`<select ...${common} value=${content} onChange=${input}><option value="">${
          isRequired ? "Choose …" : "(nothing)"
        }</option>
          ${
          choicesOf(schema).slice(0, 500).map((choice, i) =>
            html`<option value=${String(i)}>${plain(choice.label, 200)}</option>`
          )
        }</select>`;
      case "flag":
        return html`<select ...${common} value=${content} onChange=${input}><option value="">${
          isRequired ? "Choose …" : "(nothing)"
        }</option>
          <option value="true">yes</option><option value="false">no</option></select>`;
      case "number":
        return html`<input ...${common} type="text" inputmode="decimal" value=${content} onInput=${input} />`;
      case "lines":
        return html`<textarea ...${common} rows="3" placeholder="one per line" value=${content} onInput=${input}></textarea>`;
      case "json":
        return html`
          <textarea ...${common} class="code" rows="4" placeholder="JSON" spellcheck=${false} value=${content}
            onInput=${input}></textarea>
        `;
      default:
        return isLong(schema)
          ? html`<textarea ...${common} rows="4" value=${content} onInput=${input}></textarea>`
          : html`<input ...${common} type=${
            schema?.format === "date" ? "date" : "text"
          } value=${content} onInput=${input} />`;
    }
  }
}

let nextId = 1;

function isLong({ maxLength, format, title, description } = {}) {
  if (format) return false;
  return maxLength > 200 ||
    /\b(?:content|body|text|markdown|message|code|query|prompt|script)\b/i.test(`${title ?? ""} ${description ?? ""}`);
}

/** A form with its own state. `onSend` gets the value once everything fits. */
export function SchemaForm({ schema, given, send, onSend, isBusy, children }) {
  const isForm = fitsForm(schema) && Object.keys(schema?.properties ?? {}).length > 0;
  const isEmpty = fitsForm(schema) && !isForm && (schema?.properties || schema?.type === "object");
  const [content, setContent] = useState(() => firstContent(schema, given));
  const [raw, setRaw] = useState(() => JSON.stringify(given ?? {}, null, 2));
  const [isRaw, setIsRaw] = useState(!isForm && !isEmpty);
  const [problems, setProblems] = useState({});
  const submit = (event) => {
    event.preventDefault();
    if (isRaw) {
      try {
        return onSend(JSON.parse(raw));
      } catch (error) {
        return setProblems({ "": `The text is not JSON: ${error.message}` });
      }
    }
    const { value, problems } = readForm(schema, content);
    setProblems(problems);
    if (Object.keys(problems).length === 0) onSend(value);
    else event.currentTarget.querySelector?.("[aria-invalid=true]")?.focus();
  };
  const turn = () => {
    if (!isRaw) setRaw(JSON.stringify(readForm(schema, content).value, null, 2));
    else {
      try {
        setContent(firstContent(schema, JSON.parse(raw)));
      } catch {
        // What was typed stays in the other view.
      }
    }
    setProblems({});
    setIsRaw(!isRaw);
  };
  return html`<form onSubmit=${submit} novalidate>
    ${
    isRaw
      ? html`<div class="field"><label for="raw-json">Arguments as JSON</label>
          <textarea id="raw-json" class="code" rows="8" spellcheck=${false} value=${raw} onInput=${(event) =>
        setRaw(event.currentTarget.value)}></textarea></div>`
      : html`<${Fields} schema=${schema} content=${content} onChange=${setContent} problems=${problems} />`
  }
    ${problems[""] && html`<p class="wrong" role="alert">${plain(problems[""], 300)}</p>`}
    ${
    Object.keys(problems).length > 0 && !problems[""] &&
    html`<p class="wrong" role="alert">Some fields need another look.</p>`
  }
    <div class="actions"><button class="primary" disabled=${isBusy}>${isBusy ? "Working …" : send}</button>${children}
      ${
    isForm && html`<button type="button" class="quiet" onClick=${turn}>${isRaw ? "As a form" : "As JSON"}</button>`
  }</div>
  </form>`;
}
