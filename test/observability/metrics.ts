import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Product } from '../harness/product.ts'

export type Sample = { readonly name: string; readonly labels: Readonly<Record<string, string>>; readonly value: number }

type Wanted = { readonly name: string } & Readonly<Record<string, string>>

export type Series = {
  readonly all: readonly Sample[]
  /** undefined where there is no such series. */
  sum(wanted: Wanted): number | undefined
  max(wanted: Wanted): number
}

/** The text format of Prometheus, as far as our processes write it. */
export function parseMetrics(text: string): Series {
  const all = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map(sample)
  const values = ({ name, ...labels }: Wanted): readonly number[] =>
    all
      .filter((one) => one.name === name && Object.entries(labels).every(([label, value]) => one.labels[label] === value))
      .map(({ value }) => value)
  return {
    all,
    sum: (wanted) => (values(wanted).length === 0 ? undefined : values(wanted).reduce((sum, value) => sum + value, 0)),
    max: (wanted) => Math.max(...values(wanted)),
  }
}

/** What a market exports now, as its operator reads it. */
export async function metricsOf({ url, dataDir }: Pick<Product, 'url' | 'dataDir'>): Promise<Series> {
  const token = readFileSync(join(dataDir, 'operator.token'), 'utf8').trim()
  const page = await fetch(`${url}/operator/metrics`, { headers: { authorization: `Bearer ${token}` } })
  return parseMetrics(await page.text())
}

function sample(line: string): Sample {
  const [, name = '', braces = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
  const labels = Object.fromEntries(
    [...braces.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', text = '']) => [label, text]),
  )
  return { name, labels, value: Number(value) }
}
