import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Product } from '../support/product.ts'

export type MetricSample = { readonly name: string; readonly labels: Readonly<Record<string, string>>; readonly value: number }

type MetricSelector = { readonly name: string } & Readonly<Record<string, string>>

export type MetricSamples = {
  readonly all: readonly MetricSample[]
  /** @returns undefined if no series matches */
  sum(selector: MetricSelector): number | undefined
  max(selector: MetricSelector): number
}

/** Parses the part of Prometheus' text format that our processes write. */
export function parseMetrics(text: string): MetricSamples {
  const samples = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map(parseSample)
  const findValues = ({ name, ...labels }: MetricSelector): readonly number[] =>
    samples
      .filter((one) => one.name === name && Object.entries(labels).every(([label, value]) => one.labels[label] === value))
      .map(({ value }) => value)
  return {
    all: samples,
    sum: (selector) =>
      findValues(selector).length === 0 ? undefined : findValues(selector).reduce((sum, value) => sum + value, 0),
    max: (selector) => Math.max(...findValues(selector)),
  }
}

/** Reads the current metrics of a market as its operator. */
export async function readMetrics({ url, dataDir }: Pick<Product, 'url' | 'dataDir'>): Promise<MetricSamples> {
  const token = readFileSync(join(dataDir, 'operator.token'), 'utf8').trim()
  const page = await fetch(`${url}/operator/metrics`, { headers: { authorization: `Bearer ${token}` } })
  return parseMetrics(await page.text())
}

function parseSample(line: string): MetricSample {
  const [, name = '', braces = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
  const labels = Object.fromEntries(
    [...braces.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', text = '']) => [label, text]),
  )
  return { name, labels, value: Number(value) }
}
