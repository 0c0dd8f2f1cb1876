import { readFileSync } from 'node:fs'

const RULES = new URL('../../deploy/dashboards/penstock.rules.yml', import.meta.url)

/** Path of the guide to the alerts, relative to the root of the repository. */
export const RUNBOOKS = 'docs/guides/alerts.md'

export type AlertRule = {
  readonly name: string
  readonly expr: string
  readonly pendingFor: string
  readonly severity: string
  readonly summary: string
  readonly description: string
  readonly runbook: string
}

/** Reads the rules from our own file, which has one line per field. */
export const readAlertRules = (): readonly AlertRule[] =>
  readFileSync(RULES, 'utf8')
    .split(/^ {6}- alert: /m)
    .slice(1)
    .map((block) => {
      const field = (pattern: RegExp): string => pattern.exec(block)?.[1]?.trim() ?? ''
      return {
        name: field(/^(\w+)/),
        expr: field(/^ {8}expr: (.*)$/m),
        pendingFor: field(/^ {8}for: (.*)$/m),
        severity: field(/severity: (\w+)/),
        summary: field(/^ {10}summary: (.*)$/m),
        description: field(/^ {10}description: (.*)$/m),
        runbook: field(/^ {10}runbook_url: (.*)$/m),
      }
    })

/** Lists the metrics of a query: every name that is no function, no keyword and no label. */
export function listMetrics(expr: string): readonly { readonly name: string; readonly labels: readonly string[] }[] {
  const bare = expr.replaceAll(/\b(?:by|without|on|ignoring) \([^)]*\)|\[[^\]]*\]|, ?"[^"]*"/g, ' ')
  return [...bare.matchAll(METRIC_PATTERN)]
    .filter(([, name = '']) => !KEYWORDS.has(name))
    .map(([, name = '', braces = '']) => ({
      name,
      labels: [...braces.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
    }))
}

const METRIC_PATTERN = /\b([a-z_:][a-z0-9_:]*)\b(?!\s*\()(\{[^}]*\})?/gi
const KEYWORDS: ReadonlySet<string> = new Set(['or', 'and', 'unless', 'offset', 'bool'])

/** Restricts every metric of a query to the dashboard's selection. @param selection label matchers */
export const addSelection = (expr: string, selection: string): string =>
  listMetrics(expr)
    .map(({ name }) => name)
    .filter((name, index, all) => all.indexOf(name) === index)
    .reduce(
      (narrowed, name) =>
        narrowed.replaceAll(new RegExp(`\\b${name}\\b(?:\\{([^}]*)\\})?`, 'g'), (_, own?: string) =>
          own === undefined ? `${name}{${selection}}` : `${name}{${own},${selection}}`,
        ),
      expr,
    )
