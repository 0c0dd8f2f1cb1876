import { readdirSync, readFileSync } from 'node:fs'
import { variables } from '@penstock/config/config.ts'
import { serviceNames, streamServices } from '../services/standalone/src/registry.ts'
import { type GeneratedFiles, readText } from './generated-files.ts'

const CHART = new URL('../deploy/helm/penstock/', import.meta.url)
const SCHEMA = 'deploy/helm/penstock/values.schema.json'

/** Settings that a values file must not contain: a secret, and settings that only make sense on a single machine. */
const EXCLUDED_SETTINGS: ReadonlySet<string> = new Set([
  'PENSTOCK_OPERATOR_TOKEN',
  'PENSTOCK_HEALTH_HOST',
  'PENSTOCK_SHARE_PORT',
  'PENSTOCK_LND_MACAROON_DIR',
])

/** Lists every variable that the chart's templates set themselves. */
export function listTemplateSettings(): ReadonlySet<string> {
  const folder = new URL('templates/', CHART)
  const names = readdirSync(folder).flatMap(
    (file) => readFileSync(new URL(file, folder), 'utf8').match(/\bname: (PENSTOCK_[A-Z_]+|PORT)\b/g) ?? [],
  )
  return new Set(names.map((name) => name.slice('name: '.length)))
}

/** Lists the settings that the chart's `settings` may contain: all except the excluded ones and those that templates set. */
function listChartSettings(): readonly string[] {
  const templateSettings = listTemplateSettings()
  return Object.values(variables)
    .map(({ name }) => name)
    .filter((name) => !templateSettings.has(name) && !EXCLUDED_SETTINGS.has(name))
    .toSorted()
}

/** Renders the schema with the current names of settings and of services. */
export function renderChartSchema(): GeneratedFiles {
  const settings = listChartSettings().map((name) => `\n          "${name}"`)
  const workers = streamServices.map(({ name }) => `\n        "${name}": {\n          "$ref": "#/$defs/worker"\n        }`)
  const required = serviceNames.map((name) => `"${name}"`)
  const text = readText(SCHEMA)
    .replace(/("propertyNames": \{\s*"enum": \[)[^\]]*?(?=\s*\])/, (_, before: string) => before + settings.join())
    .replace(
      /(?:\s*"[\w-]+": \{\s*"\$ref": "#\/\$defs\/worker"\s*\},?)+(\s*\},\s*"required": )\[[^\]]*\]/,
      (_, before: string) => `${workers.join()}${before}[${required.join(', ')}]`,
    )
  return new Map([[SCHEMA, text]])
}
