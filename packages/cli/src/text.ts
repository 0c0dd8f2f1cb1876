import { isList, isObject, type Json, type JsonObject, objectsOf } from './json.ts'

/** Text for people: fields under each other, lists of objects as tables, in aligned columns. */

/** A JSON value as text. Names lose their unit, which the value takes on: `size_sat: 5000` becomes `size  5,000 sat`. */
export function textOf(value: Json): string {
  if (isObject(value)) return fields(value)
  if (isList(value)) return isTable(value) ? table(objectsOf(value)) : value.map((one) => cell('', one)).join('\n')
  return cell('', value)
}

/** The plain members of an object under each other. */
export function fields(object: JsonObject): string {
  const rows = Object.entries(object).map(([name, value]) => [label(name), cell(name, value)])
  return align(rows, [])
}

/** A table with a heading; columns are the members that any row has. */
export function table(rows: readonly JsonObject[], nothing = 'none'): string {
  if (rows.length === 0) return nothing
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const isNumeric = names.map((name) => /_m?sat$/.test(name) || rows.every((row) => typeof (row[name] ?? 0) === 'number'))
  const body = rows.map((row) => names.map((name) => cell(name, row[name] ?? null)))
  return align([names.map((name) => label(name).toUpperCase()), ...body], isNumeric)
}

export const section = (title: string, body: string): string => `${title}\n${body.replace(/^/gm, '  ')}`

/** Hex too long for a column: its beginning and end. */
export const short = (hex: string): string => (hex.length > 20 ? `${hex.slice(0, 10)}…${hex.slice(-6)}` : hex)

export const duration = (ms: number): string => {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const minutes = Math.floor(ms / 60_000)
  return minutes < 60
    ? `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

const isTable = (value: readonly Json[]): boolean => value.every(isObject)

const label = (name: string): string => name.replace(/_m?sat$/, '').replaceAll('_', ' ')

function cell(name: string, value: Json): string {
  if (value === null || value === '') return '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  const unit = /_(m?sat)$/.exec(name)?.[1]
  if (unit && (typeof value === 'number' || typeof value === 'string')) return `${grouped(`${value}`)} ${unit}`
  if (isTime(name) && (typeof value === 'number' || typeof value === 'string')) return time(value)
  if (typeof value === 'number') return grouped(`${value}`)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const isTime = (name: string): boolean => name === 'since' || name === 'at' || /_(at|before)$/.test(name)

/** Local time to the millisecond, as one reads it off a clock. */
function time(value: number | string): string {
  const at = new Date(value)
  if (Number.isNaN(at.getTime())) return `${value}`
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000)
  return local.toISOString().replace('T', ' ').replace('Z', '')
}

const grouped = (digits: string): string => (/^-?\d+$/.test(digits) ? digits.replace(/\B(?=(\d{3})+$)/g, ',') : digits)

/** Columns two spaces apart; numbers to the right. The last column is not padded. */
function align(rows: readonly (readonly string[])[], isNumeric: readonly boolean[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]): string =>
    row
      .map((text, column) => (isNumeric[column] ? text.padStart(widths[column] ?? 0) : text.padEnd(widths[column] ?? 0)))
      .join('  ')
  return rows.map((row) => line(row).trimEnd()).join('\n')
}
