import { registry, SECONDS } from '@penstock/runtime/metrics.ts'
import { Counter, Gauge, Histogram } from 'prom-client'

const registers = [registry]

/** `outcome` is `stored` by all replicas in sync, or `failed`: not confirmed in time, or refused. */
const published = new Counter({
  name: 'penstock_kafka_published_total',
  help: 'Messages that were published, by topic and outcome.',
  labelNames: ['topic', 'outcome'] as const,
  registers,
})
const publishSeconds = new Histogram({
  name: 'penstock_kafka_publish_duration_seconds',
  help: 'From a publish to the confirmation by all replicas in sync.',
  labelNames: ['topic'] as const,
  buckets: SECONDS,
  registers,
})
const fetched = new Counter({
  name: 'penstock_kafka_received_total',
  help: 'Messages that were fetched, by consumer group and topic.',
  labelNames: ['group', 'topic'] as const,
  registers,
})
const assignments = new Counter({
  name: 'penstock_kafka_assignments_total',
  help: 'How often partitions were divided anew among the members of a group.',
  labelNames: ['group', 'topic'] as const,
  registers,
})

/** What of the partitions of one group is seen here. */
type Share = { readonly group: string; readonly topic: string; readonly partitions: () => number; readonly behind: () => number }
const shares = new Set<Share>()

new Gauge({
  name: 'penstock_kafka_partitions',
  help: 'Partitions that this process has.',
  labelNames: ['group', 'topic'] as const,
  registers,
  collect() {
    this.reset()
    for (const { group, topic, partitions } of shares) this.inc({ group, topic }, partitions())
  },
})
new Gauge({
  name: 'penstock_kafka_behind_messages',
  help: 'Messages in the partitions of this process that are not dealt with, as of its last fetch.',
  labelNames: ['group', 'topic'] as const,
  registers,
  collect() {
    this.reset()
    for (const { group, topic, behind } of shares) this.inc({ group, topic }, behind())
  },
})

export async function notePublished(
  topic: string,
  messages: number,
  stored: Promise<void>,
  seconds: () => number,
): Promise<void> {
  try {
    await stored
    published.inc({ topic, outcome: 'stored' }, messages)
    publishSeconds.observe({ topic }, seconds())
  } catch (error) {
    published.inc({ topic, outcome: 'failed' }, messages)
    throw error
  }
}

export const noteReceived = (group: string, topic: string, messages: number): void => fetched.inc({ group, topic }, messages)
export const noteAssigned = (group: string, topic: string): void => assignments.inc({ group, topic })

/** @returns what takes it out of the metrics */
export function showShare(share: Share): () => void {
  shares.add(share)
  return () => void shares.delete(share)
}
