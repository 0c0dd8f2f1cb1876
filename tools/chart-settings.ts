import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { variables } from '@penstock/config/config.ts'

const CHART = new URL('../deploy/helm/penstock/', import.meta.url)
const SCHEMA = new URL('values.schema.json', CHART)

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

/** Renders the schema with the current names in its only list of names. */
const renderSchema = (): string =>
  readFileSync(SCHEMA, 'utf8').replace(
    /("propertyNames": \{\s*"enum": \[)[^\]]*?(\s*\])/,
    (_, before: string, after: string) =>
      `${before}${listChartSettings()
        .map((name) => `\n          "${name}"`)
        .join()}${after}`,
  )

/** @returns whether values.schema.json lists the settings of the code */
export const isChartSchemaCurrent = (): boolean => readFileSync(SCHEMA, 'utf8') === renderSchema()

if (import.meta.main) writeFileSync(SCHEMA, renderSchema())
