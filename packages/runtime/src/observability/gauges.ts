import type { Clock } from '@penstock/ports/clock.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import { Counter, Gauge } from 'prom-client'
import { registry } from './metrics.ts'

/** A value of a gauge, as a reader returns it. */
export type GaugeReading = {
  readonly gauge: Gauge
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

export type GaugeReader = () => Promise<readonly GaugeReading[]>

/** Gauges whose values are read on request. */
export type Gauges = {
  /** @returns a function that removes the reader */
  addReader(reader: GaugeReader): () => void
  /** All metrics of this process, in the text format of Prometheus. */
  render(): Promise<{ readonly contentType: string; readonly text: string }>
}

/** Requests within this time get the same values, so that frequent requests cost the stores little. */
const CACHE_MS = 3000
/** The timeout of one reader. The metrics must be available above all when a store is not. */
const READ_TIMEOUT_MS = 2000

const readsFailed = new Counter({
  name: 'penstock_metrics_looks_failed_total',
  help: 'Failed reads of gauges. The values of a failed read are missing from the metrics.',
  registers: [registry],
})

/** Gauges with labels, which a reset empties. A reset sets a gauge without labels to 0, so such a gauge is also removed. */
const labelled = new WeakSet<Gauge>()

/** Creates a gauge that shows only values that were read. By default prom-client shows a 0 without a value. */
export function createSampledGauge(name: string, help: string, labelNames: readonly string[] = []): Gauge {
  const gauge = new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] })
  if (labelNames.length > 0) labelled.add(gauge)
  clearGauge(gauge)
  return gauge
}

function clearGauge(gauge: Gauge): void {
  gauge.reset()
  if (!labelled.has(gauge)) gauge.remove()
}

export function createGauges(clock: Clock): Gauges {
  const readers = new Set<GaugeReader>()
  const known = new Set<Gauge>()
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined

  const readOne = async (reader: GaugeReader): Promise<readonly GaugeReading[]> => {
    try {
      return await withTimeout(clock, READ_TIMEOUT_MS, reader())
    } catch {
      readsFailed.inc()
      return []
    }
  }
  const read = async (): Promise<void> => {
    const found = (await Promise.all([...readers].map(readOne))).flat()
    // A gauge whose subject no longer exists must not stay at its last value.
    for (const gauge of known) clearGauge(gauge)
    for (const { gauge, labels = {}, value } of found) {
      known.add(gauge)
      gauge.set(labels, value)
    }
    readAt = clock.monotonicMs()
  }
  return {
    addReader(reader) {
      readers.add(reader)
      return () => void readers.delete(reader)
    },
    async render() {
      if (clock.monotonicMs() - readAt >= CACHE_MS) await (reading ??= read().finally(() => (reading = undefined)))
      return { contentType: registry.contentType, text: await registry.metrics() }
    },
  }
}
