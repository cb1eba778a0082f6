// Writes the order as JSON, as a curl command or as a Python program.

const body = (settings, model) => ({ modelId: model, renderSettings: settings });

/** Quotes a text for a POSIX shell. */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** Writes a JSON value as a Python literal. */
function python(value, indent = "") {
  const inner = indent + "    ";
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const entries = Array.isArray(value)
    ? value.map((one) => python(one, inner))
    : Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${python(one, inner)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return entries.length === 0 ? open + close : `${open}\n${entries.map((one) => `${inner}${one},\n`).join("")}${indent}${close}`;
}

/** @type {Record<string, (settings: object, model: string, api: string) => string>} */
export const copies = {
  json: (settings) => JSON.stringify(settings, null, 2),
  curl: (settings, model, api) =>
    `curl -sS -H "Authorization: Bearer $PLINTH_KEY" -H 'Content-Type: application/json' \\\n  -d ${quoted(JSON.stringify(body(settings, model)))} \\\n  ${quoted(`${api}/renders`)}`,
  python: (settings, model, api) => `import json
import os
import urllib.request

order = ${python(body(settings, model))}
request = urllib.request.Request(
    ${JSON.stringify(`${api}/renders`)},
    data=json.dumps(order).encode(),
    headers={"Authorization": "Bearer " + os.environ["PLINTH_KEY"], "Content-Type": "application/json"},
)
print(json.load(urllib.request.urlopen(request))["data"]["id"])
`,
};
