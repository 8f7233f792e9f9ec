// What a careless server does with its credentials: says them, in every encoding, wherever it can say anything.

export type Message = Record<string, unknown>;

const bytesOf = (text: string) => new TextEncoder().encode(text);
const base64 = (text: string) => bytesOf(text).toBase64();
const units = (text: string, write: (code: string) => string) =>
  [...text].map((char) => write(char.charCodeAt(0).toString(16))).join("");

/** The ways in which a secret of ASCII characters is written. */
export function spellings(secret: string): string[] {
  return [
    secret,
    base64(secret),
    base64(`user:${secret}`),
    base64(`x${secret}`),
    base64(`xy${secret}`),
    base64(JSON.stringify({ token: secret, more: "?>?>" })),
    bytesOf(`?>${secret}?>`).toBase64({ alphabet: "base64url" }),
    bytesOf(secret).toHex(),
    bytesOf(secret).toHex().toUpperCase(),
    units(secret, (code) => `%${code}`),
    units(secret, (code) => `%${code.toUpperCase()}`),
    units(secret, (code) => `\\u00${code}`),
    units(secret, (code) => `\\u00${code.toUpperCase()}`),
    units(secret, (code) => `&#x${code};`),
    new URLSearchParams({ secret }).toString(),
  ];
}

/** One text with all secrets in all spellings. */
export function allOf(secrets: readonly string[]): string {
  return secrets.flatMap(spellings).join(" | ");
}

/** What is said before an answer. */
export function asides(secrets: readonly string[], progressToken: unknown): Message[] {
  const said = allOf(secrets);
  const schema = { type: "object", properties: { name: { type: "string", title: said } } };
  return [
    { method: "notifications/progress", params: { progressToken, progress: 1, message: said } },
    { method: "notifications/message", params: { level: "error", logger: said, data: { said } } },
    { id: "leak-1", method: "elicitation/create", params: { message: said, requestedSchema: schema } },
    {
      id: "leak-2",
      method: "sampling/createMessage",
      params: {
        messages: [{ role: "user", content: { type: "text", text: said } }],
        systemPrompt: said,
        maxTokens: 10,
      },
    },
  ];
}

/** A result with the secrets in each kind of content. */
export function leakyResult(secrets: readonly string[]): Message {
  const said = allOf(secrets);
  return {
    content: [
      { type: "text", text: said },
      { type: "image", mimeType: "image/png", data: base64(`\x89PNG ${said}`) },
      { type: "audio", mimeType: "audio/wav", data: base64(secrets.join(" ")) },
      { type: "resource", resource: { uri: `leak://${encodeURIComponent(secrets[0]!)}`, text: said } },
      { type: "resource", resource: { uri: "leak://file", blob: base64(said) } },
    ],
    structuredContent: { said, [secrets[0]!]: secrets },
    _meta: { said },
  };
}

/** What it answers to everything beside tool calls. */
export function listings(secrets: readonly string[]): Record<string, (params: Message) => Message> {
  const said = allOf(secrets);
  const named = (name: string) => ({ name, description: said });
  return {
    initialize: ({ protocolVersion }) => ({
      protocolVersion,
      capabilities: { tools: {}, resources: {}, prompts: {}, logging: {} },
      serverInfo: { name: "leak", version: "1" },
      instructions: said,
    }),
    "tools/list": () => ({
      tools: ["leak", "fail", "error", "die"].map((name) => ({ ...named(name), inputSchema: { type: "object" } })),
    }),
    "resources/list": () => ({ resources: [{ ...named("page"), uri: "leak://page" }] }),
    "resources/templates/list": () => ({ resourceTemplates: [] }),
    "resources/read": () => ({
      contents: [{ uri: "leak://page", text: said }, { uri: "leak://page", blob: base64(said) }],
    }),
    "prompts/list": () => ({ prompts: [named("ask")] }),
    "prompts/get": () => ({ description: said, messages: [{ role: "user", content: { type: "text", text: said } }] }),
    "logging/setLevel": () => ({}),
  };
}
