import { dirname, join } from "node:path";

/** Credentials that must never show up outside of secrets.env and the backups. */
export const SECRETS = {
  github: "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",
  linear: "lin_api_Zx9Yw8Vu7Ts6Rq5Po4Nm3",
  docs: "d0c5-bearer-value-77",
  slack: "xoxb-1111111111-abcdefghij",
  password: "s3cr3t-passw0rd",
  notion: "ntn_9f8e7d6c5b4a39281706f5e4",
} as const;

/** Realistic files of every client, by their path under a home directory. */
export const CLIENT_FILES: Readonly<Record<string, (cwd: string) => string>> = {
  ".claude.json": (cwd) =>
    JSON.stringify(
      {
        numStartups: 41,
        mcpServers: {
          github: {
            type: "stdio",
            command: "npx",
            args: ["-y", "@modelcontextprotocol/server-github"],
            env: { GITHUB_PERSONAL_ACCESS_TOKEN: SECRETS.github },
          },
          docs: { type: "http", url: "https://example.com/mcp", headers: { Authorization: `Bearer ${SECRETS.docs}` } },
          "old events": { type: "sse", url: "https://events.example.com/sse" },
          signed: {
            type: "http",
            url: "https://oauth.example.com/mcp",
            oauth: { clientId: "abc", authServerMetadataUrl: "https://a.example" },
          },
          helper: { type: "http", url: "https://helper.example.com/mcp", headersHelper: "/bin/headers" },
          socket: { type: "ws", url: "wss://ws.example.com" },
        },
        projects: {
          [cwd]: {
            allowedTools: [],
            mcpServers: {
              notes: { command: "node", args: ["${NOTES_DIR:-/tmp}/server.js"], env: {} },
              off: { command: "node", args: ["off.js"] },
            },
            disabledMcpServers: ["off"],
          },
          "/somewhere/else": { mcpServers: { stranger: { command: "stranger" } } },
        },
        oauthAccount: { emailAddress: "me@example.com" },
      },
      null,
      2,
    ) + "\n",
  ".config/Claude/claude_desktop_config.json": () =>
    `{
  "globalShortcut": "",
  "mcpServers": {
    "File System": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me/Documents"]
    },
    "notion": {
      "command": "npx",
      "args": ["-y", "@notionhq/notion-mcp-server"],
      "env": { "OPENAPI_MCP_HEADERS": "{\\"Authorization\\": \\"Bearer ${SECRETS.notion}\\", \\"Notion-Version\\": \\"2022-06-28\\"}" }
    }
  }
}
`,
  ".cursor/mcp.json": () =>
    `{
\t"mcpServers": {
\t\t"linear": { "command": "npx", "args": ["-y", "linear-mcp", "--api-key", "${SECRETS.linear}"], "env": { "CACHE": "\${userHome}/.cache", "TEAM": "\${env:LINEAR_TEAM}" } },
\t\t"github": { "command": "docker", "args": ["run", "-i", "ghcr.io/github/github-mcp-server"] },
\t\t"here": { "command": "\${workspaceFolder}/bin/server" },
\t\t"envfile": { "command": "x", "envFile": "/home/me/.env" },
\t\t"signin": { "url": "https://cursor.example.com/mcp", "auth": { "CLIENT_ID": "x" } }
\t}
}
`,
  ".config/Code/User/mcp.json": () =>
    `{
  // The ones I use every day
  "inputs": [
    { "type": "promptString", "id": "perplexity-key", "description": "Perplexity API key", "password": true },
    { "type": "promptString", "id": "region", "default": "eu" }
  ],
  "servers": {
    // Answers questions
    "perplexity": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "server-perplexity-ask", "--region", "\${input:region}"],
      "env": { "PERPLEXITY_API_KEY": "\${input:perplexity-key}" },
    },
    "remote": { "type": "http", "url": "https://me:${SECRETS.password}@vscode.example.com/mcp?api_key=${SECRETS.linear}" },
    "picked": { "command": "run", "args": ["\${command:pick}"] }, // only VS Code can ask that
  },
}
`,
  ".codeium/windsurf/mcp_config.json": () =>
    JSON.stringify({
      mcpServers: {
        surf: { serverUrl: "https://surf.example.com/mcp", headers: { "X-Api-Key": "${env:SURF_KEY}" } },
        sleeping: { command: "sleeper", disabled: true, disabledTools: ["nuke"] },
      },
    }),
  ".gemini/settings.json": () =>
    `{
  "theme": "Default", // dark hurts
  "mcp": { "excluded": ["resting"] },
  "mcpServers": {
    "streaming": { "httpUrl": "https://gemini.example.com/mcp", "headers": { "Authorization": "Bearer $GEMINI_TOOL_TOKEN" }, "timeout": 5000 },
    "events": { "url": "https://gemini.example.com/sse", "trust": true, "excludeTools": ["drop_table"] },
    "resting": { "command": "rest", "cwd": "$HOME/rest", "includeTools": ["nap"] },
    "google": { "httpUrl": "https://google.example.com/mcp", "authProviderType": "google_credentials" }
  }
}
`,
  ".codex/config.toml": () =>
    `# my codex
model = "gpt-5"

[mcp_servers.context7]
command = "npx"
# pinned on purpose
args = [
  "-y",
  "@upstash/context7-mcp",
]
env_vars = ["CONTEXT7_HOST"]
startup_timeout_sec = 20
disabled_tools = ["wipe"]

[mcp_servers.context7.env]
SLACK_BOT = "${SECRETS.slack}"

# profiles come next
[profiles.fast]
model = "gpt-5-mini" # cheap
note = """
[mcp_servers.fake]
"""

[mcp_servers."figma dev"]
url = "https://figma.example.com/mcp"
bearer_token_env_var = "FIGMA_TOKEN"
env_http_headers = { X-Region = "FIGMA_REGION" }
tools.write_file.approval_mode = "prompt"

[mcp_servers.sso]
url = "https://sso.example.com/mcp"
scopes = ["read"]

[tui]
notifications = true
`,
  ".config/zed/settings.json": () =>
    `// Zed settings
{
  "vim_mode": true,
  "context_servers": {
    /* the oldest form */
    "oldest": { "command": { "path": "oldest-server", "args": ["--stdio"], "env": { "A": "1" } }, "settings": {} },
    "plain": { "source": "custom", "command": "plain-server", "args": [], "enabled": false },
    "mcp-server-extension": { "source": "extension", "settings": { "x": 1 } }
  },
  "buffer_font_size": 15, // big
}
`,
};

/** Writes files under a folder, making the folders between. */
export async function writeFiles(root: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await Deno.mkdir(dirname(join(root, path)), { recursive: true });
    await Deno.writeTextFile(join(root, path), text);
  }
}

/** A home directory with every client's file in it, and a project folder. */
export async function makeHome(files = CLIENT_FILES): Promise<{ home: string; cwd: string } & AsyncDisposable> {
  const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "agentcards-init-" }));
  const [home, cwd] = [join(root, "home"), join(root, "project")];
  await Deno.mkdir(home);
  await Deno.mkdir(cwd);
  await writeFiles(home, Object.fromEntries(Object.entries(files).map(([path, text]) => [path, text(cwd)])));
  return { home, cwd, [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }) };
}
