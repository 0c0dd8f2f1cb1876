import { registry, DURATION_BUCKETS } from '@penstock/runtime/observability/metrics.ts'
import { Counter, Gauge, Histogram } from 'prom-client'
import type { GroupLag } from './consumer/group-lag.ts'

const registers = [registry]

/** `outcome` is `stored` if all in-sync replicas confirmed, or `failed` if they refused or did not confirm in time. */
const published = new Counter({
  name: 'penstock_kafka_published_total',
  help: 'Published messages, by topic and outcome: `stored` or `failed`.',
  labelNames: ['topic', 'outcome'] as const,
  registers,
})
const publishSeconds = new Histogram({
  name: 'penstock_kafka_publish_duration_seconds',
  help: 'Time from a publish to its confirmation by all in-sync replicas.',
  labelNames: ['topic'] as const,
  buckets: DURATION_BUCKETS,
  registers,
})
const fetched = new Counter({
  name: 'penstock_kafka_received_total',
  help: 'Fetched messages, by consumer group and topic.',
  labelNames: ['group', 'topic'] as const,
  registers,
})
const assignments = new Counter({
  name: 'penstock_kafka_assignments_total',
  help: 'Assignments of partitions to this process, as a member of a group.',
  labelNames: ['group', 'topic'] as const,
  registers,
})

/** The metrics of a group that this process is a member of. A value that is unknown is undefined and not exported. */
type GroupMetrics = {
  readonly group: string
  readonly topic: string
  readonly partitions: () => number
  readonly lag: Pick<GroupLag, 'messagesBehind' | 'stalledSeconds'>
}
const registeredGroups = new Set<GroupMetrics>()

const createGroupGauge = (name: string, help: string, valueOf: (metrics: GroupMetrics) => number | undefined) =>
  new Gauge({
    name,
    help,
    labelNames: ['group', 'topic'] as const,
    registers,
    collect() {
      this.reset()
      for (const metrics of registeredGroups) {
        const value = valueOf(metrics)
        if (value !== undefined) this.set({ group: metrics.group, topic: metrics.topic }, value)
      }
    },
  })
createGroupGauge(
  'penstock_kafka_partitions',
  'Partitions assigned to this process; 0 while it is not a member of the group.',
  (metrics) => metrics.partitions(),
)
createGroupGauge(
  'penstock_kafka_behind_messages',
  'Messages after the committed offsets of a group. Every process of the group exports the same value.',
  ({ lag }) => lag.messagesBehind(),
)
createGroupGauge(
  'penstock_kafka_standing_seconds',
  'Time without progress of a group in a partition in which messages wait; the maximum over all partitions.',
  ({ lag }) => lag.stalledSeconds(),
)

export async function recordPublish(
  topic: string,
  messages: number,
  publish: () => Promise<void>,
  elapsedSeconds: () => number,
): Promise<void> {
  // The counter exists from the first publish on, so that even the first failure increases an existing series.
  published.inc({ topic, outcome: 'failed' }, 0)
  try {
    await publish()
    published.inc({ topic, outcome: 'stored' }, messages)
    publishSeconds.observe({ topic }, elapsedSeconds())
  } catch (error) {
    published.inc({ topic, outcome: 'failed' }, messages)
    throw error
  }
}

export const recordReceived = (group: string, topic: string, messages: number): void => fetched.inc({ group, topic }, messages)
export const recordAssignment = (group: string, topic: string): void => assignments.inc({ group, topic })

/** @returns a function that removes the group from the metrics */
export function registerGroupMetrics(metrics: GroupMetrics): () => void {
  registeredGroups.add(metrics)
  return () => void registeredGroups.delete(metrics)
}
