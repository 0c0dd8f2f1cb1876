import { isList, isObject, type Json, type JsonObject, filterObjects } from './json.ts'

/** Formats JSON for people: fields one per line, and lists of objects as tables, in aligned columns. */

/** Formats a JSON value. The unit moves from the name to the value: `size_sat: 5000` becomes `size  5,000 sat`. */
export function formatJson(value: Json): string {
  if (isObject(value)) return formatFields(value)
  if (isList(value))
    return isTable(value) ? formatTable(filterObjects(value)) : value.map((one) => formatCell('', one)).join('\n')
  return formatCell('', value)
}

/** Formats the members of an object, one per line. */
export function formatFields(object: JsonObject): string {
  const rows = Object.entries(object).map(([name, value]) => [formatLabel(name), formatCell(name, value)])
  return alignColumns(rows, [])
}

/** Formats a table with a heading. It has a column for each member of any row. */
export function formatTable(rows: readonly JsonObject[], emptyText = 'none'): string {
  if (rows.length === 0) return emptyText
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const isNumeric = names.map((name) => /_m?sat$/.test(name) || rows.every((row) => typeof (row[name] ?? 0) === 'number'))
  const body = rows.map((row) => names.map((name) => formatCell(name, row[name] ?? null)))
  return alignColumns([names.map((name) => formatLabel(name).toUpperCase()), ...body], isNumeric)
}

export const formatSection = (title: string, body: string): string => `${title}\n${body.replace(/^/gm, '  ')}`

/** Shortens long hex to its beginning and end. */
export const shortenHex = (hex: string): string => (hex.length > 20 ? `${hex.slice(0, 10)}…${hex.slice(-6)}` : hex)

export const formatDuration = (ms: number): string => {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const minutes = Math.floor(ms / 60_000)
  return minutes < 60
    ? `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

const isTable = (value: readonly Json[]): boolean => value.every(isObject)

const formatLabel = (name: string): string => name.replace(/_m?sat$/, '').replaceAll('_', ' ')

function formatCell(name: string, value: Json): string {
  if (value === null || value === '') return '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  const unit = /_(m?sat)$/.exec(name)?.[1]
  if (unit && (typeof value === 'number' || typeof value === 'string')) return `${groupDigits(`${value}`)} ${unit}`
  if (isTimeName(name) && (typeof value === 'number' || typeof value === 'string')) return formatTime(value)
  if (typeof value === 'number') return groupDigits(`${value}`)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const isTimeName = (name: string): boolean => name === 'since' || name === 'at' || /_(at|before)$/.test(name)

/** Formats a time as local time with milliseconds. */
function formatTime(value: number | string): string {
  const at = new Date(value)
  if (Number.isNaN(at.getTime())) return `${value}`
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000)
  return local.toISOString().replace('T', ' ').replace('Z', '')
}

const groupDigits = (digits: string): string => (/^-?\d+$/.test(digits) ? digits.replace(/\B(?=(\d{3})+$)/g, ',') : digits)

/** Aligns columns, two spaces apart, with numbers at the right. The last column is not padded. */
function alignColumns(rows: readonly (readonly string[])[], isNumeric: readonly boolean[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]): string =>
    row
      .map((text, column) => (isNumeric[column] ? text.padStart(widths[column] ?? 0) : text.padEnd(widths[column] ?? 0)))
      .join('  ')
  return rows.map((row) => line(row).trimEnd()).join('\n')
}
