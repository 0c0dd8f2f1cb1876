import type { Clock } from '@penstock/ports/clock.ts'
import { within } from '@penstock/ports/within.ts'
import { Counter, Gauge } from 'prom-client'
import { registry } from './metrics.ts'

/** A value of a gauge that was looked up. */
export type Reading = {
  readonly gauge: Gauge
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

export type Look = () => Promise<readonly Reading[]>

/** Figures that nobody keeps, and that are looked up when they are asked for. */
export type Gauges = {
  /** @returns what ends it */
  watch(look: Look): () => void
  /** All metrics of this process, in the text format of Prometheus. */
  page(): Promise<{ readonly contentType: string; readonly text: string }>
}

/** Whoever asks often gets the same figures again, so that to ask costs the stores little. */
const FRESH_MS = 3000
/** Of one look. The metrics must be there above all when a store is not. */
const LOOK_TIMEOUT_MS = 2000

const looksFailed = new Counter({
  name: 'penstock_metrics_looks_failed_total',
  help: 'Figures that could not be looked up; they are missing from the metrics meanwhile.',
  registers: [registry],
})

/** One without labels is set to 0 by its reset; one with labels can only be removed by them. */
const labelled = new WeakSet<Gauge>()

/** A gauge that shows what was looked up and else nothing: prom-client would begin it, and end it, with a 0. */
export function lookedUp(name: string, help: string, labelNames: readonly string[] = []): Gauge {
  const gauge = new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] })
  if (labelNames.length > 0) labelled.add(gauge)
  clear(gauge)
  return gauge
}

function clear(gauge: Gauge): void {
  gauge.reset()
  if (!labelled.has(gauge)) gauge.remove()
}

export function openGauges(clock: Clock): Gauges {
  const looks = new Set<Look>()
  const known = new Set<Gauge>()
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined

  const readings = async (look: Look): Promise<readonly Reading[]> => {
    try {
      return await within(clock, LOOK_TIMEOUT_MS, look())
    } catch {
      looksFailed.inc()
      return []
    }
  }
  const read = async (): Promise<void> => {
    const found = (await Promise.all([...looks].map(readings))).flat()
    // What is no longer there must not stay at its last value.
    for (const gauge of known) clear(gauge)
    for (const { gauge, labels = {}, value } of found) {
      known.add(gauge)
      gauge.set(labels, value)
    }
    readAt = clock.monotonicMs()
  }
  return {
    watch(look) {
      looks.add(look)
      return () => void looks.delete(look)
    },
    async page() {
      if (clock.monotonicMs() - readAt >= FRESH_MS) await (reading ??= read().finally(() => (reading = undefined)))
      return { contentType: registry.contentType, text: await registry.metrics() }
    },
  }
}
