import { readFileSync } from 'node:fs'
import { dashboards } from '../../tools/dashboards.ts'

const RULES = new URL('../../deploy/dashboards/penstock.rules.yml', import.meta.url)

export type Query = { readonly where: string; readonly expr: string }
export type Rule = {
  readonly name: string
  readonly expr: string
  readonly lasts: string
  readonly severity: string
  readonly summary: string
  readonly runbook: string
}

const rulesText = (): string => readFileSync(RULES, 'utf8')

/** The rules of our own file, whose layout is one line for each field. */
export const rules = (): readonly Rule[] =>
  rulesText()
    .split(/^ {6}- alert: /m)
    .slice(1)
    .map((block) => {
      const field = (pattern: RegExp): string => pattern.exec(block)?.[1]?.trim() ?? ''
      return {
        name: field(/^(\w+)/),
        expr: field(/^ {8}expr: (.*)$/m),
        lasts: field(/^ {8}for: (.*)$/m),
        severity: field(/severity: (\w+)/),
        summary: field(/^ {10}summary: (.*)$/m),
        runbook: field(/^ {10}runbook: (.*)$/m),
      }
    })

export const queries = (): readonly Query[] => [
  ...dashboards.flatMap(({ title, panels }) =>
    panels.flatMap((panel) => Object.values(panel.queries).map((expr) => ({ where: `${title}: ${panel.title}`, expr }))),
  ),
  ...rules().map(({ name, expr }) => ({ where: name, expr })),
]

export type Exported = ReadonlyMap<string, readonly string[]>

const FROM_PROMETHEUS: Exported = new Map([['up', []]])
/** Prometheus adds these to every series. */
const TARGET_LABELS = ['job', 'instance']

/** @returns what a query asks for that no process exports */
export function unknownIn(expr: string, exported: Exported): readonly string[] {
  const asked = metricsIn(expr)
  const labelsOf = (name: string) => exported.get(name) ?? FROM_PROMETHEUS.get(name)
  const unknown = asked.flatMap(({ name, labels }) => {
    const known = labelsOf(name)
    if (!known) return [name]
    return labels.filter((label) => ![...known, ...TARGET_LABELS].includes(label)).map((label) => `${name}{${label}}`)
  })
  const all = new Set([...TARGET_LABELS, ...asked.flatMap(({ name }) => labelsOf(name) ?? [])])
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(',').map((label) => label.trim()))
  return [...unknown, ...grouped.filter((label) => !all.has(label)).map((label) => `by (${label})`)]
}

/** Every name in a query that is no function, no word of the language and no label. */
export function metricsIn(expr: string): readonly { readonly name: string; readonly labels: readonly string[] }[] {
  const bare = expr.replaceAll(/\b(?:by|without|on|ignoring) \([^)]*\)/g, ' ')
  const selectors = bare.matchAll(/\b([a-z_:][a-z0-9_:]*)\b(?!\s*\()(\{[^}]*\})?/gi)
  return [...selectors]
    .filter(([, name = '']) => !WORDS.has(name))
    .map(([, name = '', braces = '']) => ({
      name,
      labels: [...braces.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
    }))
}

const WORDS: ReadonlySet<string> = new Set(['or', 'and', 'unless', 'offset', 'bool'])
