import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { variables } from '@penstock/runtime/config.ts'

const CHART = new URL('../deploy/helm/penstock/', import.meta.url)
const SCHEMA = new URL('values.schema.json', CHART)

/** Never in a values file: a secret, and what only makes sense on one machine. */
const NOT_FOR_CHARTS: ReadonlySet<string> = new Set([
  'PENSTOCK_OPERATOR_TOKEN',
  'PENSTOCK_HEALTH_HOST',
  'PENSTOCK_SHARE_PORT',
  'PENSTOCK_LND_MACAROON_DIR',
])

/** Every variable that the chart's templates set by themselves. */
export function settingsInTemplates(): ReadonlySet<string> {
  const folder = new URL('templates/', CHART)
  const names = readdirSync(folder).flatMap(
    (file) => readFileSync(new URL(file, folder), 'utf8').match(/\bname: (PENSTOCK_[A-Z_]+|PORT)\b/g) ?? [],
  )
  return new Set(names.map((name) => name.slice('name: '.length)))
}

/** What `settings` of the chart may name: all that the code reads, but for what the templates set from values of their own. */
function names(): readonly string[] {
  const own = settingsInTemplates()
  return Object.values(variables)
    .map(({ name }) => name)
    .filter((name) => !own.has(name) && !NOT_FOR_CHARTS.has(name))
    .toSorted()
}

/** The schema, with the names in the one place where it lists them. */
const currentSchema = (): string =>
  readFileSync(SCHEMA, 'utf8').replace(
    /("propertyNames": \{\s*"enum": \[)[^\]]*?(\s*\])/,
    (_, before: string, after: string) =>
      `${before}${names()
        .map((name) => `\n          "${name}"`)
        .join()}${after}`,
  )

/** @returns whether values.schema.json lists what the code says */
export const chartSettingsAreCurrent = (): boolean => readFileSync(SCHEMA, 'utf8') === currentSchema()

if (import.meta.main) writeFileSync(SCHEMA, currentSchema())
