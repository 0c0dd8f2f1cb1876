import { registry, SECONDS } from '@penstock/runtime/metrics.ts'
import { Counter, Gauge, Histogram } from 'prom-client'
import type { GroupLag } from './group-lag.ts'

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

/** What this process sees of a group that it takes part in. What is undefined is not known, and not shown. */
type Share = {
  readonly group: string
  readonly topic: string
  readonly partitions: () => number
  readonly lag: Pick<GroupLag, 'behind' | 'standingSeconds'>
}
const shares = new Set<Share>()

const shown = (name: string, help: string, valueOf: (share: Share) => number | undefined) =>
  new Gauge({
    name,
    help,
    labelNames: ['group', 'topic'] as const,
    registers,
    collect() {
      this.reset()
      for (const share of shares) {
        const value = valueOf(share)
        if (value !== undefined) this.set({ group: share.group, topic: share.topic }, value)
      }
    },
  })
shown(
  'penstock_kafka_partitions',
  'Partitions that this process has; 0 while the brokers do not count it as a member.',
  (share) => share.partitions(),
)
shown(
  'penstock_kafka_behind_messages',
  'Messages that a group has not dealt with, by the brokers; each of its processes shows the same.',
  ({ lag }) => lag.behind(),
)
shown(
  'penstock_kafka_standing_seconds',
  'How long the place of a group has not moved in a partition in which messages wait; the longest of all partitions.',
  ({ lag }) => lag.standingSeconds(),
)

export async function notePublished(
  topic: string,
  messages: number,
  stored: () => Promise<void>,
  seconds: () => number,
): Promise<void> {
  // From its beginning on, so that the first failure is an increase.
  published.inc({ topic, outcome: 'failed' }, 0)
  try {
    await stored()
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
